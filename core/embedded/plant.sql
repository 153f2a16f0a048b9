-- name: work_under_way
SELECT 'recording ' || name AS what FROM recorder_schedules WHERE status IN ('starting', 'running', 'stopping')
UNION ALL
-- The demonstration's channels do not keep the plant open: they come and go with whoever shows them.
SELECT name || ' is on air' FROM playout_channels WHERE status IN ('starting', 'running', 'stopping') AND NOT demo
UNION ALL
-- Other stations; agents alone do not keep the plant open.
SELECT 'used by ' || substr(application_name, 14) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'airlock feed %' AND pid <> pg_backend_pid()
UNION ALL
-- A caretaker that has only just begun has no feed yet.
SELECT 'used by ' || name FROM stations
WHERE name LIKE $1 || '%' AND status = 'online' AND last_seen_at > now() - interval '5 seconds'
