"""What was broken in a trace: one line of JSON a fault, in a file beside the archive and never in it."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

TRUTH = "truth.ndjson"
# Scopes.
DEVICE, NODE, JOB, GROUP = "device", "node", "job", "group"
# Units of a precursor's strength: times its usual rate, or standard deviations of the peers.
RATE, SD = "rate", "sd"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One fault; times are Unix seconds by the true time."""

    kind: str = msgspec.field(name="class")
    scope: str
    node: str | None = None
    device: str | None = None
    # The job that the fault befell.
    job: str | None = None
    # Of a group: all nodes concerned.
    nodes: list[str] = []
    precursor_start: float | None = None
    precursor_signal: str | None = None
    precursor_strength: float | None = None
    precursor_unit: str | None = None
    # When things first differ from healthy ones, after the precursor.
    onset: float
    xid: str | None = None
    # By the kernel log; None where nothing was logged.
    xid_time: float | None = None
    # When the node is mended, or the cause has gone.
    end: float
    # Share of the power or rate that is lost; degrees of a cooling event.
    magnitude: float | None = None

    @property
    def begin(self) -> float:
        """The first moment at which an alert is right."""
        return self.onset if self.precursor_start is None else self.precursor_start


def write_truth(path: Path, faults: Iterable[Fault]) -> None:
    """All faults, in order of their onset."""
    lines = sorted(faults, key=lambda fault: (fault.onset, fault.kind))
    path.write_bytes(b"".join(msgspec.json.encode(fault) + b"\n" for fault in lines))


def read_truth(path: Path) -> list[Fault]:
    """All faults of a trace."""
    return [msgspec.json.decode(line, type=Fault) for line in path.read_bytes().splitlines()]
