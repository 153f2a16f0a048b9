-- name: holder
SELECT pid FROM stations WHERE name = $1 AND host = $2

-- name: register
-- Takes the name unless a living station has it; $9 says that its process is known to be dead.
INSERT INTO stations (name, kind, host, pid, instance, version, operator, role, status)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'online')
ON CONFLICT (name) DO UPDATE SET
    kind = excluded.kind, host = excluded.host, pid = excluded.pid, instance = excluded.instance,
    version = excluded.version, operator = excluded.operator, role = excluded.role,
    status = 'online', started_at = clock_timestamp(), last_seen_at = clock_timestamp()
WHERE stations.status = 'left' OR stations.last_seen_at < now() - interval '5 seconds'
   OR stations.instance = excluded.instance OR $9
RETURNING id

-- name: beat
UPDATE stations SET last_seen_at = clock_timestamp(), status = 'online',
    rtt_ms = $3, clock_offset_ms = $4, loop_lag_ms = $5
WHERE name = $1 AND instance = $2
RETURNING id

-- name: leave
UPDATE stations SET status = 'left' WHERE name = $1 AND instance = $2
