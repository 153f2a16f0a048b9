-- Background work: recurring definitions, their runs, and the workers that carry them out.

CREATE TABLE cron_jobs (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text NOT NULL UNIQUE CHECK (name <> ''),
    cron             text NOT NULL,
    timezone         text NOT NULL DEFAULT 'UTC',
    handler          text NOT NULL,
    arguments        jsonb NOT NULL DEFAULT '{}',
    scope            text NOT NULL DEFAULT 'plant' CHECK (scope IN ('plant', 'node')),  -- node: a run for each node
    queue            text NOT NULL DEFAULT 'default' CHECK (queue IN ('live', 'default', 'batch')),
    priority         text NOT NULL DEFAULT 'medium' CHECK (priority IN ('high', 'medium', 'low')),
    max_attempts     integer NOT NULL DEFAULT 3 CHECK (max_attempts BETWEEN 1 AND 100),
    time_limit       interval NOT NULL DEFAULT '10 minutes' CHECK (time_limit > interval '0'),
    stale_timeout    interval NOT NULL DEFAULT '1 minute' CHECK (stale_timeout > interval '0'),
    stale_reentry    boolean NOT NULL DEFAULT true,
    catch_up         text NOT NULL DEFAULT 'latest' CHECK (catch_up IN ('latest', 'every')),
    overlap          text NOT NULL DEFAULT 'skip' CHECK (overlap IN ('skip', 'queue')),
    enabled          boolean NOT NULL DEFAULT true,
    error_message    text,
    next_plan_at     timestamptz,
    last_plan_at     timestamptz,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CALL airlock_track('cron_jobs', '', 'next_plan_at,last_plan_at,error_message');
CREATE INDEX cron_jobs_due ON cron_jobs (next_plan_at NULLS FIRST) WHERE enabled;

-- Whoever changes when a job is due, in whatever way, has it planned anew; one that was disabled because its
-- expression or zone was wrong comes back when that is corrected. What passed while it was disabled is not made up.
CREATE FUNCTION airlock_job_replan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.cron, NEW.timezone) IS DISTINCT FROM (OLD.cron, OLD.timezone) THEN
        NEW.next_plan_at := NULL;
        IF OLD.error_message IS NOT NULL AND NOT OLD.enabled THEN
            NEW.enabled := true;
        END IF;
        NEW.error_message := NULL;
    END IF;
    IF NEW.enabled AND NOT OLD.enabled THEN
        NEW.next_plan_at := NULL;
        NEW.last_plan_at := greatest(OLD.last_plan_at, clock_timestamp());
        NEW.error_message := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER replan BEFORE UPDATE ON cron_jobs FOR EACH ROW EXECUTE FUNCTION airlock_job_replan();

-- A run is written twice in its life by a worker that may carry out twenty thousand in a second. So there is no
-- trigger for each row here but those whose condition is almost never met, and indexes are partial: a run is only
-- in those that somebody will look for it in.
CREATE TABLE job_runs (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id        bigint REFERENCES cron_jobs ON DELETE SET NULL,
    job_name      text NOT NULL,
    handler       text NOT NULL,
    arguments     jsonb NOT NULL DEFAULT '{}',
    scope_kind    text NOT NULL DEFAULT 'plant',
    scope_id      text NOT NULL DEFAULT '',
    node_id       bigint REFERENCES nodes ON DELETE CASCADE,  -- only a worker of that node may take it: its files are there
    plan_time     timestamptz,  -- null: put in by hand or by another run, as often as anybody likes
    missed        integer NOT NULL DEFAULT 0,  -- earlier plans that this one stands for (catch-up latest)
    exclusive     boolean NOT NULL DEFAULT false,  -- never two at a time of one job and scope
    queue         text NOT NULL DEFAULT 'default' CHECK (queue IN ('live', 'default', 'batch')),
    priority      text NOT NULL DEFAULT 'medium' CHECK (priority IN ('high', 'medium', 'low')),
    rank          smallint NOT NULL GENERATED ALWAYS AS (
                      CASE queue WHEN 'live' THEN 0 WHEN 'default' THEN 3 ELSE 6 END
                    + CASE priority WHEN 'high' THEN 0 WHEN 'medium' THEN 1 ELSE 2 END) STORED,
    status        text NOT NULL DEFAULT 'pending' CHECK (status IN
                  ('scheduled', 'pending', 'queued', 'running', 'retryable', 'completed', 'failed', 'cancelled')),
    attempt       integer NOT NULL DEFAULT 0,
    max_attempts  integer NOT NULL DEFAULT 3 CHECK (max_attempts BETWEEN 1 AND 100),
    time_limit    interval NOT NULL DEFAULT '10 minutes' CHECK (time_limit > interval '0'),
    stale_timeout interval NOT NULL DEFAULT '1 minute' CHECK (stale_timeout > interval '0'),
    stale_reentry boolean NOT NULL DEFAULT true,
    run_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_token   uuid,
    worker        text,
    heartbeat_at  timestamptz,
    stale_at      timestamptz,
    deadline_at   timestamptz,
    progress      real CHECK (progress BETWEEN 0 AND 1),
    errors        jsonb NOT NULL DEFAULT '[]',
    error_code    text,
    result        jsonb,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at    timestamptz,
    finished_at   timestamptz,
    CONSTRAINT run_leased_while_running CHECK ((status = 'running') = (lease_token IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX job_plan_once ON job_runs (job_name, scope_kind, scope_id, plan_time) WHERE plan_time IS NOT NULL;
CREATE INDEX runs_ready ON job_runs (rank, id) WHERE status = 'pending';
CREATE INDEX runs_queued ON job_runs (handler) WHERE status = 'queued';
CREATE INDEX runs_waiting ON job_runs (run_at) WHERE status IN ('scheduled', 'retryable');
CREATE INDEX runs_leased ON job_runs (least(stale_at, deadline_at)) WHERE status = 'running';
-- The database itself allows one at a time: two workers that choose at the same instant cannot both be right.
CREATE UNIQUE INDEX runs_one_at_a_time ON job_runs (job_name, scope_kind, scope_id) WHERE status = 'running' AND exclusive;
CREATE INDEX runs_open ON job_runs (job_name, scope_kind, scope_id)
    WHERE exclusive AND status IN ('scheduled', 'pending', 'queued', 'running', 'retryable');
CREATE INDEX runs_finished ON job_runs (status, finished_at) WHERE status IN ('completed', 'failed', 'cancelled');
CREATE INDEX runs_by_job ON job_runs (job_id, id DESC) WHERE job_id IS NOT NULL;
CREATE INDEX runs_by_scope ON job_runs (scope_kind, scope_id, id DESC) WHERE scope_kind <> 'plant';

-- A run that is over stays as it is, whoever asks: a late result, a second rescue, a hand in the table. Only an
-- operator's retry opens one again, and says so.
CREATE FUNCTION airlock_run_is_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('airlock.retry', true) IS DISTINCT FROM 'by hand' THEN
        RAISE EXCEPTION 'run % is % and is not written again', OLD.id, OLD.status USING ERRCODE = 'AL004';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER is_over BEFORE UPDATE ON job_runs FOR EACH ROW
    WHEN (OLD.status IN ('completed', 'failed', 'cancelled')
          AND (NEW.status, NEW.attempt, NEW.result, NEW.errors) IS DISTINCT FROM
              (OLD.status, OLD.attempt, OLD.result, OLD.errors))
    EXECUTE FUNCTION airlock_run_is_over();

-- One announcement for a statement, however many rows. Heartbeats do not name the status and announce nothing.
-- Deletions do so by the row: a node that is deleted would announce runs that it never had.
CREATE TRIGGER runs_changed AFTER INSERT OR UPDATE OF status, run_at, priority, queue ON job_runs
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_announce();
CREATE TRIGGER run_deleted AFTER DELETE ON job_runs FOR EACH ROW EXECUTE FUNCTION airlock_announce();

-- What workers listen for: something to take, or something that was taken from them.
CREATE FUNCTION airlock_wake_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('airlock_jobs', TG_ARGV[0]);
    RETURN NULL;
END $$;
CREATE TRIGGER workers_take_inserted AFTER INSERT ON job_runs
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_wake_workers('take');
CREATE TRIGGER workers_take AFTER UPDATE ON job_runs FOR EACH ROW
    WHEN (NEW.status = 'pending' AND OLD.status <> 'pending'
          OR OLD.exclusive AND OLD.status = 'running' AND NEW.status <> 'running')
    EXECUTE FUNCTION airlock_wake_workers('take');
CREATE TRIGGER workers_drop AFTER UPDATE ON job_runs FOR EACH ROW
    WHEN (OLD.status = 'running' AND NEW.status IN ('cancelled', 'failed', 'pending', 'retryable'))
    EXECUTE FUNCTION airlock_wake_workers('drop');
-- A lease taken away without the row leaving: also by a hand in the table.
CREATE TRIGGER workers_drop_lease AFTER UPDATE ON job_runs FOR EACH ROW
    WHEN (OLD.status = 'running' AND NEW.status = 'running' AND OLD.lease_token <> NEW.lease_token)
    EXECUTE FUNCTION airlock_wake_workers('drop');

CREATE TABLE job_workers (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE CHECK (name <> ''),
    node_id      bigint REFERENCES nodes ON DELETE CASCADE,
    handlers     text[] NOT NULL,
    concurrency  integer NOT NULL CHECK (concurrency > 0),
    running      integer NOT NULL DEFAULT 0,
    started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    left_at      timestamptz
);
CREATE TRIGGER workers_changed AFTER INSERT OR UPDATE OF handlers, left_at ON job_workers
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_announce();
CREATE TRIGGER worker_deleted AFTER DELETE ON job_workers FOR EACH ROW EXECUTE FUNCTION airlock_announce();

-- A recording that is finished gets its proxy, pictures and loudness by itself, once, whoever says that it is ready.
-- Only a worker of its node can read it. Runs as the owner: who may finish a recording need not know of jobs.
CREATE FUNCTION airlock_recording_ready() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO job_runs (job_name, handler, arguments, scope_kind, scope_id, node_id, plan_time, exclusive, queue,
                          priority, time_limit)
    SELECT h.name, h.name, jsonb_build_object('asset_id', NEW.id), 'asset', NEW.id::text, NEW.node_id, NEW.created_at,
        true, 'batch', h.priority, interval '6 hours'
    FROM (VALUES ('thumbnails', 'high'), ('loudness', 'medium'), ('proxy', 'low')) AS h(name, priority)
    ON CONFLICT (job_name, scope_kind, scope_id, plan_time) WHERE plan_time IS NOT NULL DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER recording_ready AFTER UPDATE OF status ON assets FOR EACH ROW
    WHEN (OLD.status = 'live' AND NEW.status = 'ready' AND NEW.path <> ''
          AND NEW.recorder_id IS NOT NULL AND NEW.node_id IS NOT NULL)
    EXECUTE FUNCTION airlock_recording_ready();
REVOKE EXECUTE ON FUNCTION airlock_recording_ready() FROM PUBLIC;

-- With a system to push to, whatever becomes ready is to be pushed.
CREATE FUNCTION airlock_asset_to_sync() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM cron_jobs WHERE handler = 'asset_sync' AND enabled) THEN
        NEW.sync_status := 'pending';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_to_sync BEFORE INSERT OR UPDATE OF status ON assets FOR EACH ROW
    WHEN (NEW.status = 'ready' AND NEW.sync_status = 'none') EXECUTE FUNCTION airlock_asset_to_sync();

CALL airlock_guard('cron_jobs');
CALL airlock_guard('job_runs');
CALL airlock_guard('job_workers');
