"""Reading as-run: pages by key, filters, the chain's check, and the three exports."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest

from core.db.database import Connection
from core.errors import CommandRefused
from core.playout import as_run_log as book
from core.playout.as_run_anchors import anchors
from core.playout.as_run_log import AsRunFilter

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
BXF = "{http://smpte-ra.org/schemas/2021/2008/BXF}"
EVERYTHING = AsRunFilter()


@pytest.fixture
async def two(connection: Connection, channel: int) -> tuple[int, int]:
    """Two channels with 60 closed rows each, of which some began at the same instant, and one open."""
    other: int = await connection.fetchval(
        "INSERT INTO playout_channels (name, output_type, output_url) VALUES ('TWO', 'udp', 'udp://x') RETURNING id"
    )
    for made in (channel, other):
        await connection.execute(
            "INSERT INTO playout_as_run (channel_id, item_id, clip_name, started_at, ended_at, result, event_seq) "
            "SELECT $1, n, CASE WHEN n % 10 = 0 THEN '50%_off' ELSE 'Clip ' || n END, "
            "$2::timestamptz + n * interval '10 s', "
            "CASE WHEN n < 60 THEN $2::timestamptz + n * interval '10 s' + interval '10 s' * (n % 7 <> 0)::int END, "
            "CASE WHEN n % 7 = 0 THEN 'failed' ELSE 'played' END, n FROM generate_series(0, 60) n",
            made, NOON,
        )  # fmt: skip
    return channel, other


async def test_pages_by_key_bring_every_row_once_newest_first(connection: Connection, two: Any) -> None:
    seen, before = [], None
    while found := await book.page(connection, EVERYTHING, before, 7):
        seen += found
        before = (found[-1].started_at, found[-1].id)
    assert len(seen) == 122 == len({r.id for r in seen})
    assert seen == sorted(seen, key=lambda r: (r.started_at, r.id), reverse=True)
    keys = await anchors(connection, EVERYTHING, (NOON + timedelta(days=1), 0), 50)
    assert keys == [(seen[n].started_at, seen[n].id) for n in (49, 99)]


@pytest.mark.parametrize(
    "more, expected",
    [
        ({}, 122),
        ({"results": ("failed",)}, 18),
        ({"text": "50%_"}, 14),
        ({"text": "clip 5"}, 20),
        ({"text": "nowhere"}, 0),
        ({"since": NOON + timedelta(seconds=100), "until": NOON + timedelta(seconds=200)}, 20),
        ({"results": ("failed", "played"), "text": "Clip 1", "until": NOON + timedelta(seconds=120)}, 4),
    ],
)
async def test_pages_and_count_agree_for_every_filter(
    connection: Connection, two: Any, more: dict[str, Any], expected: int
) -> None:
    for channels in ((), (two[0],), (two[1], two[0], two[0]), (999,)):
        wanted = AsRunFilter(channel_ids=channels, **more)
        share = {0: 2, 1: 1 if channels[:1] == two[:1] else 0}.get(len(set(channels)), 2)
        found = await book.page(connection, wanted, None, 500)
        assert len(found) == await book.count(connection, wanted) == expected * share // 2
        assert found == sorted(found, key=lambda r: (r.started_at, r.id), reverse=True)


async def test_verify_names_the_row_that_was_changed_and_the_one_that_is_gone(
    connection: Connection, two: Any
) -> None:
    async def tamper(statement: str, *arguments: object) -> list[str]:
        """As somebody with the server's own rights could."""
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(statement, *arguments)
        found = await book.verify(connection, two[0])
        await transaction.rollback()
        return found

    assert await book.verify(connection, two[0]) == []
    victim = await connection.fetchval(
        "SELECT id FROM playout_as_run WHERE channel_id = $1 AND chain_no = 20", two[0]
    )
    for change in ("clip_name = 'Other'", "result = 'skipped'", "duration_s = 1", "row_hash = 'x'", "asset_id = 3",
                   "ended_at = ended_at - interval '1 s', duration_s = duration_s - 1"):  # fmt: skip
        found = await tamper(f"UPDATE playout_as_run SET {change} WHERE id = $1", victim)
        assert found == [f"row {victim} was changed after it was closed"]
    gone = await tamper("DELETE FROM playout_as_run WHERE id = $1", victim)
    assert gone == ["row 20 of the chain is missing"]
    cut = await tamper("DELETE FROM playout_as_run WHERE channel_id = $1 AND chain_no > 57", two[0])
    assert cut == ["3 row(s) at the end of the chain are missing"]
    assert await book.verify(connection, two[1]) == []


async def exported(connection: Connection, wanted: AsRunFilter, format: str) -> tuple[int, str, list[int]]:
    file, heard = io.StringIO(newline=""), []
    done = await book.export(connection, wanted, format, file, heard.append)
    return done, file.getvalue(), heard


async def test_the_exports_hold_every_row_in_the_order_of_airing(
    connection: Connection, two: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "PAGE", 25)
    wanted = AsRunFilter(channel_ids=(two[0],))
    rows = list(reversed(await book.page(connection, wanted, None, 500)))
    hashes = [r.row_hash for r in rows]
    done, text, heard = await exported(connection, wanted, "csv")
    table = list(csv.DictReader(io.StringIO(text)))
    assert done == 61 and heard == [25, 50, 61]
    assert [r["row_hash"] or None for r in table] == hashes
    assert table[1]["started_at"] == "2030-05-01T12:00:10.000000Z" and table[1]["channel"] == "ONE"
    _, text, _ = await exported(connection, wanted, "json")
    found = json.loads(text)
    assert [r["row_hash"] for r in found["rows"]] == hashes and found["findings"] == {}
    assert found["rows"][-1]["ended_at"] is None
    _, text, _ = await exported(connection, wanted, "bxf")
    events = ElementTree.fromstring(text).findall(f".//{BXF}AsRun")
    assert [e.get("hash") or None for e in events] == hashes
    assert events[7].findtext(f".//{BXF}Status") == "Failure"
    with pytest.raises(CommandRefused, match="csv, json, bxf, not as pdf"):
        await exported(connection, wanted, "pdf")


async def test_an_export_says_that_its_evidence_is_broken(connection: Connection, two: Any) -> None:
    await connection.execute("SET session_replication_role = replica")
    await connection.execute("UPDATE playout_as_run SET clip_name = 'x' WHERE chain_no = 3")
    await connection.execute("SET session_replication_role = DEFAULT")
    for format in book.FORMATS:
        _, text, _ = await exported(connection, EVERYTHING, format)
        assert text.count("was changed after it was closed") == 2, format


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", 'a,"b"\n<c>&--', "nul\x01bell", "", "Ünïcode –"])
async def test_names_stay_what_they_are_in_every_format(
    connection: Connection, channel: int, name: str
) -> None:
    await connection.execute(
        "INSERT INTO playout_as_run (channel_id, clip_name, started_at, ended_at) VALUES ($1, $2, $3, $3)",
        channel, name, NOON,
    )  # fmt: skip
    _, text, _ = await exported(connection, EVERYTHING, "csv")
    cell = next(csv.DictReader(io.StringIO(text, newline="")))["clip_name"]
    assert cell in (name, f"'{name}") and not cell.startswith("=")
    _, text, _ = await exported(connection, EVERYTHING, "json")
    assert json.loads(text)["rows"][0]["clip_name"] == name
    _, text, _ = await exported(connection, EVERYTHING, "bxf")
    content = ElementTree.fromstring(text).findtext(f".//{BXF}Content")
    assert (content or "").replace("?", "\x01") == name


async def test_an_export_ends_when_its_progress_says_so(connection: Connection, two: Any) -> None:
    class Enough(Exception):
        pass

    def stop(done: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        await book.export(connection, EVERYTHING, "csv", io.StringIO(), stop)
    assert await book.count(connection, EVERYTHING) == 122  # the connection is as it was
