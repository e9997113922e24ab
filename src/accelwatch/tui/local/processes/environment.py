"""The environment of a process of this machine, read on request and never before."""

from collections.abc import Mapping
from pathlib import Path

from accelwatch.schema.reading import Process
from accelwatch.system.kernel import proc
from accelwatch.tui.local.processes.facts import FOREIGN

# Bytes; a longer environment is cut.
_MOST = 1 << 18


def read_environment(
    process: Process, *, local: bool, root: Path = Path("/")
) -> Mapping[str, str] | str:
    """Names and values, or in a sentence why they cannot be read."""
    if not local:
        return "A recording does not hold the environment of processes."
    if process.pid_namespace != "same":
        return FOREIGN
    started = proc.start_time(root, process.pid)
    if started is None or (process.start_time and abs(started - process.start_time) > 1.5):
        return "The process has ended."
    try:
        with (root / "proc" / str(process.pid) / "environ").open("rb") as file:
            content = file.read(_MOST)
    except PermissionError:
        return "It belongs to another user; only that user and root may read its environment."
    except OSError as error:
        return f"It cannot be read: {error.strerror}."
    pairs = (entry.partition("=") for entry in content.decode("utf-8", "replace").split("\0"))
    return {name: value for name, equals, value in pairs if equals}
