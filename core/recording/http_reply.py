"""Reading one HTTP/1.1 answer of a recorder. Bounded in size, and strict: what is not understood is no answer."""

from __future__ import annotations

from dataclasses import dataclass, field

LARGEST_HEAD = 16 * 1024
LARGEST_BODY = 64 * 1024


class NoAnswer(Exception):
    """No answer came, or none that is HTTP. The request may have been received all the same."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes


@dataclass(slots=True)
class ReplyReader:
    """Makes one reply of the bytes that come in."""

    largest: int = LARGEST_BODY
    keeps_open: bool = True
    _bytes: bytearray = field(default_factory=bytearray)
    _status: int = 0
    _length: int | None = None
    _chunked: bool = False
    _body: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Reply | None:
        self._bytes += data
        while not self._status:
            if not self._head():
                return None
        if self._chunked:
            return self._reply() if self._chunks() else None
        if self._length is None:
            if len(self._bytes) > self.largest:
                raise NoAnswer("the answer is too long")
            return None
        if len(self._bytes) < self._length:
            return None
        self._body = self._bytes[: self._length]
        del self._bytes[: self._length]
        return self._reply()

    def end(self) -> Reply | None:
        """The connection ended: that completes an answer of untold length, and no other."""
        if not self._status or self._chunked or self._length is not None:
            return None
        self._body = self._bytes
        return Reply(self._status, bytes(self._body))

    def _reply(self) -> Reply:
        if self._bytes:
            self.keeps_open = False  # more than one answer to one request: whose is the rest?
        return Reply(self._status, bytes(self._body))

    def _head(self) -> bool:
        end = self._bytes.find(b"\r\n\r\n")
        if end < 0:
            if len(self._bytes) > LARGEST_HEAD:
                raise NoAnswer("the answer's head is too long")
            return False
        lines = bytes(self._bytes[:end]).decode("latin-1").split("\r\n")
        del self._bytes[: end + 4]
        version, _, rest = lines[0].partition(" ")
        if version not in ("HTTP/1.1", "HTTP/1.0") or not rest[:3].isdecimal():
            raise NoAnswer("the answer is not HTTP")
        status = int(rest[:3])
        if 100 <= status < 200:
            return True  # not the answer yet
        self._status = status
        self.keeps_open = version == "HTTP/1.1"
        headers = [(n.lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines[1:])]
        for name, value in headers:
            if name == "connection":
                self.keeps_open = "close" not in value.lower() and (
                    self.keeps_open or "keep-alive" in value.lower()
                )
            elif name == "transfer-encoding":
                self._chunked = value.lower() == "chunked"
                if not self._chunked:
                    raise NoAnswer("the answer is encoded in a way that is not understood")
            elif name == "content-length":
                if not value.isdecimal() or self._length not in (None, int(value)):
                    raise NoAnswer("the answer's length is not understood")
                self._length = int(value)
                if self._length > self.largest:
                    raise NoAnswer("the answer is too long")
        if status in (204, 304):
            self._length, self._chunked = 0, False
        elif self._length is None and not self._chunked:
            self.keeps_open = False
        return True

    def _chunks(self) -> bool:
        """Takes whole chunks; true when the last one was among them."""
        while True:
            end = self._bytes.find(b"\r\n")
            if end < 0:
                if len(self._bytes) > LARGEST_HEAD:
                    raise NoAnswer("the answer cannot be understood")
                return False
            size_text = bytes(self._bytes[:end]).partition(b";")[0].strip()
            try:
                size = int(size_text, 16)
            except ValueError:
                raise NoAnswer("the answer cannot be understood") from None
            if size < 0 or len(self._body) + size > self.largest:
                raise NoAnswer("the answer is too long")
            if size == 0:
                # Trailers, which say nothing to us, end with an empty line.
                done = self._bytes.find(b"\r\n\r\n", end)
                if done < 0:
                    return False
                del self._bytes[: done + 4]
                return True
            if len(self._bytes) < end + 2 + size + 2:
                return False
            self._body += self._bytes[end + 2 : end + 2 + size]
            del self._bytes[: end + 2 + size + 2]
