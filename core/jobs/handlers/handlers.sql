-- What handlers ask and write. Each write names the run and its token: one that was taken away changes nothing.

-- name: asset
SELECT id, display_name, path, status, duration_s FROM assets WHERE id = $1

-- name: keep_meta
WITH mine AS (SELECT 1 FROM job_runs WHERE id = $1 AND lease_token = $2 FOR SHARE)
UPDATE assets SET meta = meta || $4 WHERE id = $3 AND EXISTS (SELECT 1 FROM mine) RETURNING id

-- name: plant
SELECT timezone, uuid FROM plant WHERE id = 1

-- name: channels
SELECT id, name FROM playout_channels ORDER BY id

-- name: take_to_sync
-- An attempt counts from here, so that a worker that dies while it sends has used one up.
WITH mine AS (SELECT 1 FROM job_runs WHERE id = $1 AND lease_token = $2 FOR SHARE)
UPDATE assets SET sync_attempts = sync_attempts + 1,
    sync_next_attempt_at = clock_timestamp() + least($5::interval * power(2, sync_attempts), $6::interval)
WHERE id = ANY (ARRAY(
    SELECT id FROM assets WHERE sync_status IN ('pending', 'failed') AND sync_attempts < $4 AND status = 'ready'
      AND (sync_next_attempt_at IS NULL OR sync_next_attempt_at <= now())
    ORDER BY sync_next_attempt_at NULLS FIRST, id LIMIT $3 FOR UPDATE SKIP LOCKED))
  AND EXISTS (SELECT 1 FROM mine)
RETURNING id, display_name, path, size_bytes, duration_s, container, recorder_id, schedule_id, meta, created_at,
    sync_attempts

-- name: synced
UPDATE assets SET sync_status = 'synced', sync_next_attempt_at = NULL WHERE id = $1

-- name: sync_failed
UPDATE assets SET sync_status = 'failed', meta = meta || jsonb_build_object('sync_error', $2::text) WHERE id = $1

-- name: old_assets
-- Never what grows, what is still to be pushed, or what a playlist wants.
SELECT a.id FROM assets a JOIN nodes n ON n.id = a.node_id
WHERE n.name = $1 AND a.created_at < now() - make_interval(days => $2) AND a.status <> 'live'
  AND a.sync_status IN ('none', 'synced') AND NOT EXISTS (SELECT 1 FROM playout_items i WHERE i.asset_id = a.id)
ORDER BY a.id LIMIT $3

-- name: drop_asset
-- Asked again at the moment it happens.
WITH mine AS (SELECT 1 FROM job_runs WHERE id = $1 AND lease_token = $2 FOR SHARE)
DELETE FROM assets a WHERE a.id = $3 AND a.status <> 'live' AND a.sync_status IN ('none', 'synced')
  AND NOT EXISTS (SELECT 1 FROM playout_items i WHERE i.asset_id = a.id) AND EXISTS (SELECT 1 FROM mine)
RETURNING a.path
