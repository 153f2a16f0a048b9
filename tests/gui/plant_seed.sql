-- A plant in the middle of an evening, around now: enough of everything to fill the window.
UPDATE plant SET name = 'North Plant · MCR 1', timezone = 'Europe/Berlin', frame_rate = 25;

-- Heartbeats of tomorrow: nobody sends any here, and the nodes shall not be missed.
INSERT INTO nodes (name, base_url, status, capabilities, last_heartbeat_at)
SELECT 'play-0' || n, 'http://127.0.0.1:' || (7400 + n), 'online', '{srt,udp,record}', now() + interval '1 day' FROM generate_series(1, 5) n;

INSERT INTO recorders (name, node_id, external_id, source, status, position)
SELECT 'REC-' || n, 1, 'rec' || n, 'SDI ' || n, CASE WHEN n IN (1, 3, 4) THEN 'recording' ELSE 'idle' END, n
FROM generate_series(1, 8) n;

INSERT INTO recorder_schedules (name, recorder_id, start_at, end_at, status, started_at)
VALUES ('Council Session', 1, now() - interval '100 min', now() + interval '50 min', 'running', now() - interval '100 min'),
       ('Match Feed A', 3, now() - interval '36 min', now() + interval '100 min', 'running', now() - interval '36 min'),
       ('Match Feed B', 4, now() - interval '36 min', now() + interval '100 min', 'running', now() - interval '36 min'),
       ('Evening News clean feed', 2, now() + interval '4 min 12 s', now() + interval '54 min', 'pending', NULL),
       ('Press Briefing', 7, now() + interval '20 min', now() + interval '65 min', 'pending', NULL),
       ('Arts Review', 7, now() + interval '80 min', now() + interval '125 min', 'pending', NULL),
       ('Regional contribution', 5, now() + interval '35 min', now() + interval '85 min', 'pending', NULL);

INSERT INTO playout_channels (name, title, output_type, output_url, node_id, status, position, last_heartbeat_at)
SELECT 'CH-' || n, (ARRAY['Main', 'Regional', 'Sport', 'Events'])[n], 'srt', 'srt://127.0.0.1:' || (9000 + n), n,
       'running', n, now()
FROM generate_series(1, 4) n;

INSERT INTO alarms (key, cause_key, priority, source_kind, source_name, message, effect, action, raised_at, last_raised_at, count)
VALUES
    ('node:play-02', NULL, 'high', 'node', 'play-02', 'Heartbeat lost on play-02, failed over to play-05',
     'CH-2 plays from play-05. It has no second backup for this output.',
     'Look at play-02: is it powered, is its network up? When it is back, fail CH-2 back in a break.',
     now() - interval '29 s', now() - interval '29 s', 1),
    ('channel:2:backup', 'node:play-02', 'medium', 'channel', 'CH-2', 'No second backup left for this output',
     'A further fault takes CH-2 off air.', 'Bring a node with an SRT output back.', now() - interval '28 s', now() - interval '28 s', 1),
    ('recorder:5:input', NULL, 'critical', 'recorder', 'REC-5', 'Input lost, window starts in 35 minutes',
     'Regional contribution cannot be recorded while the source sends nothing.',
     'Call the sending side. If the source cannot be had, move the window to another recorder.',
     now() - interval '74 s', now() - interval '4 s', 3);

INSERT INTO alarms (key, priority, source_kind, source_name, message, effect, action, raised_at, acked_at, acked_by)
VALUES
    ('disk:VOL-B', 'medium', 'volume', 'VOL-B', '91 % full, 5 h of recording left', 'Recordings on VOL-B end early after that.',
     'Move finished recordings away, or point the recorders elsewhere.', now() - interval '8 min 37 s', now() - interval '8 min', 'Operator 1'),
    ('station:STATION-4', 'low', 'station', 'STATION-4', 'Workstation not seen', 'Nothing, as long as another station leads.',
     'Start it again if it is needed.', now() - interval '2 min 31 s', now() - interval '2 min', 'Operator 1');

INSERT INTO alarms (key, priority, source_kind, source_name, message, raised_at, cleared_at, acked_at, acked_by)
VALUES
    ('o1', 'medium', 'channel', 'CH-3', 'Heartbeat late, 1 missed', now() - interval '28 min', now() - interval '27 min 58 s', now() - interval '27 min', 'Operator 1'),
    ('o2', 'high', 'recorder', 'REC-4', 'Recording failed, disk write error', now() - interval '40 min', now() - interval '18 min', now() - interval '17 min', 'Operator 2'),
    ('o3', 'high', 'recorder', 'REC-5', 'Window missed, no input', now() - interval '55 min', now() - interval '20 min', now() - interval '19 min', 'Operator 2'),
    ('o4', 'medium', 'volume', 'VOL-C', 'Write latency above 40 ms', now() - interval '69 min', now() - interval '68 min', now() - interval '60 min', 'Operator 2'),
    ('o5', 'low', 'station', 'STATION-3', 'Workstation reconnected', now() - interval '92 min', now() - interval '91 min', now() - interval '90 min', 'Operator 1');

INSERT INTO alarms (key, priority, source_kind, source_name, message, raised_at, acked_at, acked_by, shelved_until, shelved_by, shelve_reason)
VALUES ('node:play-04:clock', 'low', 'node', 'play-04', 'Clock offset 6 ms', now() - interval '3 h', now() - interval '3 h', 'Operator 1',
        now() + interval '40 min', 'Operator 1', 'NTP server is replaced tonight');

INSERT INTO audit_log (who, station, action, subject_kind, subject_name, before, after, reason)
SELECT (ARRAY['Operator 1', 'Operator 2', 'Operator 2'])[1 + n % 3], 'STATION-' || (1 + n % 3),
       (ARRAY['acknowledge_alarm', 'shelve_alarm', 'move_window', 'extend_window', 'cancel_window', 'skip_item'])[1 + n % 6],
       (ARRAY['alarm', 'alarm', 'window', 'window', 'window', 'channel'])[1 + n % 6],
       (ARRAY['Write latency above 40 ms', 'Clock offset 6 ms', 'Evening News clean feed', 'Match Feed A', 'Studio B line-up', 'CH-1'])[1 + n % 6],
       CASE WHEN n % 6 IN (2, 3) THEN jsonb_build_object('end_at', '2026-10-16T19:35:00+00:00') END,
       CASE WHEN n % 6 IN (2, 3) THEN jsonb_build_object('end_at', '2026-10-16T19:50:00+00:00') END,
       CASE WHEN n % 6 = 1 THEN 'NTP server is replaced tonight' END
FROM generate_series(1, 40) n;
