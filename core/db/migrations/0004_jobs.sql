-- Background work: recurring definitions and their runs.

CREATE TABLE cron_jobs (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text NOT NULL UNIQUE CHECK (name <> ''),
    cron             text NOT NULL,
    timezone         text NOT NULL DEFAULT 'UTC',
    handler          text NOT NULL,
    arguments        jsonb NOT NULL DEFAULT '{}',
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
CREATE INDEX cron_jobs_due ON cron_jobs (next_plan_at) WHERE enabled;

CREATE TABLE job_runs (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id        bigint REFERENCES cron_jobs ON DELETE SET NULL,
    job_name      text NOT NULL,
    handler       text NOT NULL,
    arguments     jsonb NOT NULL DEFAULT '{}',
    scope_kind    text NOT NULL DEFAULT 'plant',
    scope_id      text NOT NULL DEFAULT '',
    plan_time     timestamptz NOT NULL DEFAULT clock_timestamp(),
    queue         text NOT NULL DEFAULT 'default' CHECK (queue IN ('live', 'default', 'batch')),
    priority      text NOT NULL DEFAULT 'medium' CHECK (priority IN ('high', 'medium', 'low')),
    status        text NOT NULL DEFAULT 'pending' CHECK (status IN
                  ('scheduled', 'pending', 'queued', 'running', 'retryable', 'completed', 'failed', 'cancelled')),
    attempt       integer NOT NULL DEFAULT 0,
    max_attempts  integer NOT NULL DEFAULT 3,
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
    CONSTRAINT job_plan_once UNIQUE NULLS NOT DISTINCT (job_id, job_name, scope_kind, scope_id, plan_time)
);

CALL airlock_guard('cron_jobs');
CALL airlock_guard('job_runs');
