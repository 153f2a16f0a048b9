-- name: window
SELECT * FROM recorder_schedules WHERE id = $1 FOR UPDATE

-- name: recorder
SELECT * FROM recorders WHERE id = $1

-- name: recorder_for_update
SELECT * FROM recorders WHERE id = $1 FOR UPDATE

-- name: plant
SELECT timezone, clock_timestamp() AS now FROM plant WHERE id = 1

-- name: create
INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, source, made_by, by_hand, open_ended)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING *

-- name: edit
UPDATE recorder_schedules SET name = $2, recorder_id = $3, start_at = $4, end_at = $5, source = $6,
    edited = edited OR series_id IS NOT NULL, open_ended = open_ended AND end_at = $5
WHERE id = $1 RETURNING *

-- name: cancel
UPDATE recorder_schedules SET status = 'cancelled' WHERE id = $1 RETURNING *

-- name: delete
DELETE FROM recorder_schedules WHERE id = $1 RETURNING *

-- name: ask_stop
UPDATE recorder_schedules SET stop_asked_at = clock_timestamp() WHERE id = $1 RETURNING *

-- name: active_on
SELECT * FROM recorder_schedules WHERE recorder_id = $1 AND status IN ('starting', 'running', 'stopping')
ORDER BY start_at LIMIT 1 FOR UPDATE

-- name: next_on
SELECT start_at FROM recorder_schedules
WHERE recorder_id = $1 AND status = 'pending' AND start_at > $2 ORDER BY start_at LIMIT 1

-- name: set_mode
UPDATE recorders SET mode = $2 WHERE id = $1 RETURNING *

-- name: create_series
INSERT INTO recorder_series (name, recorder_id, cron, timezone, duration, first_day, last_day, skips, source, shift)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING *

-- name: into_series
-- A pending window that the series would have elsewhere, or otherwise, is planned anew with the rest of it.
UPDATE recorder_schedules SET series_id = $2, plan_time = start_at, recurrence = $3 WHERE id = $1

-- name: edit_series
UPDATE recorder_series SET name = $2, recorder_id = $3, cron = $4, timezone = $5, duration = $6, first_day = $7,
    last_day = $8, skips = $9, source = $10, enabled = $11, shift = $12
WHERE id = $1 RETURNING *

-- name: delete_series
DELETE FROM recorder_series WHERE id = $1

-- name: drop_future
DELETE FROM recorder_schedules WHERE series_id = $1 AND status = 'pending' AND plan_time >= $2 AND NOT edited

-- name: hand_over_edited
-- Edited occurrences keep their edit when "this and following" makes a new series of them.
UPDATE recorder_schedules SET series_id = $2 WHERE series_id = $1 AND edited AND plan_time >= $3
