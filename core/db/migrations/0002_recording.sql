-- Nodes, recorders, their windows and series, and the recordings they make.

CREATE TABLE nodes (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name              text NOT NULL UNIQUE CHECK (name <> ''),
    base_url          text NOT NULL,
    capabilities      text[] NOT NULL DEFAULT '{}',
    status            text NOT NULL DEFAULT 'offline' CHECK (status IN ('online', 'offline', 'draining')),
    last_heartbeat_at timestamptz,
    signed_off_at     timestamptz,  -- its agent was ended in good order: silence is no alarm then
    version           text NOT NULL DEFAULT '',
    volumes           jsonb NOT NULL DEFAULT '[]',
    error_message     text,
    demo              boolean NOT NULL DEFAULT false,
    created_at        timestamptz NOT NULL DEFAULT now()
);
CALL airlock_track('nodes', 'last_heartbeat_at,volumes', 'status,signed_off_at,version,error_message', $$NEW.status = 'online'$$);

CREATE TABLE recorders (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name               text NOT NULL UNIQUE CHECK (name <> ''),
    node_id            bigint REFERENCES nodes ON DELETE RESTRICT,
    base_url           text,
    external_id        text NOT NULL CHECK (external_id <> ''),
    source             text NOT NULL DEFAULT '',
    settings           jsonb NOT NULL DEFAULT '{}',
    status             text NOT NULL DEFAULT 'offline'
                       CHECK (status IN ('idle', 'recording', 'error', 'offline')),
    mode               text NOT NULL DEFAULT 'auto' CHECK (mode IN ('auto', 'manual')),
    current_session_id text,
    signal             jsonb NOT NULL DEFAULT '{}',
    error_message      text,
    position           integer NOT NULL DEFAULT 0,
    demo               boolean NOT NULL DEFAULT false,
    created_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT recorder_has_one_address CHECK ((node_id IS NULL) <> (base_url IS NULL))
);
CALL airlock_track('recorders', '', 'status,current_session_id,signal,error_message');

CREATE TABLE recorder_series (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text NOT NULL CHECK (name <> ''),
    recorder_id   bigint NOT NULL REFERENCES recorders ON DELETE RESTRICT,
    cron          text NOT NULL,
    timezone      text NOT NULL,
    shift         interval NOT NULL DEFAULT '0'  -- seconds within the minute, which cron cannot say
                  CHECK (shift >= interval '0' AND shift < interval '1 minute'),
    duration      interval NOT NULL CHECK (duration > interval '0' AND duration <= interval '7 days'),
    first_day     date,
    last_day      date,
    skips         date[] NOT NULL DEFAULT '{}',
    source        text,
    enabled       boolean NOT NULL DEFAULT true,
    planned_until timestamptz,
    error_message text,
    demo          boolean NOT NULL DEFAULT false,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT series_days_in_order CHECK (last_day >= first_day)
);
CALL airlock_track('recorder_series', '', 'planned_until,error_message');

-- Whoever changes what a series means, in whatever way, has its windows planned anew.
CREATE FUNCTION airlock_series_replan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.name, NEW.recorder_id, NEW.cron, NEW.timezone, NEW.shift, NEW.duration, NEW.first_day, NEW.last_day,
        NEW.skips, NEW.source, NEW.enabled) IS DISTINCT FROM
       (OLD.name, OLD.recorder_id, OLD.cron, OLD.timezone, OLD.shift, OLD.duration, OLD.first_day, OLD.last_day,
        OLD.skips, OLD.source, OLD.enabled) THEN
        NEW.planned_until := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER replan BEFORE UPDATE ON recorder_series FOR EACH ROW EXECUTE FUNCTION airlock_series_replan();

CREATE TABLE recorder_schedules (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text NOT NULL CHECK (name <> ''),
    recorder_id     bigint NOT NULL REFERENCES recorders ON DELETE RESTRICT,
    start_at        timestamptz NOT NULL,
    end_at          timestamptz NOT NULL,
    open_ended      boolean NOT NULL DEFAULT false,
    recurrence      text NOT NULL DEFAULT 'none' CHECK (recurrence IN ('none', 'daily', 'weekly', 'cron')),
    series_id       bigint REFERENCES recorder_series ON DELETE SET NULL,
    plan_time       timestamptz,
    edited          boolean NOT NULL DEFAULT false,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN
                    ('pending', 'starting', 'running', 'stopping', 'completed', 'failed', 'missed', 'cancelled')),
    attempt         integer NOT NULL DEFAULT 1 CHECK (attempt > 0),
    claim_token     uuid,
    epoch           bigint,
    session_id      text,
    session_started_at timestamptz,
    next_attempt_at timestamptz,
    by_hand         boolean NOT NULL DEFAULT false,  -- started by an operator: not held by manual mode
    stop_asked_at   timestamptz,                     -- by an operator: obeyed in manual mode too
    stop_since      timestamptz,                     -- when the first stop was sent: retries end two minutes later
    started_at      timestamptz,
    stopped_at      timestamptz,
    last_asset_id   bigint,
    error_message   text CHECK (length(error_message) <= 500),
    source          text,
    made_by         text NOT NULL DEFAULT session_user,
    demo            boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT window_ends_after_start CHECK (end_at > start_at),
    CONSTRAINT series_plan_once UNIQUE (series_id, plan_time),
    -- Works without an extension: a range of one id on the first axis, the time on the second.
    CONSTRAINT window_overlap EXCLUDE USING gist (
        int8range(recorder_id, recorder_id, '[]') WITH &&,
        tstzrange(start_at, end_at) WITH &&
    ) WHERE (status IN ('pending', 'starting', 'running', 'stopping'))
);
-- The leader's questions, each answered by its own small index however long the history is.
CREATE INDEX windows_to_start ON recorder_schedules (start_at) WHERE status = 'pending';
CREATE INDEX windows_to_stop ON recorder_schedules (end_at) WHERE status = 'running';
CREATE INDEX windows_unsettled ON recorder_schedules (status, next_attempt_at)
    WHERE status IN ('starting', 'stopping');
-- A cancelled window keeps its claim until the recorder has confirmed that nothing of it runs.
CREATE INDEX windows_cancelled_unsettled ON recorder_schedules (id)
    WHERE status = 'cancelled' AND claim_token IS NOT NULL;
CREATE INDEX windows_stop_asked ON recorder_schedules (id)
    WHERE status = 'running' AND stop_asked_at IS NOT NULL;
CREATE INDEX windows_to_adopt ON recorder_schedules (id)
    WHERE recurrence IN ('daily', 'weekly') AND series_id IS NULL;
CREATE INDEX windows_by_recorder ON recorder_schedules (recorder_id, start_at);
CREATE INDEX windows_by_end ON recorder_schedules (end_at);
CALL airlock_track('recorder_schedules', 'claim_token,epoch',
    'attempt,session_id,session_started_at,next_attempt_at,stop_since,started_at,stopped_at,last_asset_id,error_message');

-- A window's epoch is the leader's that wrote it last, whatever the statement said. And whoever else
-- changes a window that the leader has armed takes it out of the leader's hand: the claim goes, and
-- the attempt number with it, so that a request already on its way cannot pass for the new window's.
CREATE FUNCTION airlock_window_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine text := current_setting('airlock.epoch', true);
BEGIN
    IF mine IS NOT NULL AND mine <> '' THEN
        NEW.epoch := mine::bigint;
    ELSIF TG_OP = 'UPDATE' AND OLD.status = 'pending' AND NEW.status = 'pending' AND OLD.claim_token IS NOT NULL
      AND (NEW.start_at, NEW.recorder_id, NEW.source) IS DISTINCT FROM (OLD.start_at, OLD.recorder_id, OLD.source) THEN
        NEW.claim_token := NULL;
        NEW.attempt := OLD.attempt + 1;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER b_claim BEFORE INSERT OR UPDATE ON recorder_schedules
    FOR EACH ROW EXECUTE FUNCTION airlock_window_claim();

-- Every failed or retried attempt stays visible.
CREATE TABLE recorder_attempts (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    schedule_id bigint NOT NULL REFERENCES recorder_schedules ON DELETE CASCADE,
    attempt     integer NOT NULL,
    operation   text NOT NULL CHECK (operation IN ('start', 'stop', 'recover')),
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    lateness_ms double precision,
    outcome     text NOT NULL,
    message     text NOT NULL DEFAULT ''
);
CREATE INDEX recorder_attempts_window ON recorder_attempts (schedule_id, id);

CREATE TABLE assets (
    id                   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    display_name         text NOT NULL,
    path                 text NOT NULL,
    status               text NOT NULL DEFAULT 'live' CHECK (status IN ('live', 'ready', 'error')),
    recorder_id          bigint REFERENCES recorders ON DELETE SET NULL,
    schedule_id          bigint REFERENCES recorder_schedules ON DELETE SET NULL,
    node_id              bigint REFERENCES nodes ON DELETE SET NULL,
    session_id           text,
    attempt              integer,
    container            text,
    size_bytes           bigint NOT NULL DEFAULT 0,
    duration_s           double precision,
    last_growth_at       timestamptz,
    error_message        text,
    meta                 jsonb NOT NULL DEFAULT '{}',
    sync_status          text NOT NULL DEFAULT 'none' CHECK (sync_status IN ('none', 'pending', 'synced', 'failed')),
    sync_attempts        integer NOT NULL DEFAULT 0,
    sync_next_attempt_at timestamptz,
    demo                 boolean NOT NULL DEFAULT false,
    created_at           timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX assets_one_per_session ON assets (recorder_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX assets_live ON assets (last_growth_at) WHERE status = 'live';
CREATE INDEX assets_schedule ON assets (schedule_id);
CREATE INDEX assets_sync ON assets (sync_next_attempt_at) WHERE sync_status IN ('pending', 'failed');
CALL airlock_track('assets', 'size_bytes,last_growth_at,duration_s', 'status,error_message,meta,sync_status',
    $$NEW.status = 'live'$$);

CALL airlock_guard('nodes');
CALL airlock_guard('recorders');
CALL airlock_guard('recorder_series');
CALL airlock_guard('recorder_schedules');
CALL airlock_guard('recorder_attempts');
CALL airlock_guard('assets');
