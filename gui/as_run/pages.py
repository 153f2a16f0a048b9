"""The rows of a long log of which only some are held: the newest, and the pages last looked at.

What must stay true: a position always means the same row until rows are inserted or removed above it; no more
than `KEPT` pages are held; a row that is not held is None, never a guess.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.playout.as_run_anchors import Key
from core.playout.model import AsRunRow

PAGE = 100  # small enough that taking one in fits into a frame
KEPT = 150  # pages


def key_of(row: AsRunRow) -> Key:
    return row.started_at, row.id


@dataclass
class Pages:
    head: list[AsRunRow] = field(default_factory=list)  # the newest, without a hole
    below: int = 0  # rows older than the head
    _pages: OrderedDict[int, list[AsRunRow]] = field(default_factory=OrderedDict)
    _begins: dict[int, Key] = field(default_factory=dict)  # page: the key before which it begins

    def __len__(self) -> int:
        return len(self.head) + self.below

    def start(self, head: Sequence[AsRunRow], total: int) -> None:
        self.head = list(head)
        self.below = max(0, total - len(self.head))
        self._pages.clear()
        self._begins = {0: key_of(self.head[-1])} if self.head else {}

    def row(self, at: int) -> AsRunRow | None:
        if at < len(self.head):
            return self.head[at]
        page, offset = divmod(at - len(self.head), PAGE)
        rows = self._pages.get(page)
        return rows[offset] if rows is not None and offset < len(rows) else None

    def held(self) -> int:
        return len(self.head) + sum(len(rows) for rows in self._pages.values())

    # Pages below the head

    def missing(self, first: int, last: int) -> list[int]:
        """The pages that the rows from `first` to `last` need and that are not held."""
        begin, end = max(first - len(self.head), 0), min(last - len(self.head), self.below - 1)
        if end < begin:
            return []
        wanted = range(begin // PAGE, end // PAGE + 1)
        for page in wanted:
            if page in self._pages:
                self._pages.move_to_end(page)
        return [page for page in wanted if page not in self._pages]

    def begins(self, page: int) -> Key | None:
        """The key before which a page begins, when it is known."""
        return self._begins.get(page)

    def learn(self, keys: Sequence[Key]) -> None:
        """Takes in where the second page and all after it begin."""
        self._begins |= dict(enumerate(keys, 1))

    def put(self, page: int, rows: Sequence[AsRunRow]) -> tuple[int, int]:
        """Takes a page in; the positions that it fills."""
        self._pages[page] = list(rows)
        self._pages.move_to_end(page)
        if len(rows) == PAGE:
            self._begins.setdefault(page + 1, key_of(rows[-1]))
        while len(self._pages) > KEPT:
            self._pages.popitem(last=False)
        first = len(self.head) + page * PAGE
        return first, first + max(0, len(rows) - 1)

    # The head

    def place(self, row: AsRunRow) -> int | None:
        """Where a new row belongs, or None when it is older than the head."""
        if self.head and self.below and key_of(row) < key_of(self.head[-1]):
            return None
        # Newest first: the keys fall.
        return bisect_left(self.head, _fall(key_of(row)), key=lambda r: _fall(key_of(r)))

    def open_rows(self) -> list[tuple[int, AsRunRow]]:
        """Those that were on air when they were read, with their positions."""
        found = [(at, row) for at, row in enumerate(self.head) if row.ended_at is None]
        for page, rows in self._pages.items():
            first = len(self.head) + page * PAGE
            found += [(first + n, row) for n, row in enumerate(rows) if row.ended_at is None]
        return found

    def replace(self, at: int, row: AsRunRow) -> None:
        if at < len(self.head):
            self.head[at] = row
            return
        page, offset = divmod(at - len(self.head), PAGE)
        if page in self._pages:
            self._pages[page][offset] = row


def _fall(key: Key) -> tuple[float, int]:
    return -key[0].timestamp(), -key[1]
