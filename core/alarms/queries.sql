-- name: raise_alarm
-- One open alarm per key. A repeat counts up; one that had cleared is active again; one that was
-- acknowledged or shelved asks again only when it has become more urgent. $10 is false for a condition
-- that is looked at again and again: then only news count.
INSERT INTO alarms (key, cause_key, priority, source_kind, source_id, source_name, message, effect, action)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (key) WHERE cleared_at IS NULL OR acked_at IS NULL DO UPDATE SET
    count = alarms.count + 1,
    last_raised_at = clock_timestamp(),
    cleared_at = NULL,
    cause_key = excluded.cause_key,
    message = excluded.message,
    effect = excluded.effect,
    action = excluded.action,
    priority = excluded.priority,
    -- No row, and therefore nothing of all this, when it has become more urgent.
    (acked_at, acked_by, shelved_until, shelved_by, shelve_reason) = (
        SELECT alarms.acked_at, alarms.acked_by, alarms.shelved_until, alarms.shelved_by, alarms.shelve_reason
        WHERE airlock_rank(excluded.priority) >= airlock_rank(alarms.priority))
WHERE $10 OR alarms.cleared_at IS NOT NULL OR alarms.priority <> excluded.priority

-- name: clear_alarm
UPDATE alarms SET cleared_at = clock_timestamp() WHERE key = $1 AND cleared_at IS NULL

-- name: clear_others
UPDATE alarms SET cleared_at = clock_timestamp()
WHERE starts_with(key, $1) AND NOT key = ANY ($2::text[]) AND cleared_at IS NULL

-- name: set_past
UPDATE alarms SET raised_at = least(raised_at, $2), cleared_at = clock_timestamp()
WHERE key = $1 AND cleared_at IS NULL

-- name: get
SELECT * FROM alarms WHERE id = $1

-- name: get_for_update
SELECT * FROM alarms WHERE id = $1 FOR UPDATE

-- name: acknowledge
UPDATE alarms SET acked_at = clock_timestamp(), acked_by = $2 WHERE id = $1 RETURNING *

-- name: shelve
UPDATE alarms SET shelved_until = clock_timestamp() + make_interval(secs => $2), shelved_by = $3, shelve_reason = $4
WHERE id = $1 RETURNING *

-- name: unshelve
UPDATE alarms SET shelved_until = NULL, shelved_by = NULL, shelve_reason = NULL WHERE id = $1 RETURNING *

-- name: unshelve_due
UPDATE alarms SET shelved_until = NULL, shelved_by = NULL, shelve_reason = NULL WHERE shelved_until <= now()

-- name: history
SELECT * FROM alarms WHERE ($1::timestamptz IS NULL OR raised_at < $1) ORDER BY raised_at DESC LIMIT $2
