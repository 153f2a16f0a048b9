"""One item, decoded ahead into the channel's raster: pictures and sound as the air thread needs them.

Two decoders, one for the picture and one for the sound, so that no interleaving of a file can make
one wait for the other; a clip without sound is silent, a clip without a picture has failed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from pathlib import Path

from core.agent.sidecar import say
from core.agent.sidecar.child import Child
from core.agent.sidecar.order import Item
from core.errors import AirlockError
from core.playout.outputs import Raster, check_clip

AHEAD_BYTES = 24 * 1024**2
SOUND_AHEAD = 48000 * 4 * 2
SOUND_WAIT = 1.0  # a first picture waits this long for its sound


class Deck:
    def __init__(self, ffmpeg: str, media: Path, raster: Raster, item: Item, offset_s: float = 0.0) -> None:
        self.item, self.offset_s = item, max(offset_s, item.in_s)  # absolute: in the clip
        self.failure: str | None = None
        self.frames = 0  # taken
        self.limit: int | None = None
        self._raster = raster
        self._pictures: deque[bytearray] = deque()
        self._sound = bytearray()
        self._video_over = self._sound_over = False
        self._changed = threading.Condition()
        self._children: list[Child] = []
        self._first_at: float | None = None
        self._depth = max(4, min(25, AHEAD_BYTES // raster.frame_bytes))
        begin = max(offset_s, item.in_s)
        left = None if item.duration_s is None else max(item.in_s + item.duration_s - begin, 0.0)
        if left is not None:
            self.limit = round(left * raster.rate)
        try:
            path = check_clip(item.path, media)
            if not Path(path).is_file():
                raise FileNotFoundError
            self._children = [
                Child(say.video_decoder(ffmpeg, path, raster, begin, left)),
                Child(say.audio_decoder(ffmpeg, path, begin, left)),
            ]
        except FileNotFoundError:
            self._fail("There is no such file in the media folder.")
        except AirlockError as error:
            self._fail(str(error))
        except OSError as error:
            self._fail(f"The clip could not be opened: {error.strerror or error}.")
        else:
            for target in (self._read_pictures, self._read_sound):
                threading.Thread(target=target, daemon=True).start()

    def _fail(self, sentence: str) -> None:
        self.failure = sentence
        self._video_over = self._sound_over = True

    @property
    def ready(self) -> bool:
        """Whether the first picture is there, with its sound if it has any."""
        with self._changed:
            if not self._pictures:
                return False
            waited = self._first_at is not None and time.monotonic() - self._first_at > SOUND_WAIT
            return bool(self._sound) or self._sound_over or waited

    @property
    def over(self) -> bool:
        with self._changed:
            done = self.limit is not None and self.frames >= self.limit
            return done or (self._video_over and not self._pictures)

    def take(self, samples: int) -> tuple[bytearray, bytes] | None:
        """The next picture with exactly that much sound; None when the decoder is late or the item is over."""
        with self._changed:
            if not self._pictures or (self.limit is not None and self.frames >= self.limit):
                return None
            picture = self._pictures.popleft()
            sound = bytes(self._sound[: samples * 4])
            del self._sound[: samples * 4]
            self.frames += 1
            self._changed.notify_all()
        return picture, sound.ljust(samples * 4, b"\0")

    def _read_pictures(self) -> None:
        child = self._children[0]
        assert child.process.stdout is not None
        with child.process.stdout as pipe:
            while True:
                picture = bytearray(self._raster.frame_bytes)
                if not _fill(pipe, picture):
                    break
                with self._changed:
                    self._pictures.append(picture)
                    self._first_at = self._first_at or time.monotonic()
                    self._changed.wait_for(lambda: len(self._pictures) < self._depth or self._video_over)
                    if self._video_over:
                        return
        code = child.process.wait()
        with self._changed:
            if code and not self._video_over:
                self.failure = say.explain(child.log(), code)
            elif self._first_at is None and not self._video_over:
                self.failure = "It holds no picture at this point."
            self._video_over = True

    def _read_sound(self) -> None:
        child = self._children[1]
        assert child.process.stdout is not None
        with child.process.stdout as pipe:
            while part := pipe.read(65536):
                with self._changed:
                    self._sound += part
                    self._changed.wait_for(lambda: len(self._sound) < SOUND_AHEAD or self._sound_over)
                    if self._sound_over:
                        return
        child.process.wait()
        with self._changed:
            self._sound_over = True

    def close(self) -> None:
        with self._changed:
            self._video_over = self._sound_over = True
            self._changed.notify_all()
        for child in self._children:
            child.kill()


def _fill(pipe: object, target: bytearray) -> bool:
    view, had = memoryview(target), 0
    while had < len(target):
        got = pipe.readinto(view[had:])  # type: ignore[attr-defined]
        if not got:
            return False
        had += got
    return True
