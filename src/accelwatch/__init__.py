"""One schema for every accelerator, and the tools that read, export and judge it.

`snapshot()` reads once, `watch()` reads every interval; both give `accelwatch.schema` objects. Driver
libraries are loaded in a process of their own, so a driver that hangs or crashes cannot take the caller
along.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from accelwatch.version import __version__

if TYPE_CHECKING:
    from collections.abc import Generator

    from accelwatch.sampler.settings import CollectSettings
    from accelwatch.schema.snapshot import Snapshot

__all__ = ["__version__", "snapshot", "watch"]


def snapshot(
    *,
    timeout_s: float = 2.0,
    backends: Iterable[str] = (),
    groups: Iterable[str] = (),
    processes: bool = True,
) -> "Snapshot":
    """All devices of this machine, now.

    Complete at most 0.2 s after `timeout_s` seconds whatever a driver does: a device that did not
    answer is a row in state `unresponsive`. `backends` limits the driver stacks (`nvidia`, `amd`, ...);
    `groups` turns opt-in groups of quantities on (docs/metrics.md). Raises nothing for what a driver
    does.
    """
    from accelwatch.readings import read_once

    settings = _settings(timeout_s, backends, groups, processes)
    return read_once(settings, isolation="exec")


def watch(
    interval_s: float = 2.0,
    *,
    count: int | None = None,
    timeout_s: float = 2.0,
    backends: Iterable[str] = (),
    groups: Iterable[str] = (),
    processes: bool = True,
) -> "Generator[Snapshot, None, None]":
    """A snapshot every `interval_s` seconds, `count` of them or for ever; close it to stop.

    Quantities that need two readings (tensor activity, rates) have values from the second one on.
    """
    import msgspec

    from accelwatch.readings import read_repeatedly

    settings = _settings(timeout_s, backends, groups, processes)
    every = msgspec.structs.replace(settings, one_shot=False, interval_s=interval_s)
    return read_repeatedly(every, count=count)


def _settings(
    timeout_s: float, backends: Iterable[str], groups: Iterable[str], processes: bool
) -> "CollectSettings":
    from accelwatch.sampler.settings import CollectSettings

    return CollectSettings(
        one_shot=True,
        timeout_s=timeout_s,
        backends=tuple(backends),
        groups=frozenset(groups),
        processes=processes,
    )
