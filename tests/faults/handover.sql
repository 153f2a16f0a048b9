-- name: make_beacons
CREATE TABLE beacons (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch bigint NOT NULL,
    kind  text NOT NULL,
    pid   integer NOT NULL,
    act   double precision NOT NULL,
    at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON beacons (epoch, at);
CREATE INDEX ON beacons (at);
CALL airlock_guard('beacons');

-- name: leader
SELECT epoch, station, backend_pid FROM leadership ORDER BY epoch DESC LIMIT 1

-- name: settled
-- Acting means a write within the last moments; waiting means standing in the queue of the lock.
SELECT EXISTS (SELECT 1 FROM beacons WHERE at > now() - interval '0.3 seconds' AND kind = 'beacon'
               AND epoch = (SELECT max(epoch) FROM leadership)) AS acts,
       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 8210301 AND NOT granted) AS waiting

-- name: end_lock_session
SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 8210301 AND granted

-- name: end_all_sessions
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name LIKE 'airlock % ' || $1 AND pid <> pg_backend_pid()

-- name: first_beacon_after
SELECT epoch, min(at) AS at FROM beacons WHERE epoch > $1 AND kind = 'beacon' GROUP BY epoch ORDER BY epoch LIMIT 1

-- name: count
SELECT (SELECT count(*) FROM beacons) AS beacons, (SELECT count(*) FROM leadership) AS epochs

-- name: violations
WITH terms AS (
    SELECT epoch, acquired_at, released_at,
           lead(acquired_at) OVER (ORDER BY epoch) AS succeeded_at, lead(epoch) OVER (ORDER BY epoch) AS successor
    FROM leadership
), in_order AS (
    SELECT epoch, id, at, lag(epoch) OVER (ORDER BY at, id) AS before FROM beacons
)
SELECT 'written after the next epoch began' AS what, b.epoch, format('%s at %s, next %s', b.kind, b.at, t.succeeded_at) AS detail
FROM beacons b JOIN terms t USING (epoch) WHERE b.at >= t.succeeded_at
UNION ALL
SELECT 'written before its own epoch began', b.epoch, b.at::text
FROM beacons b JOIN terms t USING (epoch) WHERE b.at < t.acquired_at
UNION ALL
SELECT 'written by an epoch that does not exist', b.epoch, b.at::text
FROM beacons b WHERE NOT EXISTS (SELECT 1 FROM leadership l WHERE l.epoch = b.epoch)
UNION ALL
SELECT 'interleaved with another', epoch, format('after one of epoch %s', before)
FROM in_order WHERE before > epoch
UNION ALL
SELECT 'two epochs at once', epoch, format('epoch %s began at %s', successor, succeeded_at)
FROM terms WHERE successor IS NOT NULL AND (released_at IS NULL OR released_at > succeeded_at OR acquired_at >= succeeded_at)
LIMIT 50

-- name: acts
SELECT epoch, min(act) AS first, max(act) AS last FROM beacons WHERE kind = 'beacon' GROUP BY epoch ORDER BY epoch

-- name: sessions
SELECT pid, application_name, state, now() - state_change AS since, wait_event, left(query, 60) AS query
FROM pg_stat_activity WHERE application_name LIKE 'airlock%'

-- name: locks
SELECT pid, objid, mode, granted FROM pg_locks WHERE locktype = 'advisory'

-- name: terms
SELECT *, now() FROM leadership ORDER BY epoch DESC LIMIT 3
