"""The file that stops everything while it is there."""

import threading
from pathlib import Path

from accelwatch.base.clock import Clock

# So often it is looked for; it counts within a second.
CHECK_EVERY_S = 0.25
# After so long without a check, nobody knows any more whether it is there.
STALE_S = 5.0


class StopFile:
    """A file that anybody who may write there can make, with nothing but a shell.

    A thread looks for it: a file system that hangs holds up nobody, and counts as a stop.
    """

    def __init__(self, path: Path | None, clock: Clock) -> None:
        """Without a path there is none."""
        self._path = path
        self._clock = clock
        self._stop_reason = ""
        self._checked_at = clock.monotonic()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def why(self) -> str:
        """Why everything is stopped; empty when it is not."""
        if self._thread is not None and self._clock.monotonic() - self._checked_at > STALE_S:
            return (
                f"it is unknown whether the file {self._path} exists: its folder does not respond"
            )
        return self._stop_reason

    def start(self) -> None:
        """Look now, and go on looking until `stop`."""
        if self._path is None:
            return
        self.check()
        self._thread = threading.Thread(target=self._watch, name="stop file", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop checking. A check that hangs is not waited for."""
        self._stopping.set()

    def _watch(self) -> None:
        while not self._stopping.wait(CHECK_EVERY_S):
            self.check()

    def check(self) -> None:
        """Look for it once."""
        self._stop_reason = _why(self._path)
        self._checked_at = self._clock.monotonic()


def _why(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        # Who cannot look must not go on as if nothing was there.
        return f"the file {path} cannot be checked: {error.strerror}"
    return f"the file {path} is there"
