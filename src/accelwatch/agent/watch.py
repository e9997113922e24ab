"""Notices that the web configuration or a file it names has changed, and loads it anew.

Looking and loading happen on a daemon thread, because a file system may hang; what was loaded is handed
to the loop. A file with a mistake changes nothing: the last good one stays in force.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from accelwatch.agent.web_config import Protection, load_protection
from accelwatch.errors import ConfigError

logger = logging.getLogger(__name__)

Stamp = tuple[int, int, int, int]
LOOK_EVERY_S = 2.0


class Watch:
    """Watches one web configuration file; built and stopped on the loop."""

    def __init__(
        self,
        path: Path,
        loaded: Protection,
        *,
        apply: Callable[[Protection], None],
        outcome: Callable[[bool], None],
        every_s: float = LOOK_EVERY_S,
    ) -> None:
        """`apply` takes a new protection and may refuse it with a ConfigError; both run on the loop."""
        self._path = path
        self._loaded = loaded
        self._apply = apply
        self._outcome = outcome
        self._every_s = every_s
        self._loop = asyncio.get_running_loop()
        self._wake = threading.Event()
        self._ended = False
        self._stamps = _stamps(loaded, path)
        self._thread = threading.Thread(target=self._run, name="web-config", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def look_now(self) -> None:
        """Look at once, changed or not."""
        self._stamps = {}
        self._wake.set()

    def stop(self) -> None:
        """Let the thread end; it is not waited for."""
        self._ended = True
        self._wake.set()

    def _run(self) -> None:
        while not self._ended:
            self._wake.wait(self._every_s)
            self._wake.clear()
            if not self._ended:
                self._look()

    def _look(self) -> None:
        stamps = _stamps(self._loaded, self._path)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            found = load_protection(self._path)
        except ConfigError as error:
            self._hand_over(lambda error=error: self._refused(error))  # type: ignore[misc]
            return
        self._stamps = _stamps(found, self._path)
        if found.files == self._loaded.files:
            self._hand_over(lambda: self._outcome(True))
            return
        self._loaded = found
        self._hand_over(lambda: self._take(found))

    def _hand_over(self, act: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            self._ended = True  # the loop was closed: the agent has stopped

    def _take(self, found: Protection) -> None:
        try:
            self._apply(found)
        except ConfigError as error:
            self._refused(error)
            return
        logger.info("web configuration read again file=%s", self._path)
        self._outcome(True)

    def _refused(self, error: ConfigError) -> None:
        logger.error("web configuration refused, the one before stays in force: %s", error)
        self._outcome(False)


def _stamps(loaded: Protection, path: Path) -> dict[str, Stamp | None]:
    return {name: _stamp(name) for name in (*loaded.files, str(path))}


def _stamp(name: str) -> Stamp | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
