"""A kernel log in memory that the test feeds, and the backend over it."""

from collections.abc import Iterable
from pathlib import Path

from accelwatch.backend import Context
from accelwatch.base.clock import ManualClock
from accelwatch.schema.event import ErrorEvent
from accelwatch_kernel_log import KernelLogBackend

UPTIME = 1000.0
NOW = 1_800_000_000.0
XID79 = "NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus."
BOOT = "11111111-2222-3333-4444-555555555555"


class Log:
    """A log in memory: each piece is one read; an exception among them is raised."""

    def __init__(self, pieces: Iterable[bytes | Exception] = ()) -> None:
        self.pieces = list(pieces)
        self.closed = False

    def say(self, sequence: int, text: str, seconds: float = 900.0, prefix: int = 3) -> None:
        self.pieces.append(f"{prefix},{sequence},{int(seconds * 1e6)},-;{text}\n".encode())

    def wait(self, timeout_s: float) -> None:
        pass

    def read(self) -> bytes:
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return piece

    def close(self) -> None:
        self.closed = True


def start(root: Path, log: Log, **options: object) -> KernelLogBackend:
    context = Context(
        root=root,
        clock=ManualClock(wall=NOW),
        state_dir=root.parent / "state",
        options=options,
    )
    backend = KernelLogBackend(context, lambda path: log)
    backend.open()
    return backend


def codes(events: Iterable[ErrorEvent]) -> list[str]:
    return [event.code for event in events]
