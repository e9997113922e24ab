"""What vendor libraries print, bounded: a file takes the beginning, what follows is thrown away.

Nobody has to read it for the library to go on: one that prints without end fills neither a journal nor
memory, and waits for nobody.
"""

import os

from accelwatch.base.untrusted_text import printable

PRINTED_BYTES = 16384
_NEWS = 1000
_LAST_WORDS = 200
_MOST_LOOKS = 4
"""A library that goes on printing is not waited for any longer."""
_F_ADD_SEALS, _SEAL_SHRINK, _SEAL_GROW = 1033, 2, 4
"""linux/fcntl.h"""


def bounded_file() -> int:
    """A descriptor to print to; writes beyond PRINTED_BYTES fail (memfd_create(2), F_SEAL_GROW).

    Where there are no such files, nothing that is printed is kept.
    """
    if not hasattr(os, "memfd_create"):
        return os.open(os.devnull, os.O_RDWR)
    import fcntl

    file = os.memfd_create("accelwatch-printed", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, PRINTED_BYTES)
    fcntl.fcntl(file, _F_ADD_SEALS, _SEAL_SHRINK | _SEAL_GROW)
    return file


class Printed:
    """The owner's view of what was printed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = 0
        self._coming = b""
        self._looks = 0

    def news(self) -> str:
        """What was printed since it was last told, on one line of bounded length; call it now and then.

        Nothing while more is coming: two halves of one message are not two messages.
        """
        data = os.pread(self._descriptor, PRINTED_BYTES - self._seen, self._seen)
        data = data.partition(b"\0")[0]
        at_rest = data == self._coming or self._seen + len(data) >= PRINTED_BYTES
        self._looks += 1
        if data and not at_rest and self._looks < _MOST_LOOKS:
            self._coming = data
            return ""
        self._seen += len(data)
        self._coming, self._looks = b"", 0
        return _one_line(data)[:_NEWS]

    @property
    def full(self) -> bool:
        """Whether more may have been printed than was kept."""
        return self._seen >= PRINTED_BYTES

    def last_words(self) -> str:
        """The end of all that was kept."""
        data = os.pread(self._descriptor, PRINTED_BYTES, 0).partition(b"\0")[0]
        return _one_line(data)[-_LAST_WORDS:]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def _one_line(data: bytes) -> str:
    return printable(" ".join(data.decode("utf-8", "replace").split()))
