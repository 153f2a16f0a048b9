-- name: channel
SELECT * FROM playout_channels WHERE id = $1 FOR NO KEY UPDATE

-- name: want
-- Asking again for a channel that gave up is a new try; the leader then places it.
UPDATE playout_channels SET wanted = $2,
    status = CASE WHEN $2 = 'on' AND wanted = 'on' AND status = 'error' THEN 'starting' ELSE status END,
    error_message = CASE WHEN $2 = 'on' THEN NULL ELSE error_message END
WHERE id = $1 RETURNING *

-- name: skip
UPDATE playout_channels SET skip_requested = skip_requested + 1 WHERE id = $1 RETURNING *

-- name: fail_over
UPDATE playout_channels SET failover_asked = true, failover_to = $2 WHERE id = $1 RETURNING *

-- name: set_looping
UPDATE playout_channels SET looping = $2 WHERE id = $1 RETURNING *

-- name: node
SELECT * FROM nodes WHERE id = $1

-- name: create
INSERT INTO playout_channels (name, title, output_type, output_url, settings, node_id, looping, position)
VALUES ($1, $2, $3, $4, $5, $6, $7, (SELECT coalesce(max(position), 0) + 1 FROM playout_channels)) RETURNING *

-- name: edit
UPDATE playout_channels SET name = $2, title = $3, output_type = $4, output_url = $5, settings = $6, node_id = $7
WHERE id = $1 RETURNING *

-- name: delete
DELETE FROM playout_channels WHERE id = $1

-- name: has_log
SELECT EXISTS (SELECT 1 FROM playout_as_run WHERE channel_id = $1)

-- name: items
SELECT * FROM playout_items WHERE channel_id = $1 ORDER BY position

-- name: add_item
INSERT INTO playout_items (channel_id, position, asset_id, clip_name, path, in_s, duration_s)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id

-- name: remove_items
DELETE FROM playout_items WHERE channel_id = $1 AND id = ANY ($2::bigint[])

-- name: order_items
-- Positions are checked at the end of the transaction, so that two can change places.
UPDATE playout_items i SET position = o.position
FROM unnest($2::bigint[]) WITH ORDINALITY AS o(id, position)
WHERE i.channel_id = $1 AND i.id = o.id AND i.position IS DISTINCT FROM o.position

-- name: asset
SELECT id FROM assets WHERE id = $1
