"""Incidents as a hub tells them to a dashboard, one of each kind worth seeing."""

from typing import Any

import msgspec

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.evaluation.documents import MuteNote
from accelwatch.alerting.evaluation.explanation import Explanation, ExplanationRow
from accelwatch.alerting.incidents.model.incident import Incident, TimelineEntry, TimelineKind
from accelwatch.alerting.rules.document import Advice, Confidence, Scope, Severity
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.fleet.documents.graphs import IncidentGraphs, Line, QuantityGraph
from accelwatch.fleet.picture.model import FleetView, RecentHistory
from accelwatch.fleet.wire import IncidentNow, RulesNow
from accelwatch.schema.timestamps import timestamp
from support.dashboards.fleets import FAULTS, fleet_view
from support.incidents.incident_samples import incident
from support.machines.composed import NOW


def incident_now(one: Incident, **changes: Any) -> IncidentNow:
    """An incident as the stream tells it; `changes` are to its document."""
    document = msgspec.structs.replace(document_of(one), **changes)
    return IncidentNow(
        incident=document, nodes_total=len(one.nodes), members_total=len(one.members)
    )


def low_power() -> IncidentNow:
    """A GPU that draws far less than the others of its job, since seven minutes."""
    started = NOW - 420
    one = incident(
        7,
        node="n002",
        at=started + 60,
        since=started,
        entity=Entity(scope=Scope.DEVICE, node="n002", device="nvidia:GPU-000011"),
        severity=Severity.WARNING,
        confidence=Confidence.LOW,
        advice=Advice.RESTART,
        family="jobs.straggler",
        rule="jobs.straggler",
        rules=("jobs.straggler", "nvidia.gpu.throttled"),
        title="Draws far less power than its job's other GPUs",
        what_to_do="look at cooling and clocks; the job waits for its slowest GPU",
        runbook="https://runbooks.example/straggler",
        source="NVIDIA's DCGM policies",
        evidence=(
            Evidence(
                signal="power_watts",
                text='avg(power_watts, "5m") is 120 W, < 0.6 * peer_median(power_watts, by="job"), '
                "which is 372 W",
                value=120.0,
                expected=372.0,
            ),
            Evidence(
                signal="throttle_active.thermal_hardware",
                text="throttle_active.thermal_hardware is set",
                value=1.0,
                since=started + 30,
                source="nvml",
            ),
        ),
        timeline=(
            TimelineEntry(
                started + 60, TimelineKind.OPENED, "Draws far less power than its job's other GPUs"
            ),
            TimelineEntry(started + 200, TimelineKind.RULE, "Slowed down by heat"),
            TimelineEntry(started + 300, TimelineKind.NOTE, "fan replaced at noon", "ada"),
        ),
    )
    facts = {"device_name": "nvidia3", "model": "NVIDIA H100 80GB HBM3", "serial": "1650522000123"}
    return incident_now(one, jobs=("48101",), users=("ada",), rack="r01", **facts)


def lost() -> IncidentNow:
    """A GPU that has fallen off the bus, six minutes ago."""
    one = incident(1, node="n002", at=NOW - 350)
    return incident_now(one, jobs=("48101",), users=("ada",), device_name="nvidia5", rack="r01")


def muted() -> IncidentNow:
    """Something that nobody is told of."""
    mute = MuteNote(
        id="s4",
        kind="silence",
        reason="a new board on Monday",
        by="ana",
        until=timestamp(NOW + 7200),
    )
    one = incident(4, node="n009", at=NOW - 90_000, title="Memory rows are to be remapped")
    return incident_now(one, muted_by=mute, rule="nvidia.memory.remap", device_name="nvidia0")


def hint() -> IncidentNow:
    """Something that anybody on the node could have written."""
    one = incident(
        5,
        node="n010",
        at=NOW - 1000,
        severity=Severity.INFO,
        trusted=False,
        title="A record in the kernel log says Xid 79",
        evidence=(
            Evidence(signal="xid_79", text="xid_79: fell off", source="kmsg", trusted=False),
        ),
    )
    return incident_now(one, rule="nvidia.xid.79", device_name="nvidia1")


def over() -> IncidentNow:
    """One that has ended."""
    one = incident(3, node="n011", at=NOW - 3000, title="No power reading")
    entries = (
        TimelineEntry(NOW - 3000, TimelineKind.OPENED, "No power reading"),
        TimelineEntry(NOW - 1800, TimelineKind.CLOSED, "cleared after 1200 s"),
    )
    ended = msgspec.structs.replace(one, timeline=entries)
    return incident_now(
        ended, state="closed", closed=timestamp(NOW - 1800), rule="service.readings"
    )


def job() -> IncidentNow:
    """A job that hangs as a whole."""
    one = incident(
        6,
        at=NOW - 250,
        entity=Entity(scope=Scope.JOB, job="48103"),
        nodes=("n005", "n006"),
        severity=Severity.WARNING,
        title="Busy, but neither draws power nor moves data",
        rule="jobs.silent-hang",
        rules=("jobs.silent-hang",),
        evidence=(Evidence(signal="power_watts", text="job.share(power_watts < 200) is 1, > 0.9"),),
    )
    return incident_now(one, jobs=("48103",), users=("linus",), device_name="", device="")


def storm() -> list[IncidentNow]:
    """Four nodes of a rack at once, and the group that they are part of."""
    members = [
        incident(
            number,
            node=f"n0{number}",
            at=NOW - 120,
            group="i30",
            severity=Severity.WARNING,
            title="The node's storage stalls",
            rule="storage.nfs.stall",
            rules=("storage.nfs.stall",),
            entity=Entity(scope=Scope.NODE, node=f"n0{number}"),
        )
        for number in range(25, 29)
    ]
    group = incident(
        30,
        at=NOW - 110,
        entity=Entity(scope=Scope.NODE, group="rack=r04"),
        severity=Severity.WARNING,
        members=tuple(one.id for one in members),
        nodes=tuple(one.entity.node for one in members),
        title="The node's storage stalls: 4 at once, rack=r04",
        rule="storage.nfs.stall",
        rules=("storage.nfs.stall",),
        what_to_do="look for one cause: storage, fabric, power, cooling, a roll-out",
        timeline=(
            TimelineEntry(
                NOW - 110, TimelineKind.OPENED, "The node's storage stalls: 3 at once, rack=r04"
            ),
            TimelineEntry(NOW - 100, TimelineKind.GREW, "1 more, 4 in all"),
        ),
    )
    plain = {"device_name": "", "device": ""}
    return [
        *(incident_now(one, **plain) for one in members),
        incident_now(group, rack="r04", **plain),
    ]


def rules_now(*incidents: IncidentNow, **changes: Any) -> RulesNow:
    """How judging goes with these."""
    counts: dict[str, int] = {}
    single = [one.incident for one in incidents if not one.incident.group_incident]
    going_on = [one for one in single if one.state == "open"]
    for one in going_on:
        if one.muted_by is None:
            counts[one.severity] = counts.get(one.severity, 0) + 1
    usual: dict[str, Any] = {
        "evaluated": True,
        "rules": 189,
        "problems": (),
        "open": counts,
        "muted": sum(one.muted_by is not None for one in going_on),
        "omitted": 0,
        "is_reset": False,
    }
    return RulesNow(**{**usual, **changes})


def everything() -> list[IncidentNow]:
    """One of each kind."""
    return [over(), muted(), hint(), *storm(), low_power(), job(), lost()]


def fleet_with_incidents(
    *incidents: IncidentNow, view: FleetView | None = None, **changes: Any
) -> FleetView:
    """A fleet with incidents; `changes` are to how judging goes."""
    rules = rules_now(*incidents, **changes)
    fleet = view or fleet_view(40, faults=FAULTS)
    return msgspec.structs.replace(fleet, rules=rules, incidents=incidents)


def past(started: float = NOW - 420) -> RecentHistory:
    """Fifteen minutes of a device whose power fell when it began."""
    watts: list[float | None] = []
    load: list[float | None] = []
    for step in range(90):
        time = NOW - (89 - step) * 10
        low = time >= started
        watts.append(120.0 + step % 3 if low else 610.0 + step % 5 * 6)
        load.append(0.99 if step % 7 else 0.93)
    return RecentHistory(
        step_s=10.0,
        end=NOW,
        values={"power_watts": watts, "utilization_ratio": load, "memory_used_bytes": [None] * 90},
    )


def graphs(started: float = NOW - 420) -> IncidentGraphs:
    """The same beside 59 peers whose power stays; a gap of the device, and one of the peers."""
    alone = past(started)
    watts = tuple(alone.values["power_watts"])
    watts = (*watts[:70], *[None] * 6, *watts[76:])
    middle = tuple(None if 20 <= step < 26 else 612.0 + step % 4 * 5 for step in range(90))
    return IncidentGraphs(
        id="i7",
        line="n002 nvidia3",
        band="other devices of job 48101 and model NVIDIA H100 80GB HBM3",
        since=timestamp(started),
        end=timestamp(NOW),
        step_s=10.0,
        graphs=(
            QuantityGraph(
                name="power_watts",
                unit="watts",
                values=watts,
                lower_quartile=_moved(middle, -60.0),
                median=middle,
                upper_quartile=_moved(middle, 40.0),
                peers=59,
            ),
            QuantityGraph(
                name="utilization_ratio",
                unit="ratio",
                evidence=False,
                values=tuple(alone.values["utilization_ratio"]),
                lower_quartile=(0.9,) * 90,
                median=(0.95,) * 90,
                upper_quartile=(0.98,) * 90,
                peers=59,
            ),
        ),
        notes=("no history of throttle_active.thermal_hardware is kept on this hub",),
    )


def _moved(line: Line, by: float) -> Line:
    return tuple(None if value is None else value + by for value in line)


def explanation() -> Explanation:
    """Why it fires."""
    parts = (
        ExplanationRow(
            key="when",
            depth=0,
            text='avg(power_watts, "5m") < 0.6 * peer_median(power_watts)',
            value=None,
            truth="true",
            reason="",
        ),
        ExplanationRow(
            key="when", depth=1, text='avg(power_watts, "5m")', value=120.4, truth="", reason=""
        ),
        ExplanationRow(
            key="when",
            depth=1,
            text="0.6 * peer_median(power_watts)",
            value=372.0,
            truth="",
            reason="",
        ),
        ExplanationRow(
            key="confirm",
            depth=0,
            text="utilization_ratio > 0.5",
            value=None,
            truth="unknown",
            reason="stale",
        ),
    )
    return Explanation(
        rule="jobs.straggler", entity="n002/nvidia3", phase="firing", phase_s=None, components=parts
    )
