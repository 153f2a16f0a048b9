-- The three roles and what the database lets them do. Run again at any time: it only adds.
-- Whoever logs in as an operator is made a member: GRANT airlock_operator TO alice.

DO $$
DECLARE
    r text;
BEGIN
    FOREACH r IN ARRAY ARRAY['airlock_viewer', 'airlock_operator', 'airlock_engineer'] LOOP
        IF to_regrole(r) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', r);
            EXCEPTION
                WHEN duplicate_object OR unique_violation THEN NULL;  -- another plant of this server was first
                WHEN insufficient_privilege THEN
                    RAISE NOTICE 'role % is missing and this login may not create it', r;
                    RETURN;
            END;
        END IF;
    END LOOP;

    -- An operator may do what a viewer may, an engineer what an operator may. Where this login may
    -- not grant one role to another, each gets the whole list below instead.
    BEGIN
        IF NOT pg_has_role('airlock_operator', 'airlock_viewer', 'MEMBER') THEN
            GRANT airlock_viewer TO airlock_operator;
        END IF;
        IF NOT pg_has_role('airlock_engineer', 'airlock_operator', 'MEMBER') THEN
            GRANT airlock_operator TO airlock_engineer;
        END IF;
    EXCEPTION
        WHEN insufficient_privilege THEN NULL;
        -- Roles belong to the whole server: another plant of it is doing the same at this moment.
        WHEN unique_violation OR internal_error THEN NULL;
    END;

    EXECUTE format('GRANT USAGE ON SCHEMA %I TO airlock_viewer, airlock_operator, airlock_engineer', current_schema());
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO airlock_viewer, airlock_operator, airlock_engineer',
                   current_schema());

    -- A station runs the scheduler with its operator's login, so operators also write what the
    -- scheduler writes. Columns and rows that are evidence are guarded by triggers.
    GRANT INSERT, UPDATE, DELETE ON recorder_schedules, recorder_series, playout_items, job_runs, job_workers, recorder_attempts
        TO airlock_operator, airlock_engineer;
    GRANT INSERT, UPDATE ON leadership, stations, alarms, assets, nodes, playout_as_run, playout_placements
        TO airlock_operator, airlock_engineer;
    GRANT UPDATE ON cron_jobs TO airlock_operator, airlock_engineer;
    -- What operating changes; names, addresses and sources are the engineer's.
    GRANT UPDATE (mode, status, current_session_id, signal, error_message) ON recorders TO airlock_operator;
    GRANT UPDATE (node_id, sidecar_url, status, generation, placed_at, last_heartbeat_at, heartbeat_ms, misses,
                  restart_count, event_seq, looping, error_message, wanted, skip_requested, skip_done, failover_asked,
                  failover_to, dead_generation, dead_at, dead_reason) ON playout_channels TO airlock_operator;
    -- Not id, at, db_user: those are the database's to say.
    GRANT INSERT (who, station, action, subject_kind, subject_id, subject_name, before, after, reason)
        ON audit_log TO airlock_operator, airlock_engineer;
    GRANT DELETE ON deleted_rows TO airlock_operator, airlock_engineer;

    GRANT UPDATE ON recorders, playout_channels TO airlock_engineer;
    GRANT INSERT, DELETE ON recorders, playout_channels, cron_jobs, nodes, assets, stations TO airlock_engineer;
    GRANT UPDATE ON plant TO airlock_engineer;

    GRANT EXECUTE ON FUNCTION airlock_depose(interval), airlock_take_lead(text, interval)
        TO airlock_operator, airlock_engineer;
END $$;
