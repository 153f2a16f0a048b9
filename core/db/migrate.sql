-- name: has_plant
SELECT to_regclass('schema_migrations') IS NOT NULL

-- name: version
SELECT coalesce(max(version), 0) FROM schema_migrations

-- name: patience
SET lock_timeout = '120s'; SET statement_timeout = '600s'; SET idle_in_transaction_session_timeout = 0;

-- name: fix_path
-- Functions that act with the owner's rights keep this path. Temporary tables come last in it, or a
-- login could put one of its own in the place of a table of the plant.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)

-- name: lock
-- Session-level, so that it spans the transactions of all migrations.
SELECT pg_advisory_lock(8210303)

-- name: unlock
SELECT pg_advisory_unlock(8210303)

-- name: make_ledger
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)

-- name: record
INSERT INTO schema_migrations (version, name) VALUES ($1, $2)

-- name: roles_wait
-- The three roles exist, or this login may make them, and the plant is its own to give rights on; but
-- they have none yet.
SELECT pg_has_role(current_user, c.relowner, 'MEMBER')
   AND coalesce(NOT has_table_privilege(to_regrole('airlock_viewer'), c.oid, 'SELECT'), true)
   AND (SELECT count(*) = 3 OR bool_or(me.rolsuper OR me.rolcreaterole) FROM pg_roles me
        LEFT JOIN pg_roles r ON r.rolname IN ('airlock_viewer', 'airlock_operator', 'airlock_engineer')
        WHERE me.rolname = current_user)
FROM pg_class c WHERE c.oid = to_regclass('plant')
