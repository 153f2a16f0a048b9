-- name: page
-- By key and not by offset: the thousandth page costs what the first does, and rows that arrive
-- meanwhile shift nothing.
SELECT * FROM audit_log
WHERE ($1::bigint IS NULL OR id < $1)
  AND ($3::text IS NULL OR who ILIKE $3 OR station ILIKE $3 OR replace(action, '_', ' ') ILIKE $3
       OR subject_name ILIKE $3 OR subject_kind ILIKE $3 OR reason ILIKE $3)
ORDER BY id DESC
LIMIT $2

-- name: since
SELECT * FROM audit_log
WHERE id > $1
  AND ($3::text IS NULL OR who ILIKE $3 OR station ILIKE $3 OR replace(action, '_', ' ') ILIKE $3
       OR subject_name ILIKE $3 OR subject_kind ILIKE $3 OR reason ILIKE $3)
ORDER BY id DESC
LIMIT $2

-- name: of_subject
SELECT * FROM audit_log WHERE subject_kind = $1 AND subject_id = $2 ORDER BY id DESC LIMIT $3
