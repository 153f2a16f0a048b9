-- name: audit
INSERT INTO audit_log (who, station, action, subject_kind, subject_id, subject_name, before, after, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
