"""What a caller may ask a collector for, checked before anything is read: groups, backends, a recording.

The command line, `record` and the Python API share these checks and their words.
"""

from collections.abc import Iterable
from pathlib import Path

from accelwatch.base.errors import UsageError

# Switches off the groups that are read by default.
NO_GROUP = "none"
# The scenario that is shipped, where a recording or scenario may be named.
DEMO = "demo"


def names(values: Iterable[str], argument: str) -> tuple[str, ...]:
    """The names of a list. Raises UsageError for a text, which Python treats as a list of letters."""
    if isinstance(values, str):
        raise UsageError(f"{argument} is a list of names: [{values!r}]")
    return tuple(values)


def opt_in(groups: Iterable[str]) -> frozenset[str]:
    """The opt-in groups that are named, every one for `all`, no one for `none`.

    Raises UsageError for what is no group.
    """
    from accelwatch.base.names.nearest import nearest
    from accelwatch.schema.catalogue.lookup import opt_in_groups

    existing = opt_in_groups()
    requested = frozenset(groups)
    for group in sorted(requested - {*existing, "all", NO_GROUP}):
        close = nearest(group, list(existing))
        hint = f"; did you mean {close}?" if close else f"; there are {', '.join(existing)}"
        raise UsageError(f"no opt-in group {group!r}{hint}")
    return frozenset(existing) if "all" in requested else requested - {NO_GROUP}


def installed(backends: Iterable[str], option: str) -> tuple[str, ...]:
    """The backends. Raises UsageError, with the option's name, for one that is not installed."""
    requested = tuple(backends)
    if requested and (missing := unknown_backend(requested)):
        raise UsageError(f"{option} {missing}")
    return requested


def unknown_backend(names: Iterable[str]) -> str:
    """A complaint about the first name that no installed backend has; empty when all are known."""
    from accelwatch.plugins import entry_points as plugins

    return plugins.unknown(plugins.BACKENDS, names)


def installed_backends() -> tuple[str, ...]:
    """Names of the installed backends; imports none."""
    from accelwatch.plugins import entry_points as plugins

    return tuple(plugins.names(plugins.BACKENDS))


def recording_file(name: str) -> str:
    """What the replay backend is to play: the path of a recording or scenario.

    `demo`, the shipped one, stays that word unless there is a file of this name. Raises UsageError.
    """
    path = Path(name)
    if name == DEMO and not path.exists():
        return name
    from accelwatch.archive.recording import names_recording

    if not names_recording(path):
        raise UsageError(f"no recording {name!r}; `demo` is the shipped one")
    return str(path.absolute())
