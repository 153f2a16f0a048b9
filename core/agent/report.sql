-- What an agent tells the plant. The window itself is the scheduler's: nothing here writes it.

-- name: register
-- A node that an engineer drains stays drained when its agent restarts.
INSERT INTO nodes (name, base_url, capabilities, status, version, last_heartbeat_at, volumes)
VALUES ($1, $2, $3, 'online', $4, clock_timestamp(), $5)
ON CONFLICT (name) DO UPDATE SET
    base_url = excluded.base_url, capabilities = excluded.capabilities, version = excluded.version,
    last_heartbeat_at = excluded.last_heartbeat_at, volumes = excluded.volumes, error_message = NULL, signed_off_at = NULL,
    status = CASE nodes.status WHEN 'draining' THEN 'draining' ELSE 'online' END
RETURNING id

-- name: heartbeat
-- Quiet: only when a leader has called us offline meanwhile does anybody hear of it.
UPDATE nodes SET last_heartbeat_at = clock_timestamp(), volumes = $2,
    status = CASE status WHEN 'offline' THEN 'online' ELSE status END
WHERE id = $1
RETURNING id

-- name: sign_off
UPDATE nodes SET status = CASE status WHEN 'online' THEN 'offline' ELSE status END, signed_off_at = clock_timestamp()
WHERE id = $1

-- name: recorders_offline
-- Those that record go on recording without us and stay as they are.
UPDATE recorders SET status = 'offline' WHERE node_id = $1 AND status IN ('idle', 'error')

-- name: recorders
SELECT id, name, external_id, source, settings FROM recorders WHERE node_id = $1 ORDER BY id

-- name: recorder_states
UPDATE recorders r SET status = s.status, current_session_id = s.session, error_message = s.error, signal = s.signal
FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::jsonb[]) AS s (id, status, session, error, signal)
WHERE r.id = s.id AND r.node_id = $1
  AND (r.status, r.current_session_id, r.error_message, r.signal)
      IS DISTINCT FROM (s.status, s.session, s.error, s.signal)

-- name: asset_live
-- Whoever hears of the session first makes the row: the scheduler by the answer, or we.
-- A window that was deleted meanwhile must not lose the recording.
INSERT INTO assets (display_name, path, status, recorder_id, schedule_id, node_id, session_id, attempt, container,
                    size_bytes, last_growth_at, created_at)
SELECT $4, $5, 'live', r.id, (SELECT w.id FROM recorder_schedules w WHERE w.id = $6), $1, $3, $7, $8, $9,
       clock_timestamp(), clock_timestamp() - make_interval(secs => $10)
FROM recorders r WHERE r.id = $2
ON CONFLICT (recorder_id, session_id) WHERE session_id IS NOT NULL DO UPDATE SET
    path = excluded.path, node_id = excluded.node_id, container = excluded.container,
    attempt = coalesce(assets.attempt, excluded.attempt), schedule_id = coalesce(assets.schedule_id, excluded.schedule_id)

-- name: asset_ended
UPDATE assets SET status = $3, size_bytes = $4, duration_s = $5, error_message = $6, meta = meta || $7,
    last_growth_at = coalesce(last_growth_at, clock_timestamp())
WHERE recorder_id = $1 AND session_id = $2

-- name: growth
-- All running recordings in one statement, and only quiet columns. The age lets a report that
-- comes late, after the database was away, still say when the file last grew.
UPDATE assets a SET size_bytes = g.size, duration_s = g.duration,
    last_growth_at = clock_timestamp() - make_interval(secs => g.age)
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::float8[], $5::float8[]) AS g (recorder, session, size, duration, age)
WHERE a.recorder_id = g.recorder AND a.session_id = g.session AND a.status = 'live'

-- name: sidecar_died
-- The word that the leader acts on at once. Of a generation that is over already there is nothing to say.
UPDATE playout_channels SET dead_generation = $2, dead_at = clock_timestamp() - make_interval(secs => $3),
    dead_reason = left($4, 500)
WHERE id = $1 AND generation = $2

-- name: generations
SELECT id, generation FROM playout_channels WHERE id = ANY ($1::bigint[])
