-- Playout channels, their playlists, and the as-run log with its chain of evidence.

-- What an operator, or any system that writes SQL, wants of a channel is in columns of its own; what the
-- leader made of it is in `status`. To run a channel:  UPDATE playout_channels SET wanted = 'on' WHERE …
--   wanted           'on' or 'off'. Writing status 'starting' or 'stopping' means the same (see airlock_channel_intent).
--   skip_requested   raised by one for each skip; skip_done follows, before the skip is sent: never twice.
--   failover_asked   true: to the best other node. Naming a node in failover_to is enough by itself.
-- The leader takes failover_asked back when it has placed the channel anew.
-- dead_generation, dead_at, dead_reason are the word of a node's agent: its sidecar of that generation ended unasked.
CREATE TABLE playout_channels (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name              text NOT NULL UNIQUE CHECK (name <> ''),
    title             text NOT NULL DEFAULT '',
    output_type       text NOT NULL CHECK (output_type IN ('srt', 'udp', 'rtmp', 'hls', 'file', 'decklink')),
    output_url        text NOT NULL,
    settings          jsonb NOT NULL DEFAULT '{}',  -- raster, frame rate, bit rate: the sidecar's to read
    node_id           bigint REFERENCES nodes ON DELETE RESTRICT,
    sidecar_url       text,
    wanted            text NOT NULL DEFAULT 'off' CHECK (wanted IN ('on', 'off')),
    status            text NOT NULL DEFAULT 'stopped'
                      CHECK (status IN ('stopped', 'starting', 'running', 'stopping', 'error')),
    generation        bigint NOT NULL DEFAULT 0,
    placed_at         timestamptz,
    last_heartbeat_at timestamptz,
    heartbeat_ms      double precision,
    misses            integer NOT NULL DEFAULT 0,
    restart_count     integer NOT NULL DEFAULT 0,
    event_seq         bigint NOT NULL DEFAULT 0,
    looping           boolean NOT NULL DEFAULT true,
    playlist_version  bigint NOT NULL DEFAULT 0,
    skip_requested    bigint NOT NULL DEFAULT 0,
    skip_done         bigint NOT NULL DEFAULT 0,
    failover_asked    boolean NOT NULL DEFAULT false,
    failover_to       bigint REFERENCES nodes ON DELETE SET NULL,
    dead_generation   bigint,
    dead_at           timestamptz,
    dead_reason       text,
    error_message     text,
    position          integer NOT NULL DEFAULT 0,
    demo              boolean NOT NULL DEFAULT false,
    resting           boolean NOT NULL DEFAULT false,  -- of the demonstration: goes on air with the next window
    created_at        timestamptz NOT NULL DEFAULT now()
);
CALL airlock_track('playout_channels', 'last_heartbeat_at,heartbeat_ms,event_seq',
    'node_id,sidecar_url,wanted,status,generation,placed_at,misses,restart_count,error_message,playlist_version,'
    'skip_requested,skip_done,failover_asked,failover_to,dead_generation,dead_at,dead_reason',
    $$NEW.status = 'running'$$);

-- Other systems know the columns of the contract: a status written by anybody but the leader is a wish.
-- Wanting a channel that gave up is a new try, so it leaves `error`.
CREATE FUNCTION airlock_channel_intent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('airlock.epoch', true), '') <> '' THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.status IN ('starting', 'running') THEN
            NEW.wanted := 'on';
        END IF;
    ELSIF NEW.status <> OLD.status AND NEW.wanted = OLD.wanted THEN
        IF NEW.status IN ('starting', 'running') THEN
            NEW.wanted := 'on';
            IF OLD.status = 'error' THEN
                NEW.status := 'stopped';
            END IF;
        ELSIF NEW.status IN ('stopping', 'stopped') THEN
            NEW.wanted := 'off';
        END IF;
    ELSIF NEW.wanted = 'on' AND OLD.wanted = 'off' AND NEW.status = 'error' THEN
        NEW.status := 'stopped';
    END IF;
    IF NEW.failover_to IS NOT NULL THEN
        NEW.failover_asked := true;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.looping <> OLD.looping THEN
        NEW.playlist_version := OLD.playlist_version + 1;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER intent BEFORE INSERT OR UPDATE ON playout_channels
    FOR EACH ROW EXECUTE FUNCTION airlock_channel_intent();

-- Where a channel was put, each time. A placement that is not the current one is told to go off air until its node
-- confirms (released_at); its last events are read before those of the next one (settled_at), so that as-run is in
-- order. event_seq is the last event of its sidecar that is in as-run; it moves together with the rows.
CREATE TABLE playout_placements (
    channel_id   bigint NOT NULL REFERENCES playout_channels ON DELETE CASCADE,
    generation   bigint NOT NULL,
    node_id      bigint REFERENCES nodes ON DELETE SET NULL,
    agent_url    text,
    sidecar_url  text,
    reason       text NOT NULL CHECK (reason IN ('start', 'failover', 'asked', 'adopted')),
    placed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_seen_at timestamptz,  -- the last probe that was answered, when it was superseded
    event_seq    bigint NOT NULL DEFAULT 0,
    item_offset  double precision NOT NULL DEFAULT 0,  -- where in its clip the item on air began
    mark         text,         -- what a sidecar without events was seen playing last
    settled_at   timestamptz,
    released_at  timestamptz,
    PRIMARY KEY (channel_id, generation)
);
CREATE INDEX placements_open ON playout_placements (channel_id, generation)
    WHERE released_at IS NULL OR settled_at IS NULL;
CREATE INDEX placements_failovers ON playout_placements (placed_at) WHERE reason = 'failover';

CREATE TABLE playout_items (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_id bigint NOT NULL REFERENCES playout_channels ON DELETE CASCADE,
    position   integer NOT NULL,
    asset_id   bigint REFERENCES assets ON DELETE SET NULL,
    clip_name  text NOT NULL CHECK (clip_name <> ''),
    path       text NOT NULL,
    in_s       double precision NOT NULL DEFAULT 0 CHECK (in_s >= 0),
    duration_s double precision CHECK (duration_s > 0),
    demo       boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT playlist_position UNIQUE (channel_id, position) DEFERRABLE INITIALLY DEFERRED
);
CALL airlock_track('playout_items');

-- A playlist has a number that every change of it raises, whoever makes it: the leader brings a running sidecar up to
-- it. Acts as the owner: who may write items need not have rights on channels.
CREATE FUNCTION airlock_playlist_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    touched bigint[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT channel_id) INTO touched FROM came;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(DISTINCT channel_id) INTO touched FROM went;
    ELSE
        SELECT array_agg(DISTINCT c) INTO touched FROM came n JOIN went o ON o.id = n.id AND o.row_version <> n.row_version,
            unnest(ARRAY[n.channel_id, o.channel_id]) c;
    END IF;
    -- In one order, so that two who edit the same playlists wait for each other instead of blocking each other.
    UPDATE playout_channels SET playlist_version = playlist_version + 1
    WHERE id = ANY (ARRAY(SELECT id FROM playout_channels WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE));
    RETURN NULL;
END $$;
CREATE TRIGGER playlist_insert AFTER INSERT ON playout_items REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_playlist_changed();
CREATE TRIGGER playlist_update AFTER UPDATE ON playout_items REFERENCING NEW TABLE AS came OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_playlist_changed();
CREATE TRIGGER playlist_delete AFTER DELETE ON playout_items REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_playlist_changed();

CREATE TABLE playout_as_run (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel_id bigint NOT NULL REFERENCES playout_channels ON DELETE RESTRICT,
    asset_id   bigint,
    item_id    bigint,
    clip_name  text,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    duration_s double precision,
    result     text NOT NULL DEFAULT 'played'
               CHECK (result IN ('played', 'interrupted', 'skipped', 'failed', 'unknown')),
    node_id    bigint,
    generation bigint,
    event_seq  bigint,
    chain_no   bigint,
    row_hash   text,
    CONSTRAINT as_run_not_negative CHECK (ended_at >= started_at),
    CONSTRAINT as_run_closed_whole CHECK (
        (ended_at IS NULL) = (duration_s IS NULL) AND (ended_at IS NULL) = (row_hash IS NULL)),
    CONSTRAINT as_run_no_overlap EXCLUDE USING gist (
        int8range(channel_id, channel_id, '[]') WITH &&, tstzrange(started_at, ended_at) WITH &&)
);
CREATE UNIQUE INDEX as_run_one_open ON playout_as_run (channel_id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX as_run_chain ON playout_as_run (channel_id, chain_no) WHERE chain_no IS NOT NULL;
CREATE INDEX as_run_page ON playout_as_run (started_at DESC, id DESC);
CREATE INDEX as_run_channel_page ON playout_as_run (channel_id, started_at DESC, id DESC);
CREATE INDEX as_run_tail ON playout_as_run (channel_id, ended_at DESC) WHERE ended_at IS NOT NULL;
CREATE UNIQUE INDEX as_run_event_once ON playout_as_run (channel_id, generation, event_seq)
    WHERE event_seq IS NOT NULL;

-- The end of each channel's chain, kept apart and out of the roles' reach, so that cutting off
-- the newest rows shows as well.
CREATE TABLE playout_as_run_heads (
    channel_id bigint PRIMARY KEY REFERENCES playout_channels ON DELETE RESTRICT,
    chain_no   bigint NOT NULL,
    row_hash   text NOT NULL
);

-- What a closed row's hash covers, in one fixed spelling. Verify uses the same function.
CREATE FUNCTION airlock_as_run_hash(r playout_as_run, previous text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(concat_ws(E'\x1f',
        previous, r.id, r.channel_id, r.chain_no,
        coalesce(r.asset_id::text, '-'), coalesce(r.item_id::text, '-'), coalesce('=' || r.clip_name, '-'),
        round(extract(epoch FROM r.started_at) * 1000000), round(extract(epoch FROM r.ended_at) * 1000000),
        r.result, coalesce(r.node_id::text, '-'), coalesce(r.generation::text, '-'),
        coalesce(r.event_seq::text, '-')), 'UTF8')), 'hex')
$$;

-- Links a row that closes to the end of its chain. The end itself moves only after the row is stored:
-- an INSERT that ends in ON CONFLICT DO NOTHING comes through here too, and must leave no gap.
CREATE FUNCTION airlock_as_run_row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    head playout_as_run_heads;
    newer playout_as_run;
BEGIN
    IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND OLD.ended_at IS NOT NULL) THEN
        RAISE EXCEPTION 'a closed as-run row is evidence and cannot be changed or deleted' USING ERRCODE = 'AL003';
    END IF;
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.channel_id, NEW.started_at) IS DISTINCT FROM
                            (OLD.id, OLD.channel_id, OLD.started_at) THEN
        RAISE EXCEPTION 'an open as-run row can only be closed' USING ERRCODE = 'AL003';
    END IF;
    NEW.chain_no := NULL;
    NEW.row_hash := NULL;
    NEW.duration_s := NULL;
    IF NEW.ended_at IS NOT NULL THEN
        NEW.duration_s := extract(epoch FROM NEW.ended_at - NEW.started_at);
        INSERT INTO playout_as_run_heads VALUES (NEW.channel_id, 0, '') ON CONFLICT DO NOTHING;
        SELECT * INTO head FROM playout_as_run_heads WHERE channel_id = NEW.channel_id FOR UPDATE;
        -- Beyond the recorded end there can only be rows that this same statement has just stored.
        SELECT * INTO newer FROM playout_as_run p WHERE p.channel_id = NEW.channel_id AND p.chain_no > head.chain_no
            ORDER BY p.chain_no DESC LIMIT 1;
        NEW.chain_no := coalesce(newer.chain_no, head.chain_no) + 1;
        NEW.row_hash := airlock_as_run_hash(NEW, coalesce(newer.row_hash, head.row_hash));
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION airlock_as_run_stored() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT AS $$
BEGIN
    IF NEW.ended_at IS NOT NULL THEN
        UPDATE playout_as_run_heads SET chain_no = NEW.chain_no, row_hash = NEW.row_hash
            WHERE channel_id = NEW.channel_id AND chain_no = NEW.chain_no - 1;
    END IF;
    PERFORM pg_notify('airlock', 'playout_as_run');
    RETURN NULL;
END $$;
CREATE TRIGGER evidence BEFORE INSERT OR UPDATE OR DELETE ON playout_as_run
    FOR EACH ROW EXECUTE FUNCTION airlock_as_run_row();
CREATE TRIGGER stored AFTER INSERT OR UPDATE ON playout_as_run
    FOR EACH ROW EXECUTE FUNCTION airlock_as_run_stored();
CREATE TRIGGER evidence_all BEFORE TRUNCATE ON playout_as_run
    FOR EACH STATEMENT EXECUTE FUNCTION airlock_append_only();

-- The first break in a channel's chain, or nothing when it is whole.
CREATE FUNCTION airlock_as_run_verify(p_channel bigint)
RETURNS TABLE (broken_at bigint, row_id bigint, finding text) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT AS $$
DECLARE
    r playout_as_run;
    expected bigint := 1;
    previous text := '';
    head playout_as_run_heads;
BEGIN
    FOR r IN SELECT * FROM playout_as_run p WHERE p.channel_id = p_channel
                 AND (p.chain_no IS NOT NULL OR p.ended_at IS NOT NULL)
             ORDER BY p.chain_no NULLS LAST LOOP
        IF r.chain_no IS NULL THEN
            RETURN QUERY SELECT expected, r.id, format('row %s was added outside the chain', r.id);
            RETURN;
        END IF;
        IF r.chain_no <> expected THEN
            RETURN QUERY SELECT expected, NULL::bigint, format('row %s of the chain is missing', expected);
            RETURN;
        END IF;
        IF r.row_hash IS DISTINCT FROM airlock_as_run_hash(r, previous)
           OR r.duration_s IS DISTINCT FROM extract(epoch FROM r.ended_at - r.started_at)::double precision THEN
            RETURN QUERY SELECT r.chain_no, r.id, format('row %s was changed after it was closed', r.id);
            RETURN;
        END IF;
        previous := r.row_hash;
        expected := expected + 1;
    END LOOP;
    SELECT * INTO head FROM playout_as_run_heads h WHERE h.channel_id = p_channel;
    IF coalesce(head.chain_no, 0) > expected - 1 THEN
        RETURN QUERY SELECT expected, NULL::bigint,
            format('%s row(s) at the end of the chain are missing', head.chain_no - expected + 1);
    ELSIF coalesce(head.chain_no, 0) < expected - 1 OR coalesce(head.row_hash, '') <> previous THEN
        RETURN QUERY SELECT expected - 1, r.id, 'the end of the chain is not the one that was recorded apart';
    END IF;
END $$;

REVOKE EXECUTE ON FUNCTION airlock_as_run_row(), airlock_as_run_stored(), airlock_playlist_changed() FROM PUBLIC;

CALL airlock_guard('playout_channels');
CALL airlock_guard('playout_placements');
CALL airlock_guard('playout_items');
CALL airlock_guard('playout_as_run');
