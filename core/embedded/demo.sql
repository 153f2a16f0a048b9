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

-- name: add_channel
-- On air as soon as its clips are there, which is what `resting` says.
INSERT INTO playout_channels (name, title, output_type, output_url, settings, node_id, position, demo, resting)
VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8) RETURNING id

-- name: add_items
INSERT INTO playout_items (channel_id, position, clip_name, path, duration_s, demo)
SELECT $1, c.n, c.name, c.path, c.seconds, true
FROM unnest($2::text[], $3::text[], $4::double precision[]) WITH ORDINALITY AS c(name, path, seconds, n)

-- name: has_channels
SELECT EXISTS (SELECT 1 FROM playout_channels WHERE demo)

-- name: wake_channels
UPDATE playout_channels SET wanted = 'on', resting = false WHERE demo AND resting RETURNING name

-- name: rest_channels
UPDATE playout_channels SET wanted = 'off', resting = true WHERE demo AND wanted = 'on' RETURNING name

-- name: channels_at_rest
SELECT NOT EXISTS (SELECT 1 FROM playout_channels WHERE demo AND status IN ('starting', 'running', 'stopping'))

-- name: replay_recordings
-- What the demonstration's recorders have recorded goes to the end of that channel's playlist, each once.
INSERT INTO playout_items (channel_id, position, asset_id, clip_name, path, duration_s, demo)
SELECT c.id, coalesce((SELECT max(position) FROM playout_items WHERE channel_id = c.id), 0)
             + row_number() OVER (ORDER BY a.id), a.id, a.display_name, a.path, a.duration_s, true
FROM playout_channels c, assets a JOIN recorders r ON r.id = a.recorder_id
WHERE c.demo AND c.name = $1 AND r.demo AND a.status = 'ready' AND a.path <> '' AND a.duration_s > 0
  AND NOT EXISTS (SELECT 1 FROM playout_items i WHERE i.channel_id = c.id AND i.asset_id = a.id)
  AND (SELECT count(*) FROM playout_items i WHERE i.channel_id = c.id) < $2

-- name: drop_items
DELETE FROM playout_items WHERE channel_id IN (SELECT id FROM playout_channels WHERE demo)

-- name: drop_channels
-- What was on air left evidence, which stays, and so does its channel: off air, and an ordinary one from now on.
DELETE FROM playout_channels c WHERE demo AND generation = 0
    AND NOT EXISTS (SELECT 1 FROM playout_as_run a WHERE a.channel_id = c.id)

-- name: keep_channels
UPDATE playout_channels SET demo = false, resting = false, wanted = 'off' WHERE demo

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
    AND NOT EXISTS (SELECT 1 FROM playout_channels c WHERE c.node_id = n.id)

-- name: keep_nodes
UPDATE nodes SET demo = false WHERE demo

-- name: now
SELECT clock_timestamp()
