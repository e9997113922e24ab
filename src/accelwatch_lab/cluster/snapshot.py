"""One poll of a lab: what the scheduler, the hub, the job's log and the receiver of alerts say now.

It is not one moment, and much happens within one on a busy machine. What follows is read before
what it follows from: a job's steps, the job, its nodes, what the hub decided. So what let a job run on
is seen with it, and where a poll shows the wrong order, that order was wrong.
"""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from accelwatch_lab.cluster.alert_receiver import Alert, alerts_of
from accelwatch_lab.cluster.http_client import page
from accelwatch_lab.cluster.lab import Lab, Record
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow
from accelwatch_lab.cluster.slurm.step_counter import Line, lines_of


class LabSnapshot(NamedTuple):
    """Everything at one moment."""

    # Unix seconds.
    at: float
    # What it is called.
    scheduler: str
    # Empty while the controller does not answer.
    nodes: Mapping[str, NodeNow]
    job: JobNow | None
    lines: tuple[Line, ...]
    incidents: tuple[Mapping[str, Any], ...]
    # By node.
    remedies: Mapping[str, Mapping[str, Any]]
    # Why the hub begins nothing.
    frozen: str
    alerts: tuple[Alert, ...]


def read_snapshot(lab: Lab, record: Record, job: str, *, scheduler: bool = True) -> LabSnapshot:
    """Read all sources; the scheduler only where it can answer. Raises AccelwatchError."""
    lines = tuple(lines_of(lab.folder, job))
    current = lab.scheduler.job_now(job) if scheduler else None
    nodes = lab.scheduler.nodes_now() if scheduler else {}
    remedies = page(record.hub, "/v1/remedies")
    return LabSnapshot(
        at=time.time(),
        scheduler=lab.scheduler.title,
        nodes=nodes,
        job=current,
        lines=lines,
        incidents=tuple(page(record.hub, "/v1/incidents?state=all")["incidents"]),
        remedies={remedy["node"]: remedy for remedy in remedies["remedies"]},
        frozen=remedies["frozen"] or "; ".join(remedies["problems"]),
        alerts=tuple(alerts_of(lab.alerts_file)),
    )
