"""The graphs of an incident out of what the hub keeps, in slices on its loop."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.slices import LongWork
from accelwatch.fleet.documents.graphs import IncidentGraphs, Line, QuantityGraph
from accelwatch.fleet.graphs.peers import Subject, subject_of
from accelwatch.fleet.graphs.quartiles import Quartiles, quartiles
from accelwatch.fleet.graphs.recent import SPAN, Recent, Values, onset_of
from accelwatch.fleet.graphs.signals import (
    BESIDE,
    MOST_GRAPHS,
    kept_as,
    numeric_series,
    unkept,
)
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.fleet_status import refresh_nodes
from accelwatch.fleet.table.belief import Floats
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import UP
from accelwatch.schema.display import duration
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import path_of
from accelwatch.schema.timestamps import timestamp


async def graphs_of(fleet: Fleet, incident: Incident, work: LongWork) -> IncidentGraphs:
    """At most MOST_GRAPHS; none, and the reason, where nothing is kept."""
    await refresh_nodes(fleet, (), work.yield_control)
    document = IncidentGraphs(
        id=incident.id,
        line="",
        band="",
        since=timestamp(onset_of(incident)),
        end=timestamp(fleet.clock.wall()),
        step_s=0.0,
        graphs=(),
    )
    subject = subject_of(fleet, incident.entity)
    if subject is None:
        return msgspec.structs.replace(document, notes=(_no_subject(incident),))
    await work.yield_control()
    recent = Recent(fleet, incident, subject)
    document = msgspec.structs.replace(
        document,
        line=subject.name,
        band=subject.band,
        step_s=recent.step_s,
        end=timestamp(recent.end),
    )
    if recent.is_over:
        note = f"no graph: it was over before the last {SPAN}, of which this hub keeps history"
        return msgspec.structs.replace(document, notes=(note,))
    evidence, notes = await _of_evidence(incident, subject, recent, work)
    beside = await _beside(evidence, recent, work)
    chosen = _from_first([*evidence, *beside], recent.least)
    absent = _absent(fleet, incident) if recent.ends_now else {}
    graphs = [
        await _graph(values, absent, work, evidence=at < len(evidence))
        for at, values in enumerate(chosen)
    ]
    if chosen:
        notes += _started_before(incident, recent.end - len(chosen[0].line) * recent.step_s, fleet)
    else:
        notes.append(f"no graph: no history of {subject.name} in the last {SPAN}")
    return msgspec.structs.replace(document, graphs=tuple(graphs), notes=tuple(notes))


async def _of_evidence(
    incident: Incident, subject: Subject, recent: Recent, work: LongWork
) -> tuple[list[Values], list[str]]:
    """What is drawn of it, and why something is not."""
    chosen: list[Values] = []
    notes: list[str] = []
    kept = recent.kept()
    for named in numeric_series(incident.evidence):
        series = kept_as(named, kept)
        values = None if series is None else recent.values(series)
        await work.yield_control()
        if series is None:
            notes.append(unkept(named))
        elif values is None:
            notes.append(
                f"no graph of {path_of(named)}: {subject.name} reported none in the last {SPAN}"
            )
        elif len(chosen) < MOST_GRAPHS:
            chosen.append(values)
    return chosen, notes


async def _beside(evidence: Sequence[Values], recent: Recent, work: LongWork) -> list[Values]:
    """What shows the work, where the evidence is not about it already."""
    drawn = [values.series for values in evidence]
    beside = []
    for series in BESIDE:
        values = None if series in drawn else recent.values(series)
        await work.yield_control()
        if values is not None:
            beside.append(values)
    return beside


def _from_first(chosen: Sequence[Values], least: int) -> list[Values]:
    """All from the first step in which anything is known, and so over the same steps."""
    if not chosen:
        return []
    first = min(*(values.first for values in chosen), len(chosen[0].line) - least)
    return [values.since(max(first, 0)) for values in chosen]


async def _graph(
    values: Values, absent: Mapping[str, str], work: LongWork, *, evidence: bool
) -> QuantityGraph:
    chunks: list[Quartiles] = []
    for chunk in quartiles(values.peers):
        chunks.append(chunk)
        await work.yield_control()
    lower, middle, upper = (_line(np.concatenate(arrays)) for arrays in zip(*chunks, strict=True))
    name, line = path_of(values.series), _line(values.line)
    row = by_key().get(values.series[0])
    return QuantityGraph(
        name=name,
        unit="" if row is None else row.unit,
        rate=values.rate,
        evidence=evidence,
        values=line,
        lower_quartile=lower,
        median=middle,
        upper_quartile=upper,
        peers=int((~np.isnan(values.peers)).any(axis=0).sum()),
        absent=(absent.get(name) or absent.get("*", "")) if line[-1] is None else "",
    )


def _line(values: Floats) -> Line:
    return tuple(None if math.isnan(value) else value for value in values.tolist())


def _absent(fleet: Fleet, incident: Incident) -> Mapping[str, str]:
    """Why a device has no values now: its state, and the reason of each quantity."""
    node = fleet.nodes.get(incident.entity.node)
    if node is None or not incident.entity.device:
        return {}
    device = node.devices.get(incident.entity.device)
    if device is None:
        return {"*": "the device has gone"}
    by_state = {} if device.state in UP else {"*": str(device.state)}
    try:
        reasons: Mapping[Series, object] = device.reading().absent
    except AccelwatchError:
        return by_state
    return {**{path_of(series): str(reason) for series, reason in reasons.items()}, **by_state}


def _no_subject(incident: Incident) -> str:
    """Why there is nobody whose line could be drawn."""
    entity = incident.entity
    if entity.scope in (Scope.DEVICE, Scope.NODE) and not entity.group:
        return f"no graph: this hub knows no device of {entity.node}, or not this one"
    what = "a group" if entity.group else f"a {entity.scope}"
    return f"no graph: history is kept of devices, and this is about {what}"


def _started_before(incident: Incident, start: float, fleet: Fleet) -> Sequence[str]:
    onset = onset_of(incident)
    if onset >= start:
        return ()
    return (f"it began {duration(fleet.clock.wall() - onset)} ago, before these graphs",)
