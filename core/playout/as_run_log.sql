-- name: page
-- Newest first, by key and not by offset: page one thousand costs what page one does.
SELECT * FROM playout_as_run
WHERE ($1::bigint[] = '{}' OR channel_id = ANY ($1)) AND ($2::text[] = '{}' OR result = ANY ($2))
  AND ($3 = '' OR clip_name ILIKE $3) AND ($4::timestamptz IS NULL OR started_at >= $4)
  AND ($5::timestamptz IS NULL OR started_at < $5)
  AND ($6::timestamptz IS NULL OR (started_at, id) < ($6, $7::bigint))
ORDER BY started_at DESC, id DESC LIMIT $8

-- name: count
SELECT count(*) FROM playout_as_run
WHERE ($1::bigint[] = '{}' OR channel_id = ANY ($1)) AND ($2::text[] = '{}' OR result = ANY ($2))
  AND ($3 = '' OR clip_name ILIKE $3) AND ($4::timestamptz IS NULL OR started_at >= $4)
  AND ($5::timestamptz IS NULL OR started_at < $5)

-- name: verify
SELECT finding FROM airlock_as_run_verify($1)

-- name: channels
SELECT id, name FROM playout_channels

-- name: ordered
-- In the order of airing, for an export.
SELECT * FROM playout_as_run
WHERE ($1::bigint[] = '{}' OR channel_id = ANY ($1)) AND ($2::text[] = '{}' OR result = ANY ($2))
  AND ($3 = '' OR clip_name ILIKE $3) AND ($4::timestamptz IS NULL OR started_at >= $4)
  AND ($5::timestamptz IS NULL OR started_at < $5)
ORDER BY started_at, id
