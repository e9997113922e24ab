"""What the stand-in's scheduler and the daemons of its nodes leave for each other, as files.

Orders are what should run on a node, a report what does. Both are replaced whole. A report has the
kernel's monotonic clock, which is the same for every process of a machine.
"""

from pathlib import Path
from typing import TypeVar

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS

ORDERS = "orders"
REPORTS = "reports"
_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a job, on the first of its nodes."""

    job: str
    restart: int
    nodes: tuple[str, ...]

    @property
    def name(self) -> str:
        """Identifies it among all."""
        return f"{self.job}.{self.restart}"


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What should run on a node."""

    # Grows with each change.
    number: int = 0
    copies: tuple[Copy, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What does."""

    # Monotonic seconds.
    time: float
    # Of the orders that were carried out before this was written.
    number: int = 0
    # Names of copies.
    running: tuple[str, ...] = ()
    # Those that are still ordered and have ended by themselves.
    exited: tuple[str, ...] = ()


def write(folder: Path, kind: str, node: str, what: msgspec.Struct) -> None:
    """Write it; a reader gets the old or the new one whole. Raises OSError."""
    file = _file(folder, kind, node)
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(what))
    new.replace(file)


def got(folder: Path, kind: str, node: str, shape: type[_Shape]) -> _Shape | None:
    """What was left; None when there is nothing that can be read."""
    try:
        return msgspec.json.decode(_file(folder, kind, node).read_bytes(), type=shape)
    except (*DECODE_ERRORS, OSError):
        return None


def _file(folder: Path, kind: str, node: str) -> Path:
    return folder / "stand-in" / kind / f"{node}.json"
