"""Names of a rotated recording in its folder: FILE is the newest finished one, FILE.1 is older.

Everything goes through a descriptor of the folder, follows no link and touches only regular files.
"""

import errno
import fcntl
import os
import stat
from pathlib import Path

from accelwatch.archive.recording.layout import PARTIAL_SUFFIX
from accelwatch.base.errors import AccelwatchError, UsageError

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Family:
    """The files of one recording. `keep`: how many finished ones stay.

    Raises UsageError for a path that cannot be one, AccelwatchError for a folder that cannot be used.
    """

    def __init__(self, path: Path, keep: int) -> None:
        self._path = path
        self._keep = keep
        self._name = path.name
        try:
            self._folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise AccelwatchError(f"cannot record into {path.parent}: {error.strerror}") from error
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def _mode(self, name: str) -> int | None:
        try:
            return os.stat(name, dir_fd=self._folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    def _check(self) -> None:
        mode = self._mode(self._name)
        if mode is None or stat.S_ISREG(mode):
            return
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise UsageError(f"cannot record to {self._path}: it is {what}")

    def create_file(self) -> int:
        """Create the file to write to, mode 0600, locked; one that was left unfinished is kept.

        Raises OSError, and AccelwatchError when another process writes it.
        """
        self._adopt()
        descriptor = os.open(self._name + PARTIAL_SUFFIX, _NEW, 0o600, dir_fd=self._folder)
        try:
            os.fchmod(descriptor, 0o600)
            self._lock(descriptor)
            if os.fstat(descriptor).st_nlink == 0:
                raise self._locked_error()
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _adopt(self) -> None:
        """Put the file that a recorder left behind, killed perhaps, among the finished ones."""
        partial = self._path.with_name(self._name + PARTIAL_SUFFIX)
        try:
            descriptor = os.open(partial.name, _OLD, dir_fd=self._folder)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise UsageError(f"cannot record: {partial} is a symbolic link") from error
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                raise UsageError(f"cannot record: {partial} is in the way")
            self._lock(descriptor)
            if status.st_size:
                self.finish()
            else:
                self.discard()
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        """Hold the file until the descriptor is closed; a file system may have no locks."""
        try:
            # Two recorders that write one file would interleave their frames. Without locks in the
            # file system we record all the same.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise self._locked_error() from error
        except OSError:
            return

    def _locked_error(self) -> AccelwatchError:
        return AccelwatchError(f"another process is recording to {self._path}")

    def finish(self) -> None:
        """Make the written file FILE; the ones before move on by one, the oldest go. Raises OSError."""
        chain = self._chain()
        while len(chain) >= max(self._keep, 1):
            os.unlink(chain.pop(), dir_fd=self._folder)
        for at in range(len(chain), 0, -1):
            self._rename(chain[at - 1], self._numbered(at))
        self._rename(self._name + PARTIAL_SUFFIX, self._name)
        os.fsync(self._folder)

    def discard(self) -> None:
        """Remove the file that is being written, into which nothing was written."""
        os.unlink(self._name + PARTIAL_SUFFIX, dir_fd=self._folder)

    def _rename(self, old: str, new: str) -> None:
        os.rename(old, new, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _numbered(self, number: int) -> str:
        return f"{self._name}.{number}" if number else self._name

    def _chain(self) -> list[str]:
        """FILE, FILE.1, ... without a gap; what comes behind a gap is not ours. Raises OSError."""
        chain: list[str] = []
        while (mode := self._mode(self._numbered(len(chain)))) is not None:
            if not stat.S_ISREG(mode):
                raise OSError(errno.EEXIST, f"{self._numbered(len(chain))} is not a regular file")
            chain.append(self._numbered(len(chain)))
        return chain
