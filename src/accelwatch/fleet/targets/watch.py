"""The target list as it stands: written-out targets and those of files, which are looked at again.

A file that cannot be read, or is half written, leaves the targets it gave before in force.
"""

import asyncio
import glob
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from accelwatch.errors import ConfigError
from accelwatch.fleet.targets.files import read_targets
from accelwatch.fleet.targets.target import Target

logger = logging.getLogger(__name__)

Stamp = tuple[int, int, int]


class TargetFiles:
    """Targets of files by pattern (`targets/*.json`); `look` blocks and is for a thread."""

    def __init__(self, patterns: Sequence[str], scheme: str) -> None:
        self._patterns = patterns
        self._scheme = scheme
        self._stamps: dict[str, Stamp | None] = {}
        self._held: dict[str, list[Target]] = {}
        self.complaints: dict[str, str] = {}
        """File to what is wrong with it now."""

    def look(self) -> list[Target]:
        """The targets of all files, read again where a file has changed or was not good."""
        found = [name for pattern in self._patterns for name in _matching(pattern)]
        for name in dict.fromkeys(found):
            stamp = _stamp(name)
            if stamp is None or stamp != self._stamps.get(name) or name in self.complaints:
                self._read(name, stamp)
        for name in set(self._held) - set(found):
            del self._held[name]  # removed, not half written: a pattern no longer finds it
            self._stamps.pop(name, None)
        for name in set(self.complaints) - set(found):
            del self.complaints[name]
        return [target for targets in self._held.values() for target in targets]

    def _read(self, name: str, stamp: Stamp | None) -> None:
        try:
            self._held[name] = read_targets(Path(name), self._scheme)
        except ConfigError as error:
            if self.complaints.get(name) != str(error):
                logger.error("target file refused, the targets before stay: %s", error)
            self.complaints[name] = str(error)
            return
        self._stamps[name] = stamp
        self.complaints.pop(name, None)


def _matching(pattern: str) -> Iterable[str]:
    """Files of a pattern; a plain name stands for itself, there or not."""
    return sorted(glob.glob(pattern)) if glob.has_magic(pattern) else (pattern,)  # noqa: PTH207


def _stamp(name: str) -> Stamp | None:
    try:
        found = Path(name).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def merged(targets: Iterable[Target]) -> dict[str, Target]:
    """Targets by key; of two that are alike the later, so that a file can add labels."""
    return {target.key: target for target in targets}


class Looking(Protocol):
    """A way to find targets."""

    def look(self) -> list[Target]:
        """The targets now; may block."""
        ...


async def watch_targets(
    standing: Sequence[Target],
    ways: Sequence[Looking],
    apply: Callable[[dict[str, Target]], None],
    every_s: float,
) -> None:
    """Call `apply` with the targets at once and whenever they change, until cancelled."""
    before: dict[str, Target] | None = None
    while True:
        looked = [await asyncio.to_thread(way.look) for way in ways]
        found = merged((*standing, *(target for targets in looked for target in targets)))
        if found != before:
            logger.info("targets known count=%d", len(found))
            apply(found)
            before = found
        await asyncio.sleep(every_s)
