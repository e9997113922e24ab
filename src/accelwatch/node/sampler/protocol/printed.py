"""The output of vendor libraries, bounded: a file keeps the beginning and drops what follows.

Nobody has to read it for the library to go on: one that prints without end fills neither a journal nor
memory, and waits for nobody.
"""

import os

from accelwatch.base.untrusted_text import printable

PRINTED_BYTES = 16384
_MAX_NEW_OUTPUT = 1000
_MAX_LAST_OUTPUT = 200
# A library that goes on printing is not waited for any longer.
_MAX_POLLS = 4
# linux/fcntl.h
_F_ADD_SEALS, _SEAL_SHRINK, _SEAL_GROW = 1033, 2, 4


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
        self._offset = 0
        self._coming = b""
        self._polls = 0

    def new_output(self) -> str:
        """The output since the last call, on one line of bounded length; call it now and then.

        Nothing while more is coming: two halves of one message are not two messages.
        """
        data = os.pread(self._descriptor, PRINTED_BYTES - self._offset, self._offset)
        data = data.partition(b"\0")[0]
        at_rest = data == self._coming or self._offset + len(data) >= PRINTED_BYTES
        self._polls += 1
        if data and not at_rest and self._polls < _MAX_POLLS:
            self._coming = data
            return ""
        self._offset += len(data)
        self._coming, self._polls = b"", 0
        return _single_line(data)[:_MAX_NEW_OUTPUT]

    @property
    def full(self) -> bool:
        """Whether more may have been printed than was kept."""
        return self._offset >= PRINTED_BYTES

    def last_output(self) -> str:
        """The end of all that was kept."""
        data = os.pread(self._descriptor, PRINTED_BYTES, 0).partition(b"\0")[0]
        return _single_line(data)[-_MAX_LAST_OUTPUT:]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def _single_line(data: bytes) -> str:
    return printable(" ".join(data.decode("utf-8", "replace").split()))
