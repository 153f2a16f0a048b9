-- name: to_plan
-- Those whose meaning changed (or which are new), and those whose planned stretch is getting short.
SELECT * FROM recorder_series
WHERE enabled AND (planned_until IS NULL OR planned_until < $1) OR NOT enabled AND planned_until IS NULL
ORDER BY id FOR UPDATE SKIP LOCKED

-- name: get
SELECT * FROM recorder_series WHERE id = $1 FOR UPDATE

-- name: planned
-- The future windows of a series, as they stand.
SELECT id, plan_time, start_at, end_at, name, recorder_id, source, status, edited, claim_token
FROM recorder_schedules WHERE series_id = $1 AND plan_time > $2

-- name: drop_windows
DELETE FROM recorder_schedules WHERE id = ANY ($1::bigint[]) AND status = 'pending'

-- name: add_windows
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, recurrence, series_id, plan_time, source, made_by, demo)
SELECT $1, $2, t, t + $4, $5, $6, t, $7, $8, $9 FROM unnest($3::timestamptz[]) AS t
ON CONFLICT (series_id, plan_time) DO NOTHING

-- name: add_collided
-- A collision is not lost silently: the occurrence is there, failed, with the reason.
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, recurrence, series_id, plan_time, source, made_by,
                                demo, status, error_message)
VALUES ($1, $2, $3, $3::timestamptz + $4::interval, $5, $6, $3, $7, $8, $9, 'failed', $10)
ON CONFLICT (series_id, plan_time) DO NOTHING
RETURNING id

-- name: set_planned
UPDATE recorder_series SET planned_until = $2, error_message = $3 WHERE id = $1

-- name: to_adopt
SELECT id, name, recorder_id, start_at, end_at, recurrence, source, made_by FROM recorder_schedules
WHERE recurrence IN ('daily', 'weekly') AND series_id IS NULL FOR UPDATE SKIP LOCKED

-- name: adopt_series
INSERT INTO recorder_series (name, recorder_id, cron, timezone, shift, duration, first_day, source)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id

-- name: adopt_window
UPDATE recorder_schedules SET series_id = $2, plan_time = start_at WHERE id = $1

-- name: timezone
SELECT timezone FROM plant WHERE id = 1

-- name: colliding
SELECT s.id, s.name, s.start_at, s.end_at, s.series_id, s.made_by, r.name AS recorder_name
FROM recorder_schedules s JOIN recorders r ON r.id = s.recorder_id
WHERE int8range(s.recorder_id, s.recorder_id, '[]') && int8range($1, $1, '[]')
  AND tstzrange(s.start_at, s.end_at) && tstzrange($2, $3)
  AND s.status IN ('pending', 'starting', 'running', 'stopping') AND s.id <> $4
ORDER BY s.start_at LIMIT 5
