"""The air: one thread that sends a picture and its sound at each instant, whatever happens around it.

What must stay true: nothing here waits for a disk or a decoder; an item's start is the instant its
first picture went to the encoder; of what is on air there is one open event at any time while the
output works, and none while it does not.
"""

from __future__ import annotations

import logging
import threading
import time
from array import array
from collections import deque
from math import log10
from pathlib import Path
from typing import Any

from core.agent.sidecar import playlist
from core.agent.sidecar.deck import Deck
from core.agent.sidecar.encoder import Encoder, Lost
from core.agent.sidecar.journal import Journal, stamp
from core.agent.sidecar.order import Item, Order
from core.playout.outputs import Raster, check_output

log = logging.getLogger(__name__)
HOLD = 0.4  # a join may stand still this long before the slate covers it
STALL = 2.0  # a decoder that delivers nothing for this long has failed
OPEN_LIMIT = 10.0
RETRY = 5.0  # when nothing of a playlist can be played
LATE = 1.0


class Air:
    def __init__(self, order: Order, ffmpeg: str, media: Path, folder: Path) -> None:
        self.order = order
        self._ffmpeg, self._media = ffmpeg, media
        self.raster = Raster.parse(order.settings)
        w, h = self.raster.width, self.raster.height
        self._slate = bytes([29]) * (w * h) + bytes([128]) * (w * h // 2)
        output = check_output(order.output_type, order.output_url, media)
        if output.kind in ("hls", "file"):
            Path(output.address).parent.mkdir(parents=True, exist_ok=True)
        self.encoder = Encoder(ffmpeg, self.raster, output, order.generation, self._slate)
        self.journal = Journal(folder)
        self._items, self._looping, self.version = order.items, order.looping, order.version
        self._lock = threading.RLock()
        self._wanted = threading.Event()  # wakes the cue thread
        self._cued: deque[Deck] = deque()
        self._place: int | None = None  # the id behind which cueing goes on
        self._deck: Deck | None = None  # on air
        self._open: tuple[Deck | None, float, int] | None = None  # open event: deck or slate, at, frames then
        self._skip = False
        self._failed_in_a_row = 0
        self._retry_at = 0.0
        self._problems: deque[str] = deque(maxlen=5)
        self._levels: deque[bytes] = deque(maxlen=10)
        self._anchor = time.time() - time.monotonic()
        self.ending: str | None = None
        self.asked = False  # whether it ends because it was asked to
        self.done = threading.Event()

    def now(self) -> float:
        """This machine's time at the start, carried on by the steady counter: it never goes back."""
        return self._anchor + time.monotonic()

    # -- cueing: a thread of its own, which may wait for disks ------------------------------------

    def cue(self) -> None:
        resume = next((i for i in self._items if i.id == self.order.resume_id), None)
        if resume is not None:
            self._cue(resume, self.order.resume_s)
        while not self.done.is_set():
            with self._lock:
                enough = any(d.failure is None for d in self._cued) or len(self._cued) > len(self._items)
                resting = self._failed_in_a_row > len(self._items) and time.monotonic() < self._retry_at
                item = (
                    None if enough or resting else playlist.following(self._items, self._looping, self._place)
                )
                version = self.version
            if item is not None:
                self._cue(item, 0.0, version)
            else:
                self._wanted.wait(0.1)
                self._wanted.clear()

    def _cue(self, item: Item, offset_s: float, version: int | None = None) -> None:
        deck = Deck(self._ffmpeg, self._media, self.raster, item, offset_s)
        with self._lock:
            if version is not None and version != self.version:
                deck.close()
                return
            self._cued.append(deck)
            self._place = item.id

    # -- the air thread ---------------------------------------------------------------------------

    def run(self) -> None:
        try:
            self._run()
        except Exception:
            log.exception("the sidecar met a fault of its own")
            self.ending = "The sidecar met a fault of its own; its log says more."
        finally:
            self._close("interrupted")
            self.encoder.close()
            for deck in (*self._cued, *([self._deck] if self._deck else [])):
                deck.close()
            self.done.set()

    def _run(self) -> None:
        step = float(1 / self.raster.rate)
        due = time.monotonic()
        begun = starved = due
        last: bytes | bytearray = self._slate
        while self.ending is None:
            self.encoder.keep()
            if not self.encoder.open:
                self._close("interrupted", self.encoder.problem)
                time.sleep(0.005)
                due = starved = time.monotonic()
                continue
            now = time.monotonic()
            if now < due:
                time.sleep(due - now)
            elif now - due > LATE:
                due = now  # never catch up in a burst
            due += step
            samples = self.encoder.samples()
            self._turn(starved, begun)
            taken = None if self._deck is None else self._deck.take(samples)
            if taken is not None:
                starved = time.monotonic()
                last = taken[0]
            waiting = self._deck is not None and time.monotonic() - starved < STALL
            if self._deck is None:
                if (
                    time.monotonic() - starved < HOLD
                    and self._items
                    and self._failed_in_a_row <= len(self._items)
                ):
                    if self._open is None:
                        due -= step  # the very first item: wait for it rather than show a slate
                        time.sleep(0.004)
                        continue
                    waiting = True
                else:
                    self._show(None)
            elif taken is not None:
                self._show(self._deck)
            picture = taken[0] if taken else (last if waiting else self._slate)
            sound = taken[1] if taken else b"\0" * samples * 4
            self._levels.append(sound)
            try:
                self.encoder.frame(picture, sound)
            except Lost:
                pass

    def _turn(self, starved: float, begun: float) -> None:
        """Ends the item on air when its time has come, and takes the next that is ready."""
        deck = self._deck
        with self._lock:
            if deck is not None:
                stalled = not deck.over and time.monotonic() - starved > STALL
                if not (self._skip or deck.over or stalled):
                    return
                if self._skip:
                    result, why = "skipped", None
                elif stalled:
                    result, why = "failed", "The clip stopped delivering pictures."
                else:
                    result, why = ("failed", deck.failure) if deck.failure else ("played", None)
            self._skip = False
            if deck is not None:
                if self._open is not None and self._open[0] is deck:
                    self._close(result, why)
                deck.close()
                self._deck = None
            while self._cued and self._cued[0].failure is not None and not self._cued[0].ready:
                self._report_failure(self._cued.popleft())
                self._wanted.set()
            if self._cued and self._cued[0].ready:
                self._deck = self._cued.popleft()
                self._failed_in_a_row = 0
                self._wanted.set()

    def _report_failure(self, deck: Deck) -> None:
        self._failed_in_a_row += 1
        if self._failed_in_a_row > len(self._items):
            self._retry_at = time.monotonic() + RETRY
            deck.close()
            return  # nothing at all can be played: said once a round, not for ever
        self._problems.append(f"{deck.item.clip}: {deck.failure}")
        self.journal.note(
            "failed", self.now(), item_id=deck.item.id, asset_id=deck.item.asset_id, clip=deck.item.clip,
            result="failed", offset_s=deck.offset_s, why=deck.failure,
        )  # fmt: skip
        deck.close()

    def _show(self, deck: Deck | None) -> None:
        if self._open is not None and self._open[0] is deck:
            return
        self._close("played")
        at = self.now()
        frames = 0 if deck is None else deck.frames - 1
        self._open = (deck, at, frames)
        self.journal.note(
            "start", at, **_about(deck, frames / float(self.raster.rate)), result=None, why=None
        )

    def _close(self, result: str, why: str | None = None) -> None:
        if self._open is None:
            return
        deck, _, frames = self._open
        self._open = None
        offset = frames / float(self.raster.rate)
        self.journal.note("end", self.now(), **_about(deck, offset), result=result, why=why)

    # -- what others ask --------------------------------------------------------------------------

    def skip(self) -> bool:
        with self._lock:
            self._skip = self._deck is not None
            return self._skip

    def change(self, items: tuple[Item, ...], looping: bool, version: int) -> None:
        with self._lock:
            current = self._deck.item.id if self._deck is not None else self._place
            self._place = playlist.anchor(self._items, items, current)
            self._items, self._looping, self.version = items, looping, version
            self._failed_in_a_row = 0
            for deck in self._cued:
                deck.close()
            self._cued.clear()
            self._wanted.set()

    def end(self, why: str, *, asked: bool = True) -> None:
        if self.ending is None:
            self.ending, self.asked = why, asked

    def status(self, after: int) -> dict[str, Any]:
        with self._lock:
            shown, deck = self._open, self._deck
            following = self._cued[0].item if self._cued else None
            problems = [*self._problems, *filter(None, (self.encoder.problem, self.journal.problem))]
            elapsed = self.now() - shown[1] if shown else 0.0
            remaining = None
            if deck is not None and deck.limit is not None:
                remaining = (deck.limit - deck.frames) / float(self.raster.rate)
            item = None if shown is None or shown[0] is None else shown[0].item
            return {
                "currentItemId": None if item is None else item.id,
                "currentClip": item.clip if item else ("Slate" if shown else None),
                "currentItemStartedAt": stamp(shown[1]) if shown else None,
                "generation": self.order.generation, "seq": self.journal.seq,
                "events": self.journal.after(after), "clock": stamp(self.now()),
                "on_air": self.encoder.open and shown is not None,
                "slate": shown is not None and item is None,
                "elapsed_s": round(elapsed, 3), "remaining_s": remaining,
                "next": {"item_id": following.id, "clip": following.clip} if following else None,
                "playlist_version": self.version, "problems": problems,
                "runs_dry_in_s": self._runs_dry(item, remaining), "audio_db": self._audio(),
            }  # fmt: skip

    def _runs_dry(self, item: Item | None, remaining: float | None) -> float | None:
        if self._looping:
            return None
        place = next((n for n, i in enumerate(self._items) if item is not None and i.id == item.id), None)
        lengths = [remaining] if item is not None else []
        if place is not None:
            lengths += [i.duration_s for i in self._items[place + 1 :]]
        known = [length for length in lengths if length is not None]
        return round(sum(known), 3) if len(known) == len(lengths) else None

    def _audio(self) -> list[float]:
        samples = array("h", b"".join(self._levels))
        peaks = [max(max(side, default=0), -min(side, default=0)) for side in (samples[0::2], samples[1::2])]
        return [round(20 * log10(peak / 32768), 1) if peak else -90.0 for peak in peaks]


def _about(deck: Deck | None, played_s: float) -> dict[str, Any]:
    if deck is None:
        return {"item_id": None, "asset_id": None, "clip": "Slate", "offset_s": 0.0}
    item = deck.item
    return {
        "item_id": item.id, "asset_id": item.asset_id, "clip": item.clip,
        "offset_s": round(deck.offset_s + played_s, 6),
    }  # fmt: skip
