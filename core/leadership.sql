-- name: lock
SELECT pg_advisory_lock(8210301)

-- name: end_with_client
SET client_connection_check_interval = '2s'

-- name: carry_epoch
SELECT set_config('airlock.epoch', $1, false)

-- name: take_lead
SELECT epoch, acquired_at FROM airlock_take_lead($1, make_interval(secs => $2))

-- name: renew
-- No row: a newer epoch exists, or this one was released.
UPDATE leadership SET trusted_until = clock_timestamp() + make_interval(secs => $2)
WHERE epoch = $1 AND released_at IS NULL
RETURNING clock_timestamp() AS at

-- name: release
-- Frees the lock as well: the end of a session, which would free it too, takes the server a moment.
WITH noted AS (
    UPDATE leadership SET released_at = clock_timestamp(), ended_by = 'left' WHERE epoch = $1 AND released_at IS NULL
    RETURNING epoch
)
SELECT pg_advisory_unlock_all() FROM noted

-- name: leader_expired
-- Cheap enough to ask four times a second; the verdict itself is airlock_depose's. Where there was
-- no epoch yet, whoever holds the lock may hang as well.
SELECT coalesce((
    SELECT trusted_until < clock_timestamp() - make_interval(secs => $1) OR released_at IS NOT NULL
    FROM leadership ORDER BY epoch DESC LIMIT 1), true)

-- name: deposed
-- The station that had to be ended before this epoch, if one had. Read from the database, because
-- the follower that ended it and the one that won the lock need not be the same.
SELECT CASE WHEN ended_by = 'deposed' THEN station END
FROM leadership WHERE epoch < $1 ORDER BY epoch DESC LIMIT 1

-- name: depose
SELECT airlock_depose(make_interval(secs => $1))
