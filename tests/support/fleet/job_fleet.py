"""A fleet whose nodes run jobs, and whose devices draw what a test wants for as long as it wants."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity, Evidence
from accelwatch.base.clock import ManualClock
from accelwatch.base.slices import LongWork
from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.graphs.incident_graphs import graphs_of
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Owner
from support.fleet.manual_fleet import THRESHOLDS
from support.fleet.two_nodes import view
from support.incidents.incident_samples import incident
from support.machines import composed as machines

POWER: Series = ("power_watts",)
# By node and index of the device; None where nothing is reported, absent where the device is not there.
Watts = Mapping[tuple[str, int], float | None]


def device_id(index: int = 0) -> str:
    """Id of a device; those of all nodes are called alike."""
    return machines.device(index).id


class JobFleet:
    """Polled nodes with their labels; `jobs` is the job of each node."""

    def __init__(
        self,
        nodes: Sequence[str],
        jobs: Mapping[str, str] | None = None,
        labels: Mapping[str, dict[str, str]] | None = None,
        interval_s: float = 1.0,
    ) -> None:
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, THRESHOLDS, None)
        self.jobs = dict(jobs or {})
        self.interval_s = interval_s
        # Changes to the device of a node and index, such as another model.
        self.devices: dict[tuple[str, int], dict[str, Any]] = {}
        targets = [
            target for node in nodes for target in targets_of([node], (labels or {}).get(node, {}))
        ]
        self.fleet.set_targets(targets)
        self.keys = {target.node: target.key for target in targets}

    def report(self, values: Mapping[tuple[str, int], Mapping[Series, Number | None]]) -> None:
        """What devices say now."""
        views: dict[str, list[DeviceView]] = {}
        for (node, index), numbers in values.items():
            views.setdefault(node, []).append(self._view(node, index, numbers))
        for node, reported_views in views.items():
            self.fleet.read(self.keys[node], reported_views, self.clock.wall(), self.interval_s)

    def _view(self, node: str, index: int, numbers: Mapping[Series, Number | None]) -> DeviceView:
        job = self.jobs.get(node)
        owners = () if job is None else (Owner(kind="job", scheduler="slurm", job_id=job),)
        whole = view(index, numbers, owners=owners)
        device = msgspec.structs.replace(whole.device, **self.devices.get((node, index), {}))
        return msgspec.structs.replace(whole, device=device)

    def draw(self, watts: Watts, steps: int = 1, every_s: float = 10.0) -> None:
        """Devices draw so much in each of these steps."""
        for _ in range(steps):
            self.report({key: {POWER: value} for key, value in watts.items()})
            self.clock.advance(every_s)

    def incident(
        self,
        node: str = "a",
        index: int | None = 0,
        *,
        signals: Sequence[str] = ("power_watts",),
        ago_s: float = 60.0,
        **fields: Any,
    ) -> Incident:
        """One about a device of a node, or about the node, that started a while ago."""
        scope = Scope.NODE if index is None else Scope.DEVICE
        device = "" if index is None else device_id(index)
        return incident(
            since=self.clock.wall() - ago_s,
            **{
                "entity": Entity(scope=scope, node=node, device=device),
                "evidence": tuple(Evidence(signal=signal, text=signal) for signal in signals),
                **fields,
            },
        )

    def graphs(self, about: Incident) -> IncidentGraphs:
        """What the hub answers."""
        return asyncio.run(graphs_of(self.fleet, about, LongWork()))
