-- name: set
SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS wanted (name, value)

-- name: clean
SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *;

-- name: server_process
SELECT pg_backend_pid()

-- name: begin
BEGIN

-- name: role
-- The highest Airlock role of this login. The owner of the tables, and a superuser, may configure.
SELECT CASE
    WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
      OR pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = to_regclass('leadership')), 'MEMBER')
      OR (to_regrole('airlock_engineer') IS NOT NULL AND pg_has_role(current_user, to_regrole('airlock_engineer'), 'MEMBER'))
        THEN 'engineer'
    WHEN to_regrole('airlock_operator') IS NOT NULL AND pg_has_role(current_user, to_regrole('airlock_operator'), 'MEMBER')
        THEN 'operator'
    ELSE 'viewer'
END

-- name: login
SELECT current_user::text

-- name: roles_exist
SELECT to_regrole('airlock_viewer') IS NOT NULL
   AND to_regrole('airlock_operator') IS NOT NULL
   AND to_regrole('airlock_engineer') IS NOT NULL
