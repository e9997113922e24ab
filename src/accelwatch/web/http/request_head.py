"""The head of a request as bytes: when it is whole, how long it may be, and what is refused unread.

h11 accepts what was once allowed: lines that are folded or end without a carriage return, control
characters, a length that is said twice. Where two servers see different requests in the same bytes, one
can be smuggled past the other; so all of it is refused.
"""

import re

_MAX_LINE = 8190
_MAX_FIELDS = 64
# Before a request; RFC 9112, section 2.2, requires that at least one is skipped.
_MAX_BLANK_LINES = 8
MAX_HEAD = 64 << 10
_END = b"\r\n\r\n"
# None of these stands in a head; a carriage return and a line feed do together.
_CONTROL = re.compile(rb"(?<!\r)\n|\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_PRINTABLE = range(0x21, 0x7F)


class BadHeadError(Exception):
    """A request's head is refused; the code says why."""

    def __init__(self, code: int = 400) -> None:
        super().__init__(code)
        self.code = code


class HeadReader:
    """Cuts the next head off the bytes of a connection."""

    def __init__(self) -> None:
        self._scanned = 0
        self._blank_lines = 0

    def read_head(self, arrived: bytearray) -> bytes | None:
        """The head, which is then gone from `arrived`; None while it is not whole.

        Raises BadHeadError, as soon as it is certain.
        """
        if self._scanned == 0:
            while arrived.startswith(b"\r\n"):  # RFC 9112, section 2.2
                del arrived[:2]
                self._blank_lines += 1
                if self._blank_lines > _MAX_BLANK_LINES:
                    raise BadHeadError
            if not arrived or arrived == b"\r":
                return None
            if arrived[0] not in _PRINTABLE:
                raise BadHeadError
        end = arrived.find(_END, max(self._scanned - len(_END) + 1, 0), MAX_HEAD)
        if end < 0:
            self._scanned = len(arrived)
            _check_partial(arrived)
            return None
        self._scanned = self._blank_lines = 0
        head = bytes(arrived[: end + len(_END)])
        del arrived[: end + len(_END)]
        _check_complete(head)
        return head


def _check_partial(arrived: bytearray) -> None:
    if len(arrived) - (arrived.rfind(b"\n") + 1) > _MAX_LINE:
        raise BadHeadError
    if arrived.count(b"\n") != arrived.count(b"\r\n"):
        raise BadHeadError
    if len(arrived) >= MAX_HEAD:
        raise BadHeadError(431)


def _check_complete(head: bytes) -> None:
    if _CONTROL.search(head):
        raise BadHeadError
    _, *fields = lines = head[: -len(_END)].split(b"\r\n")
    if len(fields) > _MAX_FIELDS or max(map(len, lines)) > _MAX_LINE:
        raise BadHeadError
    if any(line.startswith((b" ", b"\t")) for line in fields):
        raise BadHeadError
    lengths = [line for line in fields if line.lower().startswith(b"content-length:")]
    if len(lengths) > 1 or any(b"," in line for line in lengths):
        raise BadHeadError
