"""Notices that the web configuration or a file it names has changed, and loads it again.

Looking and loading happen on a daemon thread, because a file system may hang; what was loaded is handed
to the loop. A file with a mistake changes nothing: the last good one stays in force.
"""

import asyncio
import functools
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from accelwatch.base.errors import ConfigError
from accelwatch.web.protection.web_config import Protection, load_protection

logger = logging.getLogger(__name__)

Stamp = tuple[int, int, int, int]
CHECK_EVERY_S = 2.0


class Watch:
    """Watches one web configuration file; built and stopped on the loop."""

    def __init__(
        self,
        path: Path,
        loaded: Protection,
        *,
        apply: Callable[[Protection], None],
        outcome: Callable[[bool], None],
        every_s: float = CHECK_EVERY_S,
    ) -> None:
        """`apply` gets a new protection and may refuse it with a ConfigError; both run on the loop."""
        self._path = path
        self._files = tuple(loaded.files)
        self._in_force = loaded.files
        self._apply = apply
        self._outcome = outcome
        self._every_s = every_s
        self._loop = asyncio.get_running_loop()
        self._wake = threading.Event()
        self._stopped = False
        self._complaint = ""
        self._refusal = ""
        # Empty, so that the first look loads again: a change just after loading is not missed.
        self._stamps: dict[str, Stamp | None] = {}
        self._thread = threading.Thread(target=self._run, name="web-config", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end; it is not waited for."""
        self._stopped = True
        self._wake.set()

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._every_s)
            self._wake.clear()
            if not self._stopped:
                self._check()

    def _check(self) -> None:
        """Load again when a stamp differs, and every time while the files are not good."""
        stamps = {name: _stamp(name) for name in (*self._files, str(self._path))}
        if stamps == self._stamps and not self._complaint:
            return
        self._stamps = stamps
        try:
            protection = load_protection(self._path)
        except ConfigError as error:
            if self._complaint != str(error):
                self._complaint = str(error)
                self._hand_over(functools.partial(self._refused, error))
            return
        self._complaint = ""
        self._files = tuple(protection.files)
        self._hand_over(functools.partial(self._reload, protection))

    def _hand_over(self, act: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(act)
        except RuntimeError:
            self._stopped = True  # the loop was closed: the agent has stopped

    def _reload(self, protection: Protection) -> None:
        """Apply what differs from what is in force; a refused one may come again and is no better."""
        if protection.files != self._in_force:
            try:
                self._apply(protection)
            except ConfigError as error:
                self._refused(error)
                return
            self._in_force = protection.files
            logger.info("web configuration read again file=%s", self._path)
        self._refusal = ""
        self._outcome(True)

    def _refused(self, error: ConfigError) -> None:
        if self._refusal != str(error):
            self._refusal = str(error)
            logger.error("web configuration refused, the previous one stays in force: %s", error)
        self._outcome(False)


def _stamp(name: str) -> Stamp | None:
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
