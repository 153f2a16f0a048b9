-- Every statement of the playout lane. All run on connections that carry the leader's epoch.

-- name: channels
SELECT * FROM playout_channels

-- name: nodes
SELECT * FROM nodes

-- name: open_placements
-- What is not known to be over: the current ones, and those still to be told or asked.
SELECT * FROM playout_placements WHERE released_at IS NULL OR settled_at IS NULL ORDER BY channel_id, generation

-- name: restarts
-- Since somebody last started it: a new start is a new try.
SELECT p.channel_id, p.placed_at FROM playout_placements p
WHERE p.reason = 'failover' AND p.placed_at > now() - interval '10 minutes'
  AND p.generation > coalesce((SELECT max(s.generation) FROM playout_placements s
                               WHERE s.channel_id = p.channel_id AND s.reason = 'start'), 0)

-- name: items
SELECT * FROM playout_items WHERE channel_id = $1 ORDER BY position

-- name: place
-- One generation more, if it is still the one that was decided on and still wanted: whoever else decided the same
-- comes too late. The placement it takes over from keeps when it was last seen, for as-run.
WITH before AS (
    SELECT * FROM playout_channels WHERE id = $1 AND generation = $2 AND wanted = 'on' FOR UPDATE
), superseded AS (
    UPDATE playout_placements p SET last_seen_at = coalesce(p.last_seen_at, b.last_heartbeat_at)
    FROM before b WHERE p.channel_id = b.id AND p.generation = b.generation
), made AS (
    INSERT INTO playout_placements (channel_id, generation, node_id, agent_url, reason)
    SELECT id, greatest(generation, coalesce((SELECT max(generation) FROM playout_placements WHERE channel_id = $1), 0)) + 1,
           $3, $4, $5 FROM before
    RETURNING *
)
UPDATE playout_channels c SET generation = m.generation, node_id = $3, sidecar_url = NULL, status = 'starting',
    placed_at = m.placed_at, last_heartbeat_at = NULL, heartbeat_ms = NULL, misses = 0, event_seq = 0,
    restart_count = c.restart_count + ($5 = 'failover')::integer, failover_asked = false, failover_to = NULL,
    error_message = $6
FROM made m WHERE c.id = m.channel_id
RETURNING c.generation

-- name: adopt
-- A channel that another system entered as running has a sidecar of its own and no placement yet.
INSERT INTO playout_placements (channel_id, generation, node_id, agent_url, sidecar_url, reason)
SELECT c.id, c.generation, c.node_id, n.base_url, c.sidecar_url, 'adopted'
FROM playout_channels c LEFT JOIN nodes n ON n.id = c.node_id
WHERE c.id = $1 AND c.generation = $2 AND c.status = 'running' AND c.sidecar_url IS NOT NULL
ON CONFLICT (channel_id, generation) DO UPDATE SET sidecar_url = excluded.sidecar_url, released_at = NULL, settled_at = NULL

-- name: running
WITH here AS (
    UPDATE playout_channels SET status = 'running', sidecar_url = $3, error_message = NULL, misses = 0
    WHERE id = $1 AND generation = $2 AND status = 'starting' RETURNING id
)
UPDATE playout_placements p SET sidecar_url = $3 FROM here h
WHERE p.channel_id = h.id AND p.generation = $2 RETURNING p.generation

-- name: lost
-- No agent's word, but ours: this generation is over.
UPDATE playout_channels SET dead_generation = generation, dead_at = $3, dead_reason = $4, error_message = $4,
    status = CASE WHEN status = 'running' THEN 'starting' ELSE status END
WHERE id = $1 AND generation = $2 AND (dead_generation IS DISTINCT FROM generation OR status = 'running')

-- name: give_up
UPDATE playout_channels SET status = 'error', error_message = $3, failover_asked = false, failover_to = NULL
WHERE id = $1 AND generation = $2 AND status <> 'error' RETURNING id

-- name: drop_failover
UPDATE playout_channels SET failover_asked = false, failover_to = NULL WHERE id = $1

-- name: stopping
UPDATE playout_channels SET status = 'stopping' WHERE id = $1 AND generation = $2 AND wanted = 'off' RETURNING generation

-- name: stopped
UPDATE playout_channels SET status = 'stopped', sidecar_url = NULL, misses = 0, failover_asked = false, failover_to = NULL,
    skip_done = skip_requested, error_message = NULL
WHERE id = $1 AND generation = $2 AND wanted = 'off'

-- name: beats
-- One statement for all that were probed; rows are locked in one order. A heartbeat alone wakes nobody.
WITH heard AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::double precision[], $5::integer[])
        AS h(id, generation, at, ms, misses)
), locked AS (
    SELECT id FROM playout_channels WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE
)
UPDATE playout_channels c SET last_heartbeat_at = coalesce(h.at, c.last_heartbeat_at),
    heartbeat_ms = coalesce(h.ms, c.heartbeat_ms), misses = h.misses
FROM heard h JOIN locked l ON l.id = h.id
WHERE c.id = h.id AND c.generation = h.generation RETURNING c.id

-- name: skip_taken
-- Before it is sent: a skip whose answer is lost must not be sent again.
UPDATE playout_channels SET skip_done = least(skip_requested, skip_done + 1)
WHERE id = $1 AND skip_done < skip_requested RETURNING skip_done

-- name: released
UPDATE playout_placements SET released_at = clock_timestamp() WHERE channel_id = $1 AND generation = $2

-- name: settled
UPDATE playout_placements SET settled_at = clock_timestamp() WHERE channel_id = $1 AND generation = $2

-- name: last_item
-- The last row of an item in this channel's log, open or not, for where to go on.
SELECT * FROM playout_as_run WHERE channel_id = $1 AND item_id IS NOT NULL ORDER BY started_at DESC, id DESC LIMIT 1

-- name: channel
SELECT * FROM playout_channels WHERE id = $1

-- name: placement
SELECT * FROM playout_placements WHERE channel_id = $1 AND generation = $2

-- name: placement_before
-- Where it was on air last: a placement that never got on air says nothing of where to go on.
SELECT * FROM playout_placements WHERE channel_id = $1 AND generation < $2 AND (event_seq > 0 OR mark IS NOT NULL)
ORDER BY generation DESC LIMIT 1

-- as-run: read, decide, write, in one transaction that holds the placement's row.

-- name: log_state
SELECT p.event_seq, p.item_offset, p.mark, p.reason, p.settled_at, p.node_id,
    CASE WHEN p.generation = c.generation THEN coalesce(c.last_heartbeat_at, p.last_seen_at) ELSE p.last_seen_at END AS last_seen,
    EXISTS (SELECT 1 FROM playout_placements o WHERE o.channel_id = p.channel_id AND o.generation < p.generation
            AND o.settled_at IS NULL) AS unsettled_before,
    (SELECT max(a.ended_at) FROM playout_as_run a WHERE a.channel_id = p.channel_id AND a.ended_at IS NOT NULL) AS tail
FROM playout_placements p JOIN playout_channels c ON c.id = p.channel_id
WHERE p.channel_id = $1 AND p.generation = $2 FOR UPDATE OF p

-- name: open_row
SELECT * FROM playout_as_run WHERE channel_id = $1 AND ended_at IS NULL

-- name: close_row
UPDATE playout_as_run SET ended_at = $2, result = $3 WHERE channel_id = $1 AND ended_at IS NULL

-- name: add_rows
-- In this order, each linked to the one before it. An event that is in the log already is left alone.
INSERT INTO playout_as_run (channel_id, generation, node_id, item_id, asset_id, clip_name, started_at, ended_at, result, event_seq)
SELECT $1, $2, $3, r.item_id, r.asset_id, r.clip, r.started_at, r.ended_at, r.result, r.event_seq
FROM unnest($4::bigint[], $5::bigint[], $6::text[], $7::timestamptz[], $8::timestamptz[], $9::text[], $10::bigint[])
    WITH ORDINALITY AS r(item_id, asset_id, clip, started_at, ended_at, result, event_seq, n)
ORDER BY r.n
ON CONFLICT (channel_id, generation, event_seq) WHERE event_seq IS NOT NULL DO NOTHING

-- name: log_moved
WITH moved AS (
    UPDATE playout_placements SET event_seq = $3, item_offset = $4, mark = $5 WHERE channel_id = $1 AND generation = $2
)
UPDATE playout_channels SET event_seq = $3 WHERE id = $1 AND generation = $2
