-- name: lock
SELECT pg_advisory_xact_lock(8210304)

-- name: is_fresh
-- Never used: nobody has made a recorder, and no demonstration was laid or removed before.
SELECT NOT demo AND NOT EXISTS (SELECT 1 FROM recorders) AND NOT EXISTS (SELECT 1 FROM audit_log) FROM plant WHERE id = 1

-- name: mark_plant
UPDATE plant SET demo = true, name = 'Demonstration plant', timezone = $1 WHERE id = 1

-- name: unmark_plant
UPDATE plant SET demo = false, name = 'Local plant' WHERE id = 1

-- name: add_node
INSERT INTO nodes (name, base_url, demo) VALUES ($1, 'http://127.0.0.1:0', true)
ON CONFLICT (name) DO UPDATE SET demo = true RETURNING id

-- name: add_recorder
INSERT INTO recorders (name, node_id, external_id, source, settings, position, demo)
VALUES ($1, $2, $3, $4, $5, $6, true) RETURNING id

-- name: add_window
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, made_by, demo)
VALUES ($1, $2, $3, $4, 'demonstration', true)

-- name: add_series
INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration, demo) VALUES ($1, $2, $3, $4, $5, true)

-- name: running
SELECT s.name FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id
WHERE r.demo AND s.status IN ('starting', 'running', 'stopping') ORDER BY s.start_at

-- name: forget_assets
DELETE FROM assets WHERE recorder_id IN (SELECT id FROM recorders WHERE demo)

-- name: drop_windows
DELETE FROM recorder_schedules WHERE recorder_id IN (SELECT id FROM recorders WHERE demo)

-- name: drop_series
DELETE FROM recorder_series WHERE recorder_id IN (SELECT id FROM recorders WHERE demo)

-- name: drop_recorders
DELETE FROM recorders WHERE demo

-- name: drop_nodes
DELETE FROM nodes n WHERE demo AND NOT EXISTS (SELECT 1 FROM recorders r WHERE r.node_id = n.id)

-- name: now
SELECT clock_timestamp()
