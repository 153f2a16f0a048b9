-- Windows, as the leader's lane needs them. Time is always a parameter: it is the database's clock as
-- the lane knows it, and a bound that an index can use. What is pending is found by its start: a window that
-- is over has also begun, and saying so keeps the statement from reading the whole plan.

-- name: plant_uuid
SELECT uuid FROM plant WHERE id = 1

-- name: arm
-- One statement claims everything that is due or about to be: a fresh token each, and the epoch by the
-- trigger. SKIP LOCKED, so that a row an operator is saving right now is taken a moment later instead of
-- holding up the others. $3: what the lane has in hand already. Windows claimed by an earlier epoch are
-- claimed anew, with the attempt they had: the same key starts nothing twice.
WITH due AS (
    SELECT s.id FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id
    WHERE s.status = 'pending' AND s.start_at <= $2 AND s.end_at > $1
      AND (r.mode = 'auto' OR s.by_hand)
      AND NOT (s.id = ANY ($3::bigint[]))
    ORDER BY s.start_at
    LIMIT 2000
    FOR UPDATE OF s SKIP LOCKED
)
UPDATE recorder_schedules s
SET claim_token = gen_random_uuid()
FROM recorders r LEFT JOIN nodes n ON n.id = r.node_id
WHERE s.id = ANY (ARRAY(SELECT id FROM due)) AND r.id = s.recorder_id
RETURNING s.id, s.name, s.recorder_id, s.start_at, s.end_at, s.status, s.attempt, s.claim_token, s.session_id,
    s.source, s.session_started_at, s.stop_since, s.by_hand, s.stop_asked_at, r.name AS recorder_name, r.external_id, r.mode,
    coalesce(r.base_url, n.base_url) AS base_url, r.node_id

-- name: unsettled
-- What a station that died, or an earlier pass, left on the way; and what an operator wants stopped.
SELECT s.id, s.name, s.recorder_id, s.start_at, s.end_at, s.status, s.attempt, s.claim_token, s.session_id,
    s.source, s.session_started_at, s.stop_since, s.by_hand, s.stop_asked_at, r.name AS recorder_name, r.external_id, r.mode,
    coalesce(r.base_url, n.base_url) AS base_url, r.node_id
FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id LEFT JOIN nodes n ON n.id = r.node_id
WHERE s.status IN ('starting', 'stopping')
   OR s.status = 'cancelled' AND s.claim_token IS NOT NULL
   -- Armed and over: a leader may have fired it and died before it could say so.
   OR s.status = 'pending' AND s.claim_token IS NOT NULL AND s.start_at < $1 AND s.end_at <= $1

-- name: stopping_soon
SELECT s.id, s.name, s.recorder_id, s.start_at, s.end_at, s.status, s.attempt, s.claim_token, s.session_id,
    s.source, s.session_started_at, s.stop_since, s.by_hand, s.stop_asked_at, r.name AS recorder_name, r.external_id, r.mode,
    coalesce(r.base_url, n.base_url) AS base_url, r.node_id
FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id LEFT JOIN nodes n ON n.id = r.node_id
WHERE s.status = 'running'
  AND (s.end_at <= $1 AND (r.mode = 'auto' OR s.by_hand) OR s.stop_asked_at IS NOT NULL)

-- name: running
SELECT s.id, s.name, s.recorder_id, s.start_at, s.end_at, s.status, s.attempt, s.claim_token, s.session_id,
    s.source, s.session_started_at, s.stop_since, s.by_hand, s.stop_asked_at, r.name AS recorder_name, r.external_id, r.mode,
    coalesce(r.base_url, n.base_url) AS base_url, r.node_id
FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id LEFT JOIN nodes n ON n.id = r.node_id
WHERE s.status = 'running' AND s.end_at > $1 AND s.stop_asked_at IS NULL

-- name: still_mine
-- Which of the armed windows are still as they were armed.
SELECT id FROM recorder_schedules
WHERE (id, claim_token) IN (SELECT * FROM unnest($1::bigint[], $2::uuid[])) AND status IN ('pending', 'starting')

-- name: next_due
SELECT least(
    (SELECT min(start_at) FROM recorder_schedules WHERE status = 'pending' AND start_at > $1),
    (SELECT min(end_at) FROM recorder_schedules WHERE status = 'running' AND end_at > $1),
    -- OFFSET 0: else the least end is looked for among the ends of all windows there are.
    (SELECT min(end_at) FROM (SELECT end_at FROM recorder_schedules
                              WHERE status = 'pending' AND start_at <= $1 AND end_at > $2 OFFSET 0) AS begun))

-- name: mark_starting
-- Beside the request, not before it. A row that is not as it was armed does not come back: somebody
-- changed or cancelled it at the last moment, and what the request starts will be stopped again.
UPDATE recorder_schedules s SET status = 'starting', error_message = NULL
FROM unnest($1::bigint[], $2::uuid[]) AS m(id, token)
WHERE s.id = m.id AND s.claim_token = m.token AND s.status IN ('pending', 'starting')
RETURNING s.id

-- name: mark_running
-- The recording's row comes with it, and the attempt; the agent writes the same row, whoever is first.
WITH m AS (
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[],
                         $7::integer[], $8::double precision[])
        AS m(id, token, session_id, path, container, started_at, tried, lateness_ms)
), owned AS (
    SELECT m.*, s.recorder_id, s.name, s.attempt, r.node_id, r.demo FROM m
    JOIN recorder_schedules s ON s.id = m.id AND s.claim_token = m.token AND s.status IN ('pending', 'starting')
    JOIN recorders r ON r.id = s.recorder_id
    FOR UPDATE OF s
), asset AS (
    INSERT INTO assets (display_name, path, recorder_id, schedule_id, node_id, session_id, attempt, container,
                        last_growth_at, demo)
    SELECT name, path, recorder_id, id, node_id, session_id, attempt, container, started_at, demo FROM owned
    ON CONFLICT (recorder_id, session_id) WHERE session_id IS NOT NULL
        DO UPDATE SET schedule_id = excluded.schedule_id
    RETURNING id, schedule_id
), noted AS (
    INSERT INTO recorder_attempts (schedule_id, attempt, operation, lateness_ms, outcome)
    SELECT id, tried, 'start', lateness_ms, 'done' FROM owned
)
UPDATE recorder_schedules s SET status = 'running', session_id = o.session_id, next_attempt_at = NULL,
    started_at = coalesce(s.started_at, o.started_at), session_started_at = o.started_at, error_message = NULL,
    last_asset_id = (SELECT a.id FROM asset a WHERE a.schedule_id = s.id)
FROM owned o WHERE s.id = o.id
RETURNING s.id

-- name: mark_again
UPDATE recorder_schedules SET status = $3, attempt = greatest(attempt, $4), next_attempt_at = $5, error_message = $6,
    session_id = CASE WHEN $3 = 'starting' THEN NULL ELSE session_id END
WHERE id = $1 AND claim_token = $2 AND status IN ('pending', 'starting', 'running', 'stopping')
RETURNING id

-- name: mark_stopping
-- Before the request, unlike a start: an end that was moved at the last moment must not be acted on.
UPDATE recorder_schedules s SET status = 'stopping', stop_since = coalesce(s.stop_since, $3)
FROM unnest($1::bigint[], $2::uuid[]) AS m(id, token)
WHERE s.id = m.id AND s.claim_token = m.token
  AND (s.status = 'running' AND (s.end_at <= $3 OR s.stop_asked_at IS NOT NULL) OR s.status = 'stopping')
RETURNING s.id

-- name: finish
-- A recorder without an agent has nobody else who would say that its recording is complete.
WITH done AS (
    UPDATE recorder_schedules s SET status = m.status, error_message = m.error, stopped_at = m.stopped_at,
        next_attempt_at = NULL, claim_token = NULL
    FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::timestamptz[])
        AS m(id, token, status, error, stopped_at)
    WHERE s.id = m.id AND s.claim_token = m.token AND s.status IN ('pending', 'starting', 'running', 'stopping')
    RETURNING s.id, s.recorder_id, s.session_id, s.status
), asset AS (
    UPDATE assets a SET status = 'ready' FROM done d JOIN recorders r ON r.id = d.recorder_id AND r.node_id IS NULL
    WHERE d.status = 'completed' AND a.recorder_id = d.recorder_id AND a.session_id = d.session_id AND a.status = 'live'
)
SELECT id FROM done

-- name: settle_cancelled
UPDATE recorder_schedules SET claim_token = NULL,
    stopped_at = CASE WHEN started_at IS NULL THEN NULL ELSE coalesce(stopped_at, $3) END
WHERE id = $1 AND claim_token = $2 AND status = 'cancelled'
RETURNING id

-- name: miss
UPDATE recorder_schedules s SET status = 'missed', claim_token = NULL,
    error_message = CASE WHEN r.mode = 'manual' THEN 'Its recorder was in manual mode.'
                         ELSE 'Nobody could start it before its end.' END
FROM recorders r
WHERE r.id = s.recorder_id AND s.status = 'pending' AND s.start_at < $1 AND s.end_at <= $1
  AND s.claim_token IS NULL
RETURNING s.id, s.name, s.recorder_id, r.name AS recorder_name, r.mode

-- name: attempt
INSERT INTO recorder_attempts (schedule_id, attempt, operation, lateness_ms, outcome, message)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: stale_assets
UPDATE assets a SET status = 'error', error_message = 'Nothing has reported growth for too long.'
WHERE a.status = 'live' AND coalesce(a.last_growth_at, a.created_at) < $1
  AND NOT EXISTS (SELECT 1 FROM recorders r WHERE r.id = a.recorder_id AND r.current_session_id = a.session_id)
RETURNING a.id, a.display_name

-- name: to_preflight
SELECT s.id, s.name, s.start_at, s.end_at, s.source, r.id AS recorder_id, r.name AS recorder_name, r.external_id,
    coalesce(r.base_url, n.base_url) AS base_url
FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id LEFT JOIN nodes n ON n.id = r.node_id
WHERE s.status = 'pending' AND s.start_at > $1 AND s.start_at <= $2
  AND (r.node_id IS NULL OR n.last_heartbeat_at IS NOT NULL)  -- a node that never ran has nothing to check

-- name: unowned
-- Recorders that say they record something which no active window owns. A window has its session only
-- together with its asset, and assets are found by their session.
SELECT r.id AS recorder_id, r.name AS recorder_name, r.external_id, r.current_session_id, n.base_url
FROM recorders r JOIN nodes n ON n.id = r.node_id
WHERE r.current_session_id IS NOT NULL AND r.mode = 'auto'
  AND NOT EXISTS (SELECT 1 FROM assets a JOIN recorder_schedules s ON s.id = a.schedule_id
                  WHERE a.recorder_id = r.id AND a.session_id = r.current_session_id AND s.session_id = a.session_id
                    AND s.status IN ('starting', 'running', 'stopping', 'cancelled'))

-- name: active_attempts
SELECT id, attempt FROM recorder_schedules WHERE status = 'pending' AND start_at <= $1
UNION ALL
SELECT id, attempt FROM recorder_schedules WHERE status IN ('starting', 'stopping') AND start_at <= $1
UNION ALL
SELECT id, attempt FROM recorder_schedules WHERE status = 'running' AND start_at <= $1

-- name: sessions_reported
SELECT id, current_session_id, node_id FROM recorders WHERE id = ANY ($1::bigint[])

-- name: still_wanted
-- Whether what this attempt started belongs to its window after all. An edit that takes the window out of
-- the leader's hand raises the attempt; a cancel or delete ends it.
SELECT EXISTS (SELECT 1 FROM recorder_schedules WHERE id = $1 AND attempt = $2
               AND status IN ('pending', 'starting', 'running', 'stopping'))
