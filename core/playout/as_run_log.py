"""Reading the as-run log: pages for a screen, the check of its chain, and exports.

Nothing here writes. An export reads through a cursor a page at a time: a year of a channel takes no more memory
than a minute of it, and ends at once when its task is cancelled or its progress callback raises.
"""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import IO, Any, Protocol
from xml.sax.saxutils import escape, quoteattr

from core.db.database import AnyConnection
from core.db.queries import beside
from core.errors import CommandRefused
from core.model import builder
from core.playout.model import AsRunRow as AsRunRow

SQL = beside(__file__, "as_run_log.sql")
PAGE = 500
LONGEST = 500  # a page, as the SQL says too
FORMATS = ("csv", "json", "bxf")
COLUMNS = tuple(f.name for f in fields(AsRunRow))
build = builder(AsRunRow)


@dataclass(frozen=True)
class AsRunFilter:
    channel_ids: tuple[int, ...] = ()
    results: tuple[str, ...] = ()
    text: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def arguments(self) -> tuple[Any, ...]:
        text = self.text.strip()
        for sign in ("\\", "%", "_"):
            text = text.replace(sign, "\\" + sign)
        return (
            list(self.channel_ids),
            list(self.results),
            f"%{text}%" if text else "",
            self.since,
            self.until,
        )


async def page(
    connection: AnyConnection, filter: AsRunFilter, before: tuple[datetime, int] | None, limit: int
) -> list[AsRunRow]:
    """The newest rows, at most LONGEST, or those before a row that was shown: (its started_at, its id)."""
    at, row_id = before if before is not None else (None, None)
    statement = SQL.page_of_channels if filter.channel_ids else SQL.page
    found = await connection.fetch(statement, *filter.arguments(), at, row_id, min(limit, LONGEST))
    return [build(r) for r in found]


async def count(connection: AnyConnection, filter: AsRunFilter) -> int:
    return int(await connection.fetchval(SQL.count, *filter.arguments()))


async def verify(connection: AnyConnection, channel_id: int) -> list[str]:
    """What is wrong with a channel's chain; nothing when it is whole."""
    return [r["finding"] for r in await connection.fetch(SQL.verify, channel_id)]


class Writer(Protocol):
    def begin(self) -> None: ...
    def rows(self, rows: Iterable[AsRunRow]) -> None: ...
    def end(self) -> None: ...


async def export(
    connection: AnyConnection,
    filter: AsRunFilter,
    format: str,
    file: IO[str],
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Writes what the filter finds and says after each page how many rows that were. Returns the number.

    The chains of its channels are checked first and what was found stands in the file: an export is evidence too.
    """
    names = {r["id"]: r["name"] for r in await connection.fetch(SQL.channels)}
    findings = {
        names[c]: broken
        for c in sorted(set(filter.channel_ids) & names.keys() or names)
        if (broken := await verify(connection, c))
    }
    makers: dict[str, Callable[[], Writer]] = {
        "csv": lambda: _Csv(file, names, findings),
        "json": lambda: _Json(file, names, findings),
        "bxf": lambda: _Bxf(file, names, findings),
    }
    if format not in makers:
        raise CommandRefused(f"As-run can be exported as {', '.join(FORMATS)}, not as {format}.")
    writer, done = makers[format](), 0
    writer.begin()
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        cursor = await connection.cursor(SQL.ordered, *filter.arguments())
        while found := await cursor.fetch(PAGE):
            writer.rows([build(r) for r in found])
            done += len(found)
            progress(done)
            await asyncio.sleep(0)
    writer.end()
    return done


def _instant(value: datetime | None) -> str:
    return "" if value is None else value.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _plain(row: AsRunRow, names: dict[int, str]) -> dict[str, Any]:
    made = {name: getattr(row, name) for name in COLUMNS}
    return {"channel": names.get(row.channel_id, ""), **made} | {
        "started_at": _instant(row.started_at),
        "ended_at": _instant(row.ended_at) or None,
    }


class _Csv:
    def __init__(self, file: IO[str], names: dict[int, str], findings: dict[str, list[str]]) -> None:
        self._file, self._names, self._findings = file, names, findings
        self._writer = csv.writer(file)

    def begin(self) -> None:
        for channel, found in self._findings.items():
            self._writer.writerow([f"# {channel}: {finding}" for finding in found])
        self._writer.writerow(["channel", *COLUMNS])

    def rows(self, rows: Iterable[AsRunRow]) -> None:
        for row in rows:
            values = _plain(row, self._names).values()
            self._writer.writerow(["" if v is None else _harmless(v) for v in values])

    def end(self) -> None:
        self._file.flush()


def _harmless(value: Any) -> Any:
    """A spreadsheet takes a cell that begins so for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


class _Json:
    def __init__(self, file: IO[str], names: dict[int, str], findings: dict[str, list[str]]) -> None:
        self._file, self._names, self._findings = file, names, findings
        self._first = True

    def begin(self) -> None:
        self._file.write(f'{{"findings": {json.dumps(self._findings)},\n"rows": [')

    def rows(self, rows: Iterable[AsRunRow]) -> None:
        for row in rows:
            self._file.write(("\n" if self._first else ",\n") + json.dumps(_plain(row, self._names)))
            self._first = False

    def end(self) -> None:
        self._file.write("\n]}\n")
        self._file.flush()


class _Bxf:
    """In the manner of SMPTE ST 2021: one As-Run list, one event each, with what BXF has no place for as attributes."""

    STATUS = {  # noqa: RUF012 - never changed
        "played": "Success",
        "interrupted": "Interrupted",
        "skipped": "Skipped",
        "failed": "Failure",
        "unknown": "Unknown",
    }

    def __init__(self, file: IO[str], names: dict[int, str], findings: dict[str, list[str]]) -> None:
        self._file, self._names, self._findings = file, names, findings

    def begin(self) -> None:
        self._file.write(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<BxfMessage xmlns="http://smpte-ra.org/schemas/2021/2008/BXF" origin="Airlock">\n'
            '  <BxfData action="add">\n    <Schedule type="AsRun">\n'
        )
        for channel, found in self._findings.items():
            for finding in found:
                self._file.write(f"      <!-- {_comment(channel)}: {_comment(finding)} -->\n")

    def rows(self, rows: Iterable[AsRunRow]) -> None:
        for row in rows:
            self._file.write(self._event(row))

    def _event(self, row: AsRunRow) -> str:
        channel = _xml(self._names.get(row.channel_id, ""))
        end = f"<EndDateTime>{_instant(row.ended_at)}</EndDateTime>" if row.ended_at else ""
        length = f"<Duration>{row.duration_s:.6f}</Duration>" if row.duration_s is not None else ""
        return (
            f"      <AsRun eventId={quoteattr(str(row.id))} hash={quoteattr(row.row_hash or '')}>\n"
            f"        <BasicAsRun><Channel>{channel}</Channel><AsRunEventId>{row.id}</AsRunEventId>\n"
            f"          <Content>{_xml(row.clip_name or '')}</Content><HouseNumber>{row.asset_id or ''}</HouseNumber>\n"
            f"          <StartDateTime>{_instant(row.started_at)}</StartDateTime>{end}{length}\n"
            f"          <Status>{self.STATUS.get(row.result, 'Unknown')}</Status></BasicAsRun>\n"
            "      </AsRun>\n"
        )

    def end(self) -> None:
        self._file.write("    </Schedule>\n  </BxfData>\n</BxfMessage>\n")
        self._file.flush()


def _xml(text: str) -> str:
    """Characters that XML cannot hold at all are shown as a question mark."""
    return escape("".join(c if c >= " " or c in "\t\n\r" else "?" for c in text))


def _comment(text: str) -> str:
    return _xml(text).replace("--", "- -")
