-- What /metrics asks that the read model does not hold.

-- name: newest_attempt
SELECT coalesce(max(id), 0) FROM recorder_attempts

-- name: attempts
SELECT id, operation, outcome, lateness_ms FROM recorder_attempts WHERE id > $1 ORDER BY id LIMIT $2

-- name: workers
SELECT name, concurrency, running, last_seen_at FROM job_workers
WHERE left_at IS NULL AND last_seen_at > now() - interval '1 minute' ORDER BY name
