"""One look at a lab: what Slurm, the hub, the job's log and the receiver of alerts say now."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from accelwatch.host_ranges import expand, listed
from accelwatch.lab.alert_receiver import Alert, alerts_of
from accelwatch.lab.asking import page
from accelwatch.lab.lab import Lab, Record
from accelwatch.lab.slurm import SlurmError
from accelwatch.lab.step_counter import Line, lines_of
from accelwatch.scontrol_text import pairs_of, states_of

_OURS = "accelwatch:"
_OUT = frozenset({"DRAIN", "DOWN", "FAIL"})


class NodeNow(NamedTuple):
    """A node as Slurm shows it."""

    states: tuple[str, ...]
    reason: str

    @property
    def out(self) -> bool:
        """Whether it takes no work."""
        return not _OUT.isdisjoint(self.states)

    @property
    def ours(self) -> bool:
        """Whether the hub took it out."""
        return self.out and self.reason.startswith(_OURS)


class JobNow(NamedTuple):
    """A job as Slurm shows it."""

    state: str
    nodes: tuple[str, ...]
    restarts: int


class Look(NamedTuple):
    """Everything at one moment."""

    at: float
    """Unix seconds."""
    nodes: Mapping[str, NodeNow]
    """Empty while the controller does not answer."""
    job: JobNow | None
    lines: tuple[Line, ...]
    incidents: tuple[Mapping[str, Any], ...]
    remedies: Mapping[str, Mapping[str, Any]]
    """By node."""
    frozen: str
    """Why the hub begins nothing."""
    alerts: tuple[Alert, ...]


def look(lab: Lab, record: Record, job: str, *, slurm: bool = True) -> Look:
    """Look everywhere; at Slurm only where it can answer. Raises AccelwatchError."""
    nodes = nodes_now(lab) if slurm else {}
    seen = job_now(lab, job) if slurm else None
    remedies = page(record.hub, "/v1/remedies")
    return Look(
        at=time.time(),
        nodes=nodes,
        job=seen,
        lines=tuple(lines_of(lab.folder, job)),
        incidents=tuple(page(record.hub, "/v1/incidents?state=all")["incidents"]),
        remedies={one["node"]: one for one in remedies["remedies"]},
        frozen=remedies["frozen"] or "; ".join(remedies["problems"]),
        alerts=tuple(alerts_of(lab.alerts_file)),
    )


def nodes_now(lab: Lab) -> dict[str, NodeNow]:
    """Every node. Raises SlurmError."""
    lines = map(pairs_of, lab.slurm.scontrol("-o", "show", "nodes").splitlines())
    return {
        line["NodeName"]: NodeNow(states_of(line["State"]), line.get("Reason", ""))
        for line in lines
        if "NodeName" in line
    }


def job_now(lab: Lab, job: str) -> JobNow | None:
    """A job; None when Slurm does not know it."""
    try:
        line = pairs_of(lab.slurm.job(job))
    except SlurmError:
        return None
    text = line.get("NodeList", "")
    nodes = () if text in ("", "(null)") else listed(text)
    return JobNow(
        state=line.get("JobState", ""),
        nodes=tuple(name for part in nodes for name in expand(part)),
        restarts=int(line.get("Restarts", "0")),
    )
