-- Runs, as workers and the leader's lane need them. A lease's times are taken in the statement that takes the
-- lease, by the clock as it is then: no lease is born stale.

-- name: claim
-- $1 token, $2 worker, $3 its node, $4 handlers it knows, $5 how many in all, $6-$8 of each queue at most.
-- One batch, one token. The queues are looked at in their order, each only for the room that is left. SKIP LOCKED:
-- what another worker is taking at this moment is not waited for. Of runs that exclude each other the first is
-- taken, and none while another one runs; the index runs_one_at_a_time refuses the batch if two workers still
-- choose at the same instant, and it is tried again.
WITH live AS (
    SELECT id, exclusive, job_name, scope_kind, scope_id FROM job_runs r
    WHERE status = 'pending' AND rank BETWEEN 0 AND 2 AND handler = ANY ($4::text[])
      AND (node_id IS NULL OR node_id = $3::bigint)
      AND CASE WHEN exclusive THEN NOT EXISTS (
          SELECT 1 FROM job_runs o WHERE o.status = 'running' AND o.exclusive AND o.job_name = r.job_name
            AND o.scope_kind = r.scope_kind AND o.scope_id = r.scope_id) ELSE true END
    ORDER BY rank, id LIMIT least($5::integer, $6::integer) FOR UPDATE OF r SKIP LOCKED
), ordinary AS (
    SELECT id, exclusive, job_name, scope_kind, scope_id FROM job_runs r
    WHERE status = 'pending' AND rank BETWEEN 3 AND 5 AND handler = ANY ($4::text[])
      AND (node_id IS NULL OR node_id = $3::bigint)
      AND CASE WHEN exclusive THEN NOT EXISTS (
          SELECT 1 FROM job_runs o WHERE o.status = 'running' AND o.exclusive AND o.job_name = r.job_name
            AND o.scope_kind = r.scope_kind AND o.scope_id = r.scope_id) ELSE true END
    ORDER BY rank, id LIMIT least($5::integer - (SELECT count(*) FROM live), $7::integer) FOR UPDATE OF r SKIP LOCKED
), batch AS (
    SELECT id, exclusive, job_name, scope_kind, scope_id FROM job_runs r
    WHERE status = 'pending' AND rank BETWEEN 6 AND 8 AND handler = ANY ($4::text[])
      AND (node_id IS NULL OR node_id = $3::bigint)
      AND CASE WHEN exclusive THEN NOT EXISTS (
          SELECT 1 FROM job_runs o WHERE o.status = 'running' AND o.exclusive AND o.job_name = r.job_name
            AND o.scope_kind = r.scope_kind AND o.scope_id = r.scope_id) ELSE true END
    ORDER BY rank, id
    LIMIT least($5::integer - (SELECT count(*) FROM live) - (SELECT count(*) FROM ordinary), $8::integer)
    FOR UPDATE OF r SKIP LOCKED
), found AS (
    SELECT * FROM live UNION ALL SELECT * FROM ordinary UNION ALL SELECT * FROM batch
), chosen AS (
    SELECT id FROM found WHERE NOT exclusive
    UNION ALL
    SELECT min(id) FROM found WHERE exclusive GROUP BY job_name, scope_kind, scope_id
)
UPDATE job_runs r SET status = 'running', attempt = attempt + 1, lease_token = $1, worker = $2, progress = NULL,
    started_at = clock_timestamp(), heartbeat_at = clock_timestamp(),
    stale_at = clock_timestamp() + stale_timeout, deadline_at = clock_timestamp() + time_limit
WHERE id = ANY (ARRAY(SELECT id FROM chosen))
RETURNING id, job_name, handler, arguments, scope_kind, scope_id, plan_time, queue, priority, attempt, max_attempts,
    extract(epoch FROM time_limit)::float8, extract(epoch FROM stale_timeout)::float8, rank, exclusive

-- name: anything_to_take
-- Before a look that nobody asked for: a claim that finds nothing would be announced to everybody.
SELECT EXISTS (SELECT 1 FROM job_runs WHERE status = 'pending' AND handler = ANY ($1::text[])
                 AND (node_id IS NULL OR node_id = $2::bigint))

-- name: complete
-- Only by whoever holds the lease. What does not come back was taken away: the result is refused. Here and below
-- the token alone says that the run is running (a constraint holds that), and rows are found by their number:
-- naming the status would lead the planner to read all leases there are for each of them.
UPDATE job_runs r SET status = 'completed', finished_at = clock_timestamp(), lease_token = NULL, progress = 1,
    error_code = NULL, result = m.result::jsonb
FROM unnest($1::bigint[], $2::uuid[], $3::text[]) AS m(id, token, result)
WHERE r.id = m.id AND r.lease_token = m.token
RETURNING r.id

-- name: complete_plain
-- The same for runs that say nothing, which is most of them when there are many.
UPDATE job_runs r SET status = 'completed', finished_at = clock_timestamp(), lease_token = NULL, progress = 1,
    error_code = NULL
FROM unnest($1::bigint[], $2::uuid[]) AS m(id, token)
WHERE r.id = m.id AND r.lease_token = m.token
RETURNING r.id

-- name: fail
-- Also what the leader finds expired: with the token of the lease that expired and the instant ($7) by which it had,
-- so that one renewed or finished in the meantime is left alone.
UPDATE job_runs r SET status = m.status, error_code = m.code, lease_token = NULL, progress = NULL,
    run_at = clock_timestamp() + m.delay,
    finished_at = CASE WHEN m.status = 'failed' THEN clock_timestamp() END,
    errors = r.errors || jsonb_build_object('attempt', r.attempt, 'at', clock_timestamp(), 'code', m.code,
                                            'message', m.message, 'worker', r.worker)
FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::interval[])
    AS m(id, token, status, code, message, delay)
WHERE r.id = m.id AND r.lease_token = m.token
  AND ($7::timestamptz IS NULL OR least(r.stale_at, r.deadline_at) <= $7)
RETURNING r.id, r.job_name, r.scope_id, r.priority, r.status, m.message

-- name: hand_back
-- A worker that leaves: what it did not finish is nobody's fault and counts as no attempt.
UPDATE job_runs r SET status = CASE WHEN stale_reentry THEN 'pending' ELSE 'failed' END, lease_token = NULL,
    attempt = CASE WHEN stale_reentry THEN attempt - 1 ELSE attempt END, progress = NULL, started_at = NULL,
    error_code = CASE WHEN stale_reentry THEN error_code ELSE 'worker_left' END,
    finished_at = CASE WHEN stale_reentry THEN NULL ELSE clock_timestamp() END,
    errors = r.errors || jsonb_build_object('attempt', r.attempt, 'at', clock_timestamp(), 'code', 'worker_left',
        'message', 'Its worker was told to leave before it was done.', 'worker', r.worker)
FROM unnest($1::bigint[], $2::uuid[]) AS m(id, token)
WHERE r.id = m.id AND r.lease_token = m.token
RETURNING r.id

-- name: heartbeat
-- What comes back is still held. Wakes nobody.
UPDATE job_runs r SET heartbeat_at = clock_timestamp(), stale_at = clock_timestamp() + stale_timeout,
    progress = coalesce(m.progress, r.progress)
FROM unnest($1::bigint[], $2::uuid[], $3::real[]) AS m(id, token, progress)
WHERE r.id = m.id AND r.lease_token = m.token
RETURNING r.id

-- name: worker_online
-- And what waited for a worker like this one waits no longer.
WITH here AS (
    INSERT INTO job_workers (name, node_id, handlers, concurrency, last_seen_at)
    VALUES ($1, (SELECT id FROM nodes WHERE name = $2), $3, $4, clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET node_id = excluded.node_id, handlers = excluded.handlers, left_at = NULL,
        concurrency = excluded.concurrency, last_seen_at = clock_timestamp(), started_at = clock_timestamp(), running = 0
    RETURNING node_id
), woken AS (
    UPDATE job_runs r SET status = 'pending' FROM here
    WHERE r.status = 'queued' AND r.handler = ANY ($3::text[]) AND (r.node_id IS NULL OR r.node_id = here.node_id)
)
SELECT node_id FROM here

-- name: worker_seen
UPDATE job_workers SET last_seen_at = clock_timestamp(), running = $2 WHERE name = $1 AND left_at IS NULL RETURNING node_id

-- name: worker_left
UPDATE job_workers SET left_at = clock_timestamp(), running = 0 WHERE name = $1

-- name: enqueue
INSERT INTO job_runs (job_name, handler, arguments, queue, priority, run_at, status)
SELECT $1, $1, a::jsonb, $3, $4, coalesce($5, clock_timestamp()), CASE WHEN $5 > now() THEN 'scheduled' ELSE 'pending' END
FROM unnest($2::text[]) AS a
RETURNING id

-- The leader's questions.

-- name: due_jobs
SELECT * FROM cron_jobs WHERE enabled AND (next_plan_at IS NULL OR next_plan_at <= $1)

-- name: plan
-- Marking the plans and making their runs are one statement, and only from the state that was read: of two leaders
-- one does both and the other neither. A plan that would overlap is entered as cancelled, so that it can be seen.
WITH marked AS (
    UPDATE cron_jobs SET last_plan_at = coalesce($4, last_plan_at), next_plan_at = $5, error_message = NULL
    WHERE id = $1 AND enabled AND row_version = $2 AND last_plan_at IS NOT DISTINCT FROM $3
    RETURNING *
), scopes AS (
    SELECT 'plant' AS kind, '' AS id, NULL::bigint AS node_id FROM marked WHERE scope = 'plant'
    UNION ALL
    SELECT 'node', n.id::text, n.id FROM marked, nodes n WHERE scope = 'node' AND n.last_heartbeat_at IS NOT NULL
)
INSERT INTO job_runs (job_id, job_name, handler, arguments, scope_kind, scope_id, node_id, plan_time, missed, exclusive,
    queue, priority, max_attempts, time_limit, stale_timeout, stale_reentry, status, error_code, finished_at, errors)
SELECT j.id, j.name, j.handler, j.arguments, s.kind, s.id, s.node_id, p.at,
    CASE WHEN p.at = $4 THEN $7::integer ELSE 0 END, true, j.queue, j.priority, j.max_attempts, j.time_limit,
    j.stale_timeout, j.stale_reentry,
    CASE WHEN busy THEN 'cancelled' ELSE 'pending' END, CASE WHEN busy THEN 'overlap' END,
    CASE WHEN busy THEN clock_timestamp() END,
    CASE WHEN busy THEN jsonb_build_array(jsonb_build_object('attempt', 0, 'at', clock_timestamp(), 'code', 'overlap',
        'message', 'The run before it was not over yet.')) ELSE '[]' END
FROM marked j CROSS JOIN scopes s CROSS JOIN unnest($6::timestamptz[]) AS p(at)
CROSS JOIN LATERAL (SELECT j.overlap = 'skip' AND EXISTS (
    SELECT 1 FROM job_runs o WHERE o.exclusive AND o.job_name = j.name AND o.scope_kind = s.kind AND o.scope_id = s.id
      AND o.status IN ('scheduled', 'pending', 'queued', 'running', 'retryable')) AS busy) AS b
ORDER BY p.at
ON CONFLICT (job_name, scope_kind, scope_id, plan_time) WHERE plan_time IS NOT NULL DO NOTHING
RETURNING id

-- name: disable_bad
UPDATE cron_jobs SET enabled = false, error_message = $3, next_plan_at = NULL WHERE id = $1 AND row_version = $2
RETURNING id

-- name: sync
-- Additive: what is there stays as it is, whoever made it.
INSERT INTO cron_jobs (name, cron, timezone, handler, arguments, scope, queue, priority, max_attempts, time_limit,
    stale_timeout, stale_reentry, catch_up, overlap, enabled)
SELECT $1, $2, coalesce($3, p.timezone), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 FROM plant p WHERE p.id = 1
ON CONFLICT (name) DO NOTHING

-- name: known_jobs
SELECT name FROM cron_jobs

-- An UPDATE announces itself, also one that finds nothing: the questions before it keep a quiet plant quiet, and the
-- lane from waking itself for ever.

-- name: anything_to_promote
SELECT EXISTS (SELECT 1 FROM job_runs WHERE status IN ('scheduled', 'retryable') AND run_at <= $1)

-- name: anything_to_show
-- $1, $2: pairs of a handler and a node that has it.
WITH here AS (SELECT * FROM unnest($1::text[], $2::bigint[]) AS w(handler, node_id))
SELECT EXISTS (SELECT 1 FROM job_runs r WHERE r.status = 'pending' AND NOT EXISTS (
        SELECT 1 FROM here w WHERE w.handler = r.handler AND (r.node_id IS NULL OR r.node_id = w.node_id))) AS queued,
    EXISTS (SELECT 1 FROM job_runs r WHERE r.status = 'queued' AND EXISTS (
        SELECT 1 FROM here w WHERE w.handler = r.handler AND (r.node_id IS NULL OR r.node_id = w.node_id))) AS pending

-- name: anything_unknown
SELECT EXISTS (SELECT 1 FROM job_runs r WHERE r.status = 'queued' AND r.handler <> ALL ($1::text[])
                 AND r.run_at < now() - $2::interval)
    OR EXISTS (SELECT 1 FROM job_runs r WHERE r.status IN ('scheduled', 'retryable') AND r.handler <> ALL ($1::text[])
                 AND r.run_at < now() - $2::interval)

-- name: promote
UPDATE job_runs SET status = 'pending'
WHERE id = ANY (ARRAY(SELECT id FROM job_runs WHERE status IN ('scheduled', 'retryable') AND run_at <= $1
                      ORDER BY run_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING id

-- name: expired
SELECT id, job_name, scope_id, priority, attempt, max_attempts, stale_reentry, stale_at, deadline_at, lease_token, worker
FROM job_runs WHERE status = 'running' AND least(stale_at, deadline_at) <= $1
ORDER BY least(stale_at, deadline_at) LIMIT $2

-- name: next_due
SELECT least(
    (SELECT min(run_at) FROM job_runs WHERE status IN ('scheduled', 'retryable')),
    (SELECT min(least(stale_at, deadline_at)) FROM job_runs WHERE status = 'running'),
    (SELECT min(next_plan_at) FROM cron_jobs WHERE enabled))

-- name: workers
SELECT name, node_id, handlers, last_seen_at > now() - $1::interval AND left_at IS NULL AS available,
    last_seen_at > now() - $2::interval AS remembered
FROM job_workers

-- name: show_queued
-- $1, $2: pairs of a handler and a node that has it. Nobody for it: it shows as queued.
UPDATE job_runs r SET status = 'queued'
WHERE r.status = 'pending' AND NOT EXISTS (
    SELECT 1 FROM unnest($1::text[], $2::bigint[]) AS w(handler, node_id)
    WHERE w.handler = r.handler AND (r.node_id IS NULL OR r.node_id = w.node_id))

-- name: show_pending
UPDATE job_runs r SET status = 'pending'
WHERE r.status = 'queued' AND EXISTS (
    SELECT 1 FROM unnest($1::text[], $2::bigint[]) AS w(handler, node_id)
    WHERE w.handler = r.handler AND (r.node_id IS NULL OR r.node_id = w.node_id))

-- name: cancel_unknown
UPDATE job_runs r SET status = 'cancelled', finished_at = clock_timestamp(), error_code = 'unknown_handler',
    errors = r.errors || jsonb_build_object('attempt', r.attempt, 'at', clock_timestamp(), 'code', 'unknown_handler',
        'message', 'No program of this plant knows the handler ' || r.handler || ' any more.')
WHERE r.status IN ('queued', 'scheduled', 'retryable') AND r.handler <> ALL ($1::text[])
  AND r.run_at < now() - $2::interval
RETURNING r.id

-- name: purge
-- A batch at a time: a long delete would hold up the vacuum and the wire.
DELETE FROM job_runs WHERE id = ANY (ARRAY(
    SELECT id FROM job_runs WHERE status = $1 AND finished_at < $2 ORDER BY finished_at LIMIT $3 FOR UPDATE SKIP LOCKED))

-- name: purge_workers
DELETE FROM job_workers WHERE last_seen_at < now() - interval '1 day'

-- What people and /metrics ask.

-- name: waiting
-- In parts, each with an index of its own: together they would be looked for among all that are over.
SELECT queue, priority, status, count(*) AS runs FROM job_runs WHERE status = 'pending' GROUP BY queue, priority, status
UNION ALL
SELECT queue, priority, status, count(*) FROM job_runs WHERE status = 'queued' GROUP BY queue, priority, status
UNION ALL
SELECT queue, priority, status, count(*) FROM job_runs WHERE status IN ('scheduled', 'retryable')
GROUP BY queue, priority, status
UNION ALL
SELECT queue, priority, status, count(*) FROM job_runs WHERE status = 'running' GROUP BY queue, priority, status

-- name: finished_lately
SELECT status, count(*) AS runs FROM job_runs
WHERE status IN ('completed', 'failed', 'cancelled') AND finished_at > now() - interval '1 hour' GROUP BY status

-- name: page
SELECT * FROM job_runs WHERE id < coalesce($1, 9223372036854775807) AND ($2::text[] IS NULL OR status = ANY ($2))
ORDER BY id DESC LIMIT $3

-- name: jobs
SELECT * FROM cron_jobs ORDER BY name

-- name: last_runs
SELECT DISTINCT ON (job_id) * FROM job_runs WHERE job_id = ANY ($1::bigint[]) ORDER BY job_id, id DESC

-- name: open_runs
-- In parts, each by its own index, and no more of each than is shown: a queue of a million costs as much as one of ten.
(SELECT * FROM job_runs WHERE status = 'running' ORDER BY rank, id LIMIT $1)
UNION ALL
(SELECT * FROM job_runs WHERE status = 'pending' ORDER BY rank, id LIMIT $1)
UNION ALL
(SELECT * FROM job_runs WHERE status = 'queued' ORDER BY rank, id LIMIT $1)
UNION ALL
(SELECT * FROM job_runs WHERE status IN ('scheduled', 'retryable') ORDER BY run_at LIMIT $1)
LIMIT $1

-- name: history
(SELECT * FROM job_runs WHERE status = 'completed' ORDER BY finished_at DESC LIMIT $1)
UNION ALL
(SELECT * FROM job_runs WHERE status = 'failed' ORDER BY finished_at DESC LIMIT $1)
UNION ALL
(SELECT * FROM job_runs WHERE status = 'cancelled' ORDER BY finished_at DESC LIMIT $1)
ORDER BY finished_at DESC LIMIT $1

-- name: workers_here
SELECT name, running, concurrency, last_seen_at FROM job_workers
WHERE left_at IS NULL AND last_seen_at > now() - interval '15 seconds' ORDER BY name
