-- What the checker of the jobs campaign reads; it shares no code with the core.

CREATE TABLE traces (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id bigint NOT NULL,
    token  uuid NOT NULL,
    worker text NOT NULL,
    step   integer NOT NULL
);
CREATE TABLE endings (run_id bigint NOT NULL, status text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE FUNCTION note_ending() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO endings VALUES (NEW.id, NEW.status);
    RETURN NULL;
END $$;
CREATE TRIGGER note_ending AFTER UPDATE ON job_runs FOR EACH ROW
    WHEN (NEW.status IN ('completed', 'failed', 'cancelled') AND NEW.status IS DISTINCT FROM OLD.status)
    EXECUTE FUNCTION note_ending();
