-- The feed reads whole rows: a column added later reaches the model by its name.
-- "Changed" asks for everything that a transaction still open at the last look, or a later one,
-- may have touched; asking twice for the same row does no harm.

-- name: beat
SELECT clock_timestamp() AS at, pg_snapshot_xmin(pg_current_snapshot()) AS oldest

-- name: plant
SELECT * FROM plant WHERE id = 1

-- name: leader
SELECT * FROM leadership ORDER BY epoch DESC LIMIT 1

-- name: deleted
SELECT row_id FROM deleted_rows WHERE changed_xid >= $1 AND table_name = $3 LIMIT $2

-- name: load_stations
SELECT * FROM stations WHERE status <> 'left'

-- name: changed_stations
SELECT * FROM stations WHERE changed_xid >= $1 LIMIT $2

-- name: load_alarms
SELECT * FROM alarms WHERE cleared_at IS NULL OR acked_at IS NULL OR raised_at > now() - interval '36 hours'

-- name: changed_alarms
SELECT * FROM alarms WHERE changed_xid >= $1 LIMIT $2

-- name: load_nodes
SELECT * FROM nodes

-- name: changed_nodes
SELECT * FROM nodes WHERE changed_xid >= $1 LIMIT $2

-- name: load_recorders
SELECT * FROM recorders

-- name: changed_recorders
SELECT * FROM recorders WHERE changed_xid >= $1 LIMIT $2

-- name: load_recorder_series
SELECT * FROM recorder_series

-- name: changed_recorder_series
SELECT * FROM recorder_series WHERE changed_xid >= $1 LIMIT $2

-- name: load_recorder_schedules
SELECT * FROM recorder_schedules WHERE end_at > $1 AND start_at < $2
    OR status IN ('starting', 'running', 'stopping')

-- name: coming_recorder_schedules
-- What has come within sight since the last look only because time passed.
SELECT * FROM recorder_schedules WHERE end_at > $1 AND start_at >= $1 AND start_at < $2

-- name: changed_recorder_schedules
SELECT * FROM recorder_schedules WHERE changed_xid >= $1 LIMIT $2

-- name: load_assets
SELECT * FROM assets WHERE status = 'live' OR created_at > now() - interval '36 hours'

-- name: changed_assets
SELECT * FROM assets WHERE changed_xid >= $1 LIMIT $2

-- name: load_playout_channels
SELECT * FROM playout_channels

-- name: changed_playout_channels
SELECT * FROM playout_channels WHERE changed_xid >= $1 LIMIT $2

-- name: load_playout_items
SELECT * FROM playout_items

-- name: changed_playout_items
SELECT * FROM playout_items WHERE changed_xid >= $1 LIMIT $2

-- name: on_air
SELECT * FROM playout_as_run WHERE ended_at IS NULL

-- The quiet columns, of the rows where they are quiet (see airlock_track).

-- name: vitals_stations
SELECT id, last_seen_at, rtt_ms, clock_offset_ms, loop_lag_ms FROM stations WHERE status = 'online'

-- name: vitals_nodes
SELECT id, last_heartbeat_at, volumes FROM nodes WHERE status = 'online'

-- name: vitals_assets
SELECT id, size_bytes, last_growth_at, duration_s FROM assets WHERE status = 'live'

-- name: vitals_playout_channels
SELECT id, last_heartbeat_at, heartbeat_ms FROM playout_channels WHERE status = 'running'
