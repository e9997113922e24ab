"""An answer over HTTP/1.1 as its bytes come in, within bounds (RFC 9112); no more than a page needs.

What is wrong with it raises TargetFault, after which nothing more of its connection can be understood.
"""

import re
from collections.abc import Callable

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import BodyPrefix, BodyReader, OpenBody

# Status line and headers; as much again for trailers.
_MAX_HEAD = 32 << 10
# Of the lines between chunks.
_MAX_LINE = 4 << 10
# Answers of 1xx before the answer.
_MAX_INTERIM = 16
_MAX_DIGITS = 18
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: .*)?\r?")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?\r?")
_PREFIX = b"HTTP/1."
# How a TLS alert begins (RFC 8446, 5.1).
_TLS_ALERT = b"\x15\x03"
_FRAMING = ("content-length", "transfer-encoding")
_OK = 200
_BODILESS = (204, 304)


class Answer:
    """One answer: `feed` it until it says that it is complete."""

    def __init__(self, open_body: OpenBody, refusal_bytes: int = 0) -> None:
        """`open_body` gives what takes the body of an answer with code 200, and bounds it.

        Of any other `refusal_bytes` are waited for, if it is plain text.
        """
        # 0 until its headers have come.
        self.status = 0
        # By lower-case name; of one that is repeated the first.
        self.headers: dict[str, str] = {}
        # Whether any byte of it has come.
        self.started = False
        # Whether its connection may be used again, once it is complete.
        self.keeps = False
        self._open_body = open_body
        self._refusal_bytes = refusal_bytes
        # What a refusal says.
        self._refusal: BodyPrefix | None = None
        # What has come and is not taken yet, from `_at` on.
        self._data = b""
        self._at = 0
        # Bytes of a head in which its end is not.
        self._searched = 0
        self._body: BodyReader | None = None
        # Bytes that a body or a chunk still has.
        self._left = 0
        # Bytes of chunks and around them; answers before this one.
        self._sent = self._around = self._interim = 0
        self._complete = False
        # Takes some of what has come; False when it has to wait for more. Bound, it would make a circle
        # that keeps the page until the collector comes by.
        self._step: Callable[[Answer], bool] = Answer._head

    def feed(self, data: bytes) -> bool:
        """Take bytes; True when the answer is complete. Raises TargetFault."""
        self.started = True
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0
        while not self._complete and self._at < len(self._data) and self._step(self):
            pass
        if self._complete and self._at < len(self._data):
            self.keeps = False  # more than was asked for
        return self._complete

    def finish(self) -> None:
        """The connection has ended. Raises TargetFault when that does not end the answer."""
        may_close = self._refusal is not None or self._step is Answer._until_close
        if not (self._complete or may_close):
            raise TargetFault(Reason.GARBAGE, "connection closed mid-response, or not HTTP")
        self._complete, self.keeps = True, False

    def body(self) -> bytes:
        """The body of a complete answer, of a refusal what was waited for. Raises TargetFault."""
        return b"" if self._body is None else self._body.read_all()

    def _head(self) -> bool:
        data = self._data
        if not data.startswith(_PREFIX[: len(data) - self._at], self._at):
            raise self._no_http()
        end = _HEAD_END.search(data, self._at + max(0, self._searched - 3), self._at + _MAX_HEAD)
        if end is None:
            self._searched = len(data) - self._at
            if self._searched >= _MAX_HEAD:
                raise self._no_http()
            return False
        self._searched = 0
        lines = data[self._at : end.start()].decode("latin-1").split("\n")
        status = _STATUS.fullmatch(lines[0])
        if status is None:
            raise self._no_http()
        self._at = end.end()
        code = int(status[2])
        if code < _OK:
            self._interim += 1
            if self._interim > _MAX_INTERIM:
                raise self._no_http()
            return True
        self.status = code
        self._fields(lines)
        self._frame(keeps_by_default=status[1] == "1")
        return True

    def _fields(self, lines: list[str]) -> None:
        headers = self.headers
        for line in lines[1:]:
            field = _FIELD.fullmatch(line)
            if field is None:
                raise TargetFault(Reason.GARBAGE, "no HTTP answer: a header that is none")
            name = field[1].lower()
            if name in headers and name in _FRAMING:
                raise TargetFault(Reason.GARBAGE, f"no HTTP answer: more than one {field[1][:40]}")
            headers.setdefault(name, field[2].removesuffix("\r").strip(" \t"))

    def _frame(self, *, keeps_by_default: bool) -> None:
        """How the body will end, from the headers."""
        options = {token.strip() for token in self.headers.get("connection", "").lower().split(",")}
        self.keeps = "close" not in options and (keeps_by_default or "keep-alive" in options)
        length, coding = self.headers.get("content-length"), self.headers.get("transfer-encoding")
        if self.status == _OK:
            self._body = self._open_body(self.headers)
        elif self._explains():
            self._body = self._refusal = BodyPrefix(self._refusal_bytes)
        else:
            self._complete = True
            # A refusal that came whole leaves a connection on which the next answer can be told apart.
            self.keeps &= coding is None and length == str(len(self._data) - self._at)
            self._at = len(self._data)
            return
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise TargetFault(Reason.GARBAGE, "no HTTP answer: it does not say how it ends")
            self._step = Answer._chunk_line
        elif length is None:
            self.keeps = False
            self._step = Answer._until_close
        elif not (length.isdecimal() and len(length) <= _MAX_DIGITS):
            raise TargetFault(Reason.GARBAGE, "no HTTP answer: a length that is none")
        else:
            self._left = int(length)
            self._complete = not self._left
            self._step = Answer._sized

    def _explains(self) -> bool:
        """Whether a refusal says in words why."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        bare = kind == "text/plain" and "content-encoding" not in self.headers
        return bare and self._refusal_bytes > 0 and self.status not in _BODILESS

    def _sized(self) -> bool:
        self._some()
        self._complete |= not self._left
        return True

    def _until_close(self) -> bool:
        self._left = len(self._data)
        self._some()
        return True

    def _some(self) -> None:
        """Take what is left of a body or a chunk, as far as it has come."""
        start, self._at = self._at, min(self._at + self._left, len(self._data))
        self._left -= self._at - start
        if self._body is not None:
            self._body.feed(self._data[start : self._at])
        if self._refusal is not None and self._refusal.enough:
            self._complete, self.keeps = True, False

    def _chunk_line(self) -> bool:
        line = self._line()
        if line is None:
            return False
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise TargetFault(Reason.GARBAGE, "connection closed mid-response, or not HTTP")
        self._left = int(size[1], 16)
        self._sent += self._left
        self._step = Answer._chunk if self._left else Answer._trailer
        return True

    def _chunk(self) -> bool:
        self._some()
        if not self._left:
            self._step = Answer._chunk_end
        return True

    def _chunk_end(self) -> bool:
        line = self._line()
        if line is None:
            return False
        if line.rstrip(b"\r"):
            raise TargetFault(Reason.GARBAGE, "connection closed mid-response, or not HTTP")
        self._step = Answer._chunk_line
        return True

    def _trailer(self) -> bool:
        line = self._line()
        self._complete = line is not None and not line.rstrip(b"\r")
        return line is not None

    def _line(self) -> bytes | None:
        """The next line between chunks, once it is whole. More of them than of chunks is refused."""
        start = self._at
        end = self._data.find(b"\n", start, start + _MAX_LINE)
        if end < 0 and len(self._data) - start < _MAX_LINE:
            return None
        self._at = end + 1
        self._around += self._at - start
        if end < 0 or self._around > _MAX_HEAD + self._sent:
            raise TargetFault(Reason.GARBAGE, "no HTTP answer, or headers beyond all bounds")
        return self._data[start:end]

    def _no_http(self) -> TargetFault:
        if self._data.startswith(_TLS_ALERT):
            text = "no HTTP answer; the target speaks TLS, and http is configured"
        else:
            text = "no HTTP answer, or headers beyond all bounds"
        return TargetFault(Reason.GARBAGE, text)
