-- name: job
SELECT * FROM cron_jobs WHERE id = $1 FOR UPDATE

-- name: run
SELECT * FROM job_runs WHERE id = $1 FOR UPDATE

-- name: open_run
SELECT * FROM job_runs WHERE exclusive AND job_name = $1 AND scope_kind = $2 AND scope_id = $3
  AND status IN ('scheduled', 'pending', 'queued', 'running', 'retryable') ORDER BY status = 'running' DESC, id LIMIT 1

-- name: any_open_run
SELECT * FROM job_runs WHERE exclusive AND job_name = $1
  AND status IN ('scheduled', 'pending', 'queued', 'running', 'retryable') ORDER BY status = 'running' DESC, id LIMIT 1

-- name: run_now
-- By hand: no plan is used up, and the next one comes as planned.
INSERT INTO job_runs (job_id, job_name, handler, arguments, scope_kind, scope_id, node_id, exclusive, queue, priority,
    max_attempts, time_limit, stale_timeout, stale_reentry)
SELECT j.id, j.name, j.handler, j.arguments, s.kind, s.id, s.node_id, true, j.queue, j.priority, j.max_attempts,
    j.time_limit, j.stale_timeout, j.stale_reentry
FROM cron_jobs j, LATERAL (
    SELECT 'plant' AS kind, '' AS id, NULL::bigint AS node_id WHERE j.scope = 'plant'
    UNION ALL
    SELECT 'node', n.id::text, n.id FROM nodes n WHERE j.scope = 'node' AND n.last_heartbeat_at IS NOT NULL) AS s
WHERE j.id = $1
RETURNING *

-- name: allow_retry
SELECT set_config('airlock.retry', 'by hand', true)

-- name: retry
-- It gets all its attempts again: somebody has looked at it.
UPDATE job_runs SET status = 'pending', attempt = 0, run_at = clock_timestamp(), finished_at = NULL, started_at = NULL,
    error_code = NULL, result = NULL, progress = NULL
WHERE id = $1 RETURNING *

-- name: cancel
-- Whoever holds it hears that its lease is gone and ends the handler.
UPDATE job_runs SET status = 'cancelled', finished_at = clock_timestamp(), lease_token = NULL, error_code = 'cancelled',
    errors = errors || jsonb_build_object('attempt', attempt, 'at', clock_timestamp(), 'code', 'cancelled',
                                          'message', 'Cancelled by ' || $2::text || '.')
WHERE id = $1 RETURNING *

-- name: set_enabled
UPDATE cron_jobs SET enabled = $2 WHERE id = $1 RETURNING *
