-- The ground every other table stands on: how a change is versioned, announced and fenced;
-- who leads; which stations exist; what is wrong (alarms); who did what (audit).

-- ---------------------------------------------------------------------------------------------
-- Change tracking.
-- Each tracked row carries `changed_xid`, the transaction that last changed something a screen
-- shows. A station asks for rows with changed_xid >= the oldest transaction that was still open
-- at its previous look: that misses nothing however transactions overlap, and needs no payload
-- in NOTIFY, which is only a wake-up.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE deleted_rows (
    table_name  text NOT NULL,
    row_id      bigint NOT NULL,
    changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    deleted_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deleted_rows_changed ON deleted_rows (changed_xid);
CREATE INDEX deleted_rows_age ON deleted_rows (deleted_at);

-- Arguments: (0) quiet columns: heartbeats and the like; they wake nobody.
--            (1) runtime columns: screens must see them, but they are not an edit, so an operator
--                who has the row open is not told that somebody else changed it.
-- Has no effect but on the row itself: it also runs for an INSERT that ends in ON CONFLICT.
CREATE FUNCTION airlock_row_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was jsonb;
    is_ jsonb;
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.row_version := 1;
        NEW.changed_xid := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
        RETURN NEW;
    END IF;
    NEW.row_version := OLD.row_version;
    NEW.changed_xid := OLD.changed_xid;
    NEW.updated_at := OLD.updated_at;
    was := to_jsonb(OLD) - string_to_array(TG_ARGV[0], ',');
    is_ := to_jsonb(NEW) - string_to_array(TG_ARGV[0], ',');
    IF was = is_ THEN
        RETURN NEW;
    END IF;
    NEW.changed_xid := pg_current_xact_id();
    NEW.updated_at := clock_timestamp();
    IF was - string_to_array(TG_ARGV[1], ',') <> is_ - string_to_array(TG_ARGV[1], ',') THEN
        NEW.row_version := OLD.row_version + 1;
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION airlock_announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('airlock', TG_TABLE_NAME);
    RETURN NULL;
END $$;

-- Runs as the owner, so that whoever may delete a row leaves its tombstone without a right of
-- their own on the tombstones.
CREATE FUNCTION airlock_row_deleted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO deleted_rows (table_name, row_id) VALUES (TG_TABLE_NAME, OLD.id);
    PERFORM pg_notify('airlock', TG_TABLE_NAME);
    RETURN NULL;
END $$;

-- The same for all rows at once.
CREATE FUNCTION airlock_rows_truncated() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format('INSERT INTO deleted_rows (table_name, row_id) SELECT %L, id FROM %I.%I',
                   TG_TABLE_NAME, TG_TABLE_SCHEMA, TG_TABLE_NAME);
    PERFORM pg_notify('airlock', TG_TABLE_NAME);
    RETURN NULL;
END $$;

-- `quiet_while` is a condition on the new row (NEW.status = 'live'). The feed reads the quiet columns
-- of such rows twice a second; a change of the others would never be seen, so there it is announced.
CREATE PROCEDURE airlock_track(
    t regclass, quiet text DEFAULT '', runtime text DEFAULT '', quiet_while text DEFAULT 'true'
) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ADD COLUMN row_version integer NOT NULL DEFAULT 1, '
                   'ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id(), '
                   'ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now()', t);
    EXECUTE format('CREATE INDEX ON %s (changed_xid)', t);
    EXECUTE format('CREATE TRIGGER row_change BEFORE INSERT OR UPDATE ON %s FOR EACH ROW WHEN (%s) '
                   'EXECUTE FUNCTION airlock_row_change(%L, %L)', t, quiet_while, quiet, runtime);
    IF quiet_while <> 'true' THEN
        EXECUTE format('CREATE TRIGGER row_change_heard BEFORE INSERT OR UPDATE ON %s FOR EACH ROW '
                       'WHEN ((%s) IS NOT TRUE) EXECUTE FUNCTION airlock_row_change(%L, %L)',
                       t, quiet_while, '', concat_ws(',', quiet, runtime));
    END IF;
    EXECUTE format('CREATE TRIGGER row_inserted AFTER INSERT ON %s FOR EACH ROW '
                   'EXECUTE FUNCTION airlock_announce()', t);
    -- A second change by the same transaction needs no second announcement.
    EXECUTE format('CREATE TRIGGER row_updated AFTER UPDATE ON %s FOR EACH ROW '
                   'WHEN (OLD.changed_xid <> NEW.changed_xid) EXECUTE FUNCTION airlock_announce()', t);
    EXECUTE format('CREATE TRIGGER row_deleted AFTER DELETE ON %s FOR EACH ROW '
                   'EXECUTE FUNCTION airlock_row_deleted()', t);
    EXECUTE format('CREATE TRIGGER rows_truncated BEFORE TRUNCATE ON %s FOR EACH STATEMENT '
                   'EXECUTE FUNCTION airlock_rows_truncated()', t);
END $$;

-- ---------------------------------------------------------------------------------------------
-- Leadership. The advisory lock 8210301 elects; the epoch fences.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE leadership (
    epoch         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    station       text NOT NULL,
    acquired_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    released_at   timestamptz,
    trusted_until timestamptz NOT NULL,
    backend_pid   integer NOT NULL,
    ended_by      text CHECK (ended_by IN ('left', 'lost', 'deposed'))
);

-- Refuses the caller once a newer epoch exists. The shared lock makes that exact: a new epoch
-- takes the same lock exclusively, so it waits for writes already past this check and every
-- later one sees it. Locks of this kind end with the transaction.
CREATE FUNCTION airlock_fence(mine bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    newest bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        -- Its picture is older than the lock below: a newer epoch could hide from it.
        RAISE EXCEPTION 'a leader writes in read committed transactions only' USING ERRCODE = 'AL001';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(8210302);
    SELECT max(epoch) INTO newest FROM leadership;
    IF newest IS DISTINCT FROM mine THEN
        RAISE EXCEPTION 'epoch % no longer leads: epoch % does', mine, newest USING ERRCODE = 'AL001';
    END IF;
END $$;

-- The leader's connections are born with the setting airlock.epoch; every statement they make on
-- a table of the plant is checked here. Connections without it (operators, other systems, agents)
-- pass: they do not act as leader.
CREATE FUNCTION airlock_fence_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine text := current_setting('airlock.epoch', true);
BEGIN
    IF mine IS NOT NULL AND mine <> '' THEN
        PERFORM airlock_fence(mine::bigint);
    END IF;
    RETURN NULL;
END $$;

CREATE PROCEDURE airlock_guard(t regclass) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER a_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
                   'FOR EACH STATEMENT EXECUTE FUNCTION airlock_fence_guard()', t);
END $$;

-- Called by the session that has just obtained the advisory lock, and by nobody else.
CREATE FUNCTION airlock_take_lead(p_station text, p_trust interval) RETURNS leadership
LANGUAGE plpgsql AS $$
DECLARE
    won leadership;
BEGIN
    PERFORM 1 FROM pg_locks
      WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
        AND classid = 0 AND objid = 8210301 AND objsubid = 1 AND mode = 'ExclusiveLock';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this session does not hold the lock that elects the leader' USING ERRCODE = 'AL002';
    END IF;
    PERFORM pg_advisory_xact_lock(8210302);
    UPDATE leadership SET released_at = clock_timestamp(), ended_by = COALESCE(ended_by, 'lost')
      WHERE released_at IS NULL;
    INSERT INTO leadership (station, trusted_until, backend_pid)
      VALUES (p_station, clock_timestamp() + p_trust, pg_backend_pid())
      RETURNING * INTO won;
    PERFORM pg_notify('airlock', 'leadership');
    RETURN won;
END $$;

-- Ends the session that holds the lock when its leader has not renewed its trust for longer than
-- `grace`: a paused process or a frozen machine. Runs as the owner, because an operator may not
-- end somebody else's session. Returns the station that was deposed, or null when nobody was.
CREATE FUNCTION airlock_depose(grace interval) RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    holder integer;
    newest leadership;
BEGIN
    SELECT l.pid INTO holder FROM pg_locks l
      WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = 8210301
        AND l.objsubid = 1 AND l.mode = 'ExclusiveLock'
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
    IF holder IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT * INTO newest FROM leadership ORDER BY epoch DESC LIMIT 1;
    IF newest.backend_pid = holder AND newest.released_at IS NULL
       AND newest.trusted_until > clock_timestamp() - grace THEN
        RETURN NULL;
    END IF;
    -- A holder without an epoch of its own got the lock a moment ago and is about to take one,
    -- or died on the way: it too is given the grace, counted from its session's last activity.
    IF newest.backend_pid IS DISTINCT FROM holder OR newest.released_at IS NOT NULL THEN
        PERFORM 1 FROM pg_stat_activity WHERE pid = holder AND state <> 'active' AND state_change < clock_timestamp() - grace;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    UPDATE leadership SET ended_by = 'deposed' WHERE epoch = newest.epoch AND released_at IS NULL;
    -- Its other sessions too: one of them may sit in an open transaction and hold up its successor.
    PERFORM pg_terminate_backend(a.pid) FROM pg_stat_activity a
      WHERE a.datname = current_database() AND a.pid <> holder
        AND a.application_name = 'airlock leader ' || newest.station;
    PERFORM pg_terminate_backend(holder);
    RETURN COALESCE(newest.station, 'an unknown station');
END $$;

-- ---------------------------------------------------------------------------------------------
-- The plant and its stations.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE plant (
    id         bigint PRIMARY KEY CHECK (id = 1),
    name       text NOT NULL DEFAULT 'Local plant',
    timezone   text NOT NULL DEFAULT 'UTC',
    frame_rate numeric NOT NULL DEFAULT 25 CHECK (frame_rate > 0),
    demo       boolean NOT NULL DEFAULT false,
    uuid       uuid NOT NULL DEFAULT gen_random_uuid(),  -- in every idempotency key: two plants may share a recorder
    created_at timestamptz NOT NULL DEFAULT now()
);
CALL airlock_track('plant');
INSERT INTO plant (id) VALUES (1);

CREATE TABLE stations (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text NOT NULL UNIQUE,
    kind            text NOT NULL CHECK (kind IN ('desktop', 'headless')),
    host            text NOT NULL,
    pid             integer NOT NULL,
    instance        uuid NOT NULL,
    version         text NOT NULL,
    operator        text NOT NULL DEFAULT '',
    role            text NOT NULL,
    status          text NOT NULL CHECK (status IN ('online', 'silent', 'left')),
    started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    rtt_ms          double precision,
    clock_offset_ms double precision,
    loop_lag_ms     double precision
);
CALL airlock_track('stations', 'last_seen_at,rtt_ms,clock_offset_ms,loop_lag_ms', '', $$NEW.status = 'online'$$);

-- ---------------------------------------------------------------------------------------------
-- Alarms: one open row per key; repeats count up.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE alarms (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key            text NOT NULL,
    cause_key      text,
    priority       text NOT NULL CHECK (priority IN ('critical', 'high', 'medium', 'low')),
    source_kind    text NOT NULL,
    source_id      bigint,
    source_name    text NOT NULL DEFAULT '',
    message        text NOT NULL,
    effect         text NOT NULL DEFAULT '',
    action         text NOT NULL DEFAULT '',
    count          integer NOT NULL DEFAULT 1,
    raised_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_raised_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    cleared_at     timestamptz,
    acked_at       timestamptz,
    acked_by       text,
    shelved_until  timestamptz,
    shelved_by     text,
    shelve_reason  text,
    state          text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN cleared_at IS NULL THEN
                 CASE WHEN acked_at IS NULL THEN 'active_unacked' ELSE 'active_acked' END
             ELSE
                 CASE WHEN acked_at IS NULL THEN 'cleared_unacked' ELSE 'closed' END
        END) STORED,
    CHECK ((acked_at IS NULL) = (acked_by IS NULL)),
    CHECK ((shelved_until IS NULL) = (shelved_by IS NULL))
);
-- 1 is the most urgent.
CREATE FUNCTION airlock_rank(priority text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(ARRAY['critical', 'high', 'medium', 'low'], priority)
$$;
CREATE UNIQUE INDEX alarms_one_open_per_key ON alarms (key)
    WHERE cleared_at IS NULL OR acked_at IS NULL;
CREATE INDEX alarms_history ON alarms (raised_at DESC);
CREATE INDEX alarms_unshelve ON alarms (shelved_until) WHERE shelved_until IS NOT NULL;
-- `state` follows from other columns; before the row is stored it has no value yet.
CALL airlock_track('alarms', 'state', 'count,cleared_at,last_raised_at');

-- ---------------------------------------------------------------------------------------------
-- Audit: append only, for everybody. Who wrote and when is taken from the session, not believed.
-- ---------------------------------------------------------------------------------------------

CREATE TABLE audit_log (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    who          text NOT NULL,
    station      text NOT NULL,
    db_user      text NOT NULL DEFAULT session_user,
    action       text NOT NULL,
    subject_kind text NOT NULL,
    subject_id   bigint,
    subject_name text NOT NULL DEFAULT '',
    before       jsonb,
    after        jsonb,
    reason       text
);
CREATE INDEX audit_log_subject ON audit_log (subject_kind, subject_id, id);
CREATE INDEX audit_log_at ON audit_log (at);

CREATE FUNCTION airlock_audit_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.at := clock_timestamp();
    NEW.db_user := session_user;
    PERFORM pg_notify('airlock', 'audit_log');
    RETURN NEW;
END $$;
CREATE TRIGGER audit_insert BEFORE INSERT ON audit_log FOR EACH ROW EXECUTE FUNCTION airlock_audit_insert();

CREATE FUNCTION airlock_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: its rows are evidence and cannot be changed or deleted', TG_TABLE_NAME
        USING ERRCODE = 'AL003';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH ROW EXECUTE FUNCTION airlock_append_only();
CREATE TRIGGER append_only_all BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_append_only();

-- Functions are open to everybody by default. These act with the owner's rights, or act at all: a
-- login may neither call them nor hang them on a table of its own. The roles are given theirs apart.
REVOKE EXECUTE ON FUNCTION airlock_depose(interval), airlock_take_lead(text, interval),
    airlock_row_deleted(), airlock_rows_truncated() FROM PUBLIC;

CALL airlock_guard('stations');
CALL airlock_guard('alarms');
CALL airlock_guard('audit_log');
CALL airlock_guard('plant');
CALL airlock_guard('deleted_rows');
