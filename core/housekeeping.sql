-- name: stations
SELECT * FROM stations WHERE status <> 'left'

-- name: mark_silent
-- A workstation that has not been seen for a day was switched off: it leaves the list by itself.
UPDATE stations SET status = CASE WHEN last_seen_at < now() - interval '1 day' THEN 'left' ELSE 'silent' END
WHERE status = 'online' AND last_seen_at < now() - make_interval(secs => $1)
   OR status = 'silent' AND last_seen_at < now() - interval '1 day'

-- name: nodes
SELECT * FROM nodes

-- name: mark_nodes_offline
WITH silent AS (
    UPDATE nodes SET status = 'offline'
    WHERE status = 'online' AND last_heartbeat_at < now() - make_interval(secs => $1)
    RETURNING id
)
UPDATE recorders r SET status = 'offline' FROM silent WHERE r.node_id = silent.id AND r.status IN ('idle', 'error')

-- name: purge_tombstones
DELETE FROM deleted_rows WHERE deleted_at < now() - make_interval(hours => $1)
