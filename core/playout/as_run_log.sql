-- An instant that is not given is the end of time rather than a condition of its own: so it bounds an index also in a
-- plan that is made once for all arguments.

-- name: page
-- Newest first, by key and not by offset: page one thousand costs what page one does.
SELECT * FROM playout_as_run
WHERE ($2::text[] = '{}' OR result = ANY ($2)) AND ($3 = '' OR clip_name ILIKE $3) AND $1::bigint[] = '{}'
  AND started_at >= coalesce($4, '-infinity'::timestamptz) AND started_at < coalesce($5, 'infinity'::timestamptz)
  AND (started_at, id) < (coalesce($6, 'infinity'::timestamptz), coalesce($7::bigint, 9223372036854775807))
ORDER BY started_at DESC, id DESC LIMIT $8

-- name: page_of_channels
-- The same of some channels: of each as many as there can be on the page, so that a channel which has been off air
-- for a year does not have to be looked for among all others' rows. How many stands here as a number: what a plan made
-- once for all arguments does not know, it takes for a tenth of the log.
SELECT r.* FROM (SELECT DISTINCT unnest($1::bigint[]) AS id) c CROSS JOIN LATERAL (
    SELECT * FROM playout_as_run
    WHERE channel_id = c.id AND ($2::text[] = '{}' OR result = ANY ($2)) AND ($3 = '' OR clip_name ILIKE $3)
      AND started_at >= coalesce($4, '-infinity'::timestamptz) AND started_at < coalesce($5, 'infinity'::timestamptz)
      AND (started_at, id) < (coalesce($6, 'infinity'::timestamptz), coalesce($7::bigint, 9223372036854775807))
    ORDER BY started_at DESC, id DESC LIMIT 500) r
ORDER BY r.started_at DESC, r.id DESC LIMIT $8

-- name: count
SELECT count(*) FROM playout_as_run
WHERE ($1::bigint[] = '{}' OR channel_id = ANY ($1)) AND ($2::text[] = '{}' OR result = ANY ($2))
  AND ($3 = '' OR clip_name ILIKE $3) AND started_at >= coalesce($4, '-infinity'::timestamptz)
  AND started_at < coalesce($5, 'infinity'::timestamptz)

-- name: verify
SELECT finding FROM airlock_as_run_verify($1)

-- name: channels
SELECT id, name FROM playout_channels

-- name: ordered
-- In the order of airing, for an export.
SELECT * FROM playout_as_run
WHERE ($1::bigint[] = '{}' OR channel_id = ANY ($1)) AND ($2::text[] = '{}' OR result = ANY ($2))
  AND ($3 = '' OR clip_name ILIKE $3) AND started_at >= coalesce($4, '-infinity'::timestamptz)
  AND started_at < coalesce($5, 'infinity'::timestamptz)
ORDER BY started_at, id
