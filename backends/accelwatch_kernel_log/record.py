"""Records of /dev/kmsg: bytes to records, nothing else. Damaged input gives fewer records, no error.

Form (Documentation/ABI/testing/dev-kmsg): `prefix,sequence,microseconds,flags[,more];text`, then
lines that begin with a blank and hold `KEY=value` of the device that the message is about.
"""

import re
from collections.abc import Iterator

import msgspec

_HEAD = re.compile(rb"(\d{1,10}),(\d{1,20}),(\d{1,20}),[^;\n]{0,200};(.*)", re.DOTALL)
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
# More than any record holds (the kernel's limit is 8 KiB with its dictionary).
_MAX_TAIL = 64 * 1024


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the kernel log; `seconds` since boot on the kernel's local clock."""

    # 0 is the kernel itself; the kernel forces 1 or more on what user space writes.
    facility: int
    level: int
    sequence: int
    seconds: float
    # Escapes undone, so a message of several lines has newlines; undecodable bytes are replaced.
    text: str
    # `SUBSYSTEM` and `DEVICE` (`+pci:0000:65:00.0`) of a device message.
    properties: dict[str, str] = {}


def _text(escaped: bytes) -> str:
    plain = _ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), escaped)
    return plain.decode("utf-8", "replace")


def _property(line: bytes) -> tuple[str, str] | None:
    key, separator, value = _text(line.strip()).partition("=")
    return (key, value) if separator else None


def parse(lines: list[bytes]) -> Record | None:
    """A record from its first line and its continuation lines; None when it is none."""
    head = _HEAD.fullmatch(lines[0])
    if head is None:
        return None
    prefix = int(head[1])
    properties = [pair for line in lines[1:] if (pair := _property(line))]
    return Record(
        facility=prefix >> 3,
        level=prefix & 7,
        sequence=int(head[2]),
        seconds=int(head[3]) / 1e6,
        text=_text(head[4]),
        properties=dict(properties),
    )


class Framer:
    """Cuts what was read into records; /dev/kmsg gives one a read, a pipe any piece of any number."""

    def __init__(self) -> None:
        self._tail = b""
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[Record]:
        """Whole records in a piece of input; a last line without its end waits for the next piece."""
        *lines, self._tail = (self._tail + chunk).split(b"\n")
        if self._skipping and lines:
            del lines[0]
            self._skipping = False
        if len(self._tail) > _MAX_TAIL:
            self._tail, self._skipping = b"", True
        group: list[bytes] = []
        for line in lines:
            if group and line.startswith(b" "):
                group.append(line)
                continue
            if group and (record := parse(group)):
                yield record
            group = [line] if line and not line.startswith(b" ") else []
        if group and (record := parse(group)):
            yield record

    def reset(self) -> None:
        """Forget an unfinished line, after records were lost."""
        self._tail, self._skipping = b"", False
