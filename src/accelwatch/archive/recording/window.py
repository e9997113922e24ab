"""Positioned reads of a file as it was when it was opened, through one buffer."""

import os
import re
import stat
from pathlib import Path

from accelwatch.base.errors import AccelwatchError

_CHUNK = 256 << 10
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class Window:
    """A regular file; bytes that are appended later are not seen. Owns its descriptor."""

    def __init__(self, path: Path, *, follow: bool = True) -> None:
        """Open. Raises AccelwatchError, also for what is no regular file or, unless `follow`, a link."""
        self.path = path
        self._descriptor = -1
        try:
            self._descriptor = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
        except OSError as error:
            raise AccelwatchError(f"cannot read {path}: {error.strerror}") from error
        status = os.fstat(self._descriptor)
        # Bytes.
        self.size = status.st_size
        self._offset = 0
        self._buffer = b""
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise AccelwatchError(f"cannot read {path}: it is not a regular file")

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()

    def read(self, offset: int, count: int) -> bytes:
        """Bytes from there; fewer at the end. Raises AccelwatchError."""
        start = offset - self._offset
        if start < 0 or start + count > len(self._buffer):
            self._fill(offset, max(count, _CHUNK))
            start = 0
        return self._buffer[start : start + count]

    def _fill(self, offset: int, count: int) -> None:
        length = max(min(count, self.size - offset), 0)
        try:
            self._buffer = os.pread(self._descriptor, length, offset) if length else b""
        except OSError as error:
            raise AccelwatchError(f"cannot read {self.path}: {error.strerror}") from error
        self._offset = offset

    def find(self, pattern: re.Pattern[bytes], longest: int, offset: int) -> int:
        """Where the pattern, of at most `longest` bytes, first matches; the size if nowhere."""
        while offset < self.size:
            start = offset - self._offset
            if not 0 <= start <= len(self._buffer) - longest:
                self._fill(offset, _CHUNK)
                start = 0
            match = pattern.search(self._buffer, start)
            if match:
                return self._offset + match.start()
            if len(self._buffer) < longest:
                break
            offset = self._offset + len(self._buffer) - longest + 1
        return self.size
