-- name: anchors
-- Every so many rows one key, so that a reader can begin a page anywhere by key. The same filter as a page has.
SELECT started_at, id FROM (
    SELECT started_at, id, row_number() OVER (ORDER BY started_at DESC, id DESC) AS number FROM playout_as_run
    WHERE ($1::bigint[] = '{}' OR channel_id = ANY ($1)) AND ($2::text[] = '{}' OR result = ANY ($2))
      AND ($3 = '' OR clip_name ILIKE $3) AND started_at >= coalesce($4, '-infinity'::timestamptz)
      AND started_at < coalesce($5, 'infinity'::timestamptz)
      AND (started_at, id) < ($6::timestamptz, $7::bigint)) rows
WHERE number % $8::bigint = 0 ORDER BY number
