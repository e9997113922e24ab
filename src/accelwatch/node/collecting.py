"""What a caller may ask a collector for, checked before anything is read: groups, backends, a recording.

The command line, `record` and the Python API share these checks and their words.
"""

from collections.abc import Iterable
from pathlib import Path

from accelwatch.base.errors import UsageError

NO_GROUP = "none"
"""Asks for no group that is read without being named."""


def names(given: Iterable[str], argument: str) -> tuple[str, ...]:
    """The names of a list. Raises UsageError for a text, which Python takes for a list of letters."""
    if isinstance(given, str):
        raise UsageError(f"{argument} is a list of names: [{given!r}]")
    return tuple(given)


def opt_in(groups: Iterable[str]) -> frozenset[str]:
    """The opt-in groups that are named, every one for `all`, no one for `none`.

    Raises UsageError for what is no group.
    """
    from accelwatch.schema.metrics import nearest, opt_in_groups

    known = opt_in_groups()
    asked = frozenset(groups)
    for group in sorted(asked - {*known, "all", NO_GROUP}):
        close = nearest(group, list(known))
        hint = f"; did you mean {close}?" if close else f"; there are {', '.join(known)}"
        raise UsageError(f"no opt-in group {group!r}{hint}")
    return frozenset(known) if "all" in asked else asked - {NO_GROUP}


def installed(backends: Iterable[str], option: str) -> tuple[str, ...]:
    """The backends. Raises UsageError, with the option's name, for one that is not installed."""
    asked = tuple(backends)
    if asked:
        from accelwatch.plugins import entry_points as plugins

        if missing := plugins.unknown(plugins.BACKENDS, asked):
            raise UsageError(f"{option} {missing}")
    return asked


def recording_file(name: str) -> str:
    """Path of a recording or scenario; `demo` is the shipped one unless there is a file of that name.

    Raises UsageError.
    """
    path = Path(name)
    if name == "demo" and not path.exists():
        from accelwatch_replay import demo_file

        return str(demo_file())
    from accelwatch.archive.recording import names_recording

    if not names_recording(path):
        raise UsageError(f"no recording {name!r}; `demo` is the shipped one")
    return str(path.absolute())
