"""Names of a trace: of its nodes, devices and jobs, in the archive and in the truth."""

from collections.abc import Iterator, Sequence

import numpy as np

from accelwatch.archive.history.rows import JobRow, MaintenanceRow
from healthy_fleets.folder import START, Roster
from traces.character import Settings
from traces.placed import Placed
from traces.sessions import Session
from traces.truth import DEVICE, GROUP, Fault

_FIRST_JOB, _FIRST_SMALL_JOB = 4000, 9000


def roster_of(rng: np.random.Generator, settings: Settings, models: Sequence[str]) -> Roster:
    """Names that say nothing: numbers with gaps, and ids of devices without an order."""
    numbers = np.sort(rng.choice(16 * settings.nodes, settings.nodes, replace=False))
    width = len(str(16 * settings.nodes))
    ids = [
        sorted(f"nvidia:GPU-{rng.bytes(6).hex()}" for _ in range(settings.devices))
        for _ in range(settings.nodes)
    ]
    return Roster([f"n{one:0{width}d}" for one in numbers], ids, models)


class Records:
    """Jobs, windows and faults with the names of a roster."""

    def __init__(self, roster: Roster, seconds: float) -> None:
        self.roster, self._seconds = roster, seconds

    def _job(self, session: Session) -> str:
        first = _FIRST_JOB if session.devices is None else _FIRST_SMALL_JOB
        return str(first + session.number)

    def jobs(self, session: Session) -> Iterator[JobRow]:
        """A job, a row a node, or a device of a node where it has not all of them."""
        if session.start >= self._seconds:
            return
        ended = session.end < self._seconds
        for node in session.nodes:
            for device in session.devices or (None,):
                yield JobRow(
                    job=self._job(session),
                    user="amy" if session.devices is None else "ben",
                    node=self.roster.nodes[node],
                    device=None if device is None else self.roster.devices[node][device],
                    start=int((START + session.start) * 1000),
                    end=int((START + session.end) * 1000) if ended else None,
                    nodes_wanted=len(session.nodes),
                )

    def window(self, node: int, begin: float, end: float, reason: str) -> MaintenanceRow:
        """An announced window; seconds of the trace."""
        start, until = (int((START + at) * 1000) for at in (begin, end))
        return MaintenanceRow(self.roster.nodes[node], start, until, reason)

    def fault(self, fault: Placed) -> Fault:
        """A fault as the truth has it."""
        sign, kind = fault.precursor, fault.kind
        group, of_device = kind.scope == GROUP, kind.scope == DEVICE or kind.name == "hang"
        return Fault(
            kind=kind.name,
            scope=kind.scope,
            node=None if group else self.roster.nodes[fault.node],
            device=self.roster.devices[fault.node][fault.device] if of_device else None,
            job=None if fault.session is None else self._job(fault.session),
            nodes=sorted(self.roster.nodes[node] for node in fault.nodes),
            precursor_start=None if sign is None else START + sign.start,
            precursor_signal=None if sign is None else sign.signal,
            precursor_strength=None if sign is None else sign.strength,
            precursor_unit=None if sign is None else sign.unit,
            onset=START + fault.onset,
            xid=None if fault.xid_at is None else kind.xid,
            xid_time=None if fault.xid_at is None else START + fault.xid_at,
            end=START + fault.end,
            magnitude=None if fault.magnitude is None else float(fault.magnitude),
        )
