"""One schema for every accelerator, and the tools that read, export and judge it.

`snapshot()` reads once, `watch()` and `watch_async()` read every interval, `read_recording()` reads what
was recorded; all give `Snapshot` objects. Driver libraries are loaded in a process of their own, so a
driver that hangs or crashes cannot take the caller along.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from accelwatch.base.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from os import PathLike

    from accelwatch.base.errors import AccelwatchError, UsageError
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.schema.snapshot import DeviceView, Snapshot

__all__ = [
    "AccelwatchError",
    "DeviceView",
    "Snapshot",
    "UsageError",
    "__version__",
    "read_recording",
    "snapshot",
    "watch",
    "watch_async",
]

# Where the classes are; loaded when first used, so that importing the package costs nothing.
_HOMES = {
    "AccelwatchError": "accelwatch.base.errors",
    "DeviceView": "accelwatch.schema.snapshot",
    "Snapshot": "accelwatch.schema.snapshot",
    "UsageError": "accelwatch.base.errors",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def snapshot(
    *,
    timeout_s: float = 2.0,
    backends: Iterable[str] = (),
    groups: Iterable[str] = (),
    processes: bool = True,
    replay: "str | PathLike[str] | None" = None,
) -> "Snapshot":
    """All devices of this machine, now.

    Complete at most 0.2 s after `timeout_s` seconds whatever a driver does: a device that did not
    answer is a row in state `unresponsive`. `backends` limits the driver stacks (`nvidia`, `amd`, ...);
    `groups` turns opt-in groups of quantities on (docs/metrics.md; `all`); `replay` reads a recording or
    scenario instead (`demo` is shipped). Raises nothing for what a driver does, and UsageError for a
    backend, group or recording that does not exist.
    """
    from accelwatch.node.snapshots import read_once

    settings = _settings(timeout_s, backends, groups, processes, replay)
    return read_once(settings, isolation="exec")


def watch(
    interval_s: float = 2.0,
    *,
    count: int | None = None,
    timeout_s: float = 2.0,
    backends: Iterable[str] = (),
    groups: Iterable[str] = (),
    processes: bool = True,
    replay: "str | PathLike[str] | None" = None,
) -> "Generator[Snapshot, None, None]":
    """A snapshot every `interval_s` seconds, `count` of them or for ever; close it to stop.

    Quantities that need two readings (tensor activity, rates) have values from the second one on. A
    recording plays at its own pace. Raises UsageError as `snapshot` does, when called.
    """
    from accelwatch.node.snapshots import read_repeatedly

    settings = _settings(timeout_s, backends, groups, processes, replay)
    return read_repeatedly(_repeated(settings, interval_s, count), count=count)


def watch_async(
    interval_s: float = 2.0,
    *,
    count: int | None = None,
    timeout_s: float = 2.0,
    backends: Iterable[str] = (),
    groups: Iterable[str] = (),
    processes: bool = True,
    replay: "str | PathLike[str] | None" = None,
) -> "AsyncGenerator[Snapshot, None]":
    """As `watch`, for `async for`: the event loop goes on between the snapshots and while it stops.

    The collector ends when the generator is closed: at the end of `count`, by `aclose()`, or at the end
    of a `contextlib.aclosing` block that it is iterated in.
    """
    from accelwatch.node.snapshots import read_repeatedly_async

    settings = _settings(timeout_s, backends, groups, processes, replay)
    return read_repeatedly_async(_repeated(settings, interval_s, count), count=count)


def read_recording(path: "str | PathLike[str]") -> "Generator[Snapshot, None, None]":
    """Every snapshot of a recording, in the order of time and without waiting; close it to stop.

    Of a damaged file those before the damage are read. Damage, a missing end and older files beside it
    are warnings of the logger `accelwatch.node.snapshots`, before the first snapshot.

    Raises UsageError for a name without a file when called, and AccelwatchError for a file that holds
    none when iterated.
    """
    from pathlib import Path

    from accelwatch.node.snapshots import recorded

    return recorded(Path(path))


def _settings(
    timeout_s: float,
    backends: Iterable[str],
    groups: Iterable[str],
    processes: bool,
    replay: "str | PathLike[str] | None",
) -> "CollectSettings":
    import os

    from accelwatch.node.collecting import installed, names, opt_in, recording_file
    from accelwatch.node.sampler.protocol.settings import CollectSettings

    chosen = installed(names(backends, "backends"), "backends:")
    options: dict[str, dict[str, object]] = {}
    if replay is not None:
        options["replay"] = {"file": recording_file(os.fspath(replay))}
        chosen = chosen or ("replay",)
    return CollectSettings(
        one_shot=True,
        timeout_s=timeout_s,
        backends=chosen,
        groups=opt_in(names(groups, "groups")),
        processes=processes,
        options=options,
    )


def _repeated(
    settings: "CollectSettings", interval_s: float, count: int | None
) -> "CollectSettings":
    import msgspec

    from accelwatch.base.errors import UsageError

    if not interval_s > 0:
        raise UsageError(f"interval_s is above 0, not {interval_s!r}")
    if count is not None and count < 1:
        raise UsageError(f"count is at least 1, not {count!r}")
    return msgspec.structs.replace(settings, one_shot=False, interval_s=interval_s)
