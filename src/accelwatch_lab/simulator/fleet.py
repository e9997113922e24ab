"""The whole fleet at a moment: loads of jobs, values of devices, snapshots of nodes.

Everything is a function of the seed, the scenario and the seconds since its beginning; `Moment` only
keeps what many nodes of one moment share.
"""

import math
import uuid

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.version import __version__
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.health import evaluate_health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Process, Reading, complete, wholly_absent
from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView, Owner, Snapshot
from accelwatch_lab.scenario.effects import DeviceCondition, apply
from accelwatch_lab.simulator.conditions import Conditions, NodeCondition
from accelwatch_lab.simulator.jobs import IDLE, Job, Load, load, together
from accelwatch_lab.simulator.nodes import Node, Unit
from accelwatch_lab.simulator.scenario import Scenario
from accelwatch_lab.simulator.signals import noise, signals

_SOURCE = "simulator"
_PID = 4000


class Instant(msgspec.Struct, frozen=True):
    """A moment of the scenario and the load of every job at it."""

    time_s: float
    loads: dict[str, Load]


class Fleet:
    """Values and snapshots of simulated nodes. `start` is the Unix time of the scenario's beginning."""

    def __init__(
        self,
        nodes: tuple[Node, ...],
        scenario: Scenario,
        *,
        seed: int,
        start: float,
        interval_s: float,
    ) -> None:
        self.nodes = nodes
        self.scenario = scenario
        self.start = start
        self.interval_s = interval_s
        self._conditions = Conditions(scenario)
        self._noise = noise(seed)
        self._jobs = _by_node(scenario)

    def play(self, scenario: Scenario) -> None:
        """Have another scenario from now on; its times count from the same beginning."""
        self.scenario = scenario
        self._conditions = Conditions(scenario)
        self._jobs = _by_node(scenario)

    def job(self, node: Node) -> Job | None:
        """The first job whose node it is, whether it has started or not."""
        return next(iter(self._jobs.get(node.name, ())), None)

    def instant_at(self, time_s: float) -> Instant:
        """The moment `time_s` seconds into the scenario."""
        return Instant(time_s, {job.name: load(job, time_s) for job in self.scenario.jobs})

    def condition(self, node: Node, instant: Instant) -> NodeCondition:
        """What the faults have made of a node."""
        return self._conditions.of(node.name, node.units, instant.time_s)

    def wall(self, instant: Instant, condition: NodeCondition) -> float:
        """Unix time by the node's clock."""
        return self.start + instant.time_s + condition.skew_s

    def origin(self, condition: NodeCondition) -> float:
        """Unix time of the scenario's beginning by the node's clock."""
        return self.start + condition.skew_s

    def load(self, node: Node, instant: Instant) -> Load:
        """The load of the devices of a node."""
        jobs = self._jobs.get(node.name)
        return IDLE if jobs is None else together([instant.loads[job.name] for job in jobs])

    def moving(self, unit: Unit, load_: Load, time_s: float) -> tuple[list[float], list[int]]:
        """The moving values of a device without faults, in the order of its plan."""
        now = signals(load_, unit.traits, time_s, self._noise, self.scenario.noise)
        return unit.plan.moving(now)

    def values(self, unit: Unit, load_: Load, time_s: float) -> dict[Series, Number]:
        """Every value of a device without faults."""
        fractions, wholes = self.moving(unit, load_, time_s)
        plan = unit.plan
        return dict(zip(plan.series, (*fractions, *wholes, *plan.constants), strict=True))

    def view(self, node: Node, at: int, instant: Instant, condition: NodeCondition) -> DeviceView:
        """Device `at` of a node as it stands."""
        unit = node.units[at]
        wall = self.wall(instant, condition)
        origin = self.origin(condition)
        suffered = condition.devices.get(at)
        state = DeviceState.OK if suffered is None else suffered.state
        events = () if suffered is None else _on_wall(suffered.events, origin)
        reading = self._reading(node, unit, instant, suffered, condition.booted_s)
        verdict = evaluate_health(state, reading, events, wall)
        readable = suffered is None or suffered.absence is None
        return DeviceView(
            device=unit.device,
            state=state,
            state_since=origin if suffered is None else origin + suffered.since_s,
            reading=reading,
            sample_time=wall if readable or suffered is None else origin + suffered.since_s,
            sample_age_s=0.0 if readable or suffered is None else instant.time_s - suffered.since_s,
            health=verdict.health,
            health_reasons=verdict.reasons,
            owners=self.owners(node, instant),
            event_counts=()
            if suffered is None
            else tuple(
                msgspec.structs.replace(count, last_time=count.last_time + origin)
                for count in suffered.counts
            ),
        )

    def _reading(
        self,
        node: Node,
        unit: Unit,
        instant: Instant,
        suffered: DeviceCondition | None,
        booted_s: float | None,
    ) -> Reading:
        if suffered is not None and suffered.absence is not None:
            return wholly_absent(unit.device.id, suffered.absence)
        values = self.values(unit, self.load(node, instant), instant.time_s)
        if booted_s is not None:
            self.restart_counters(values, node, unit, booted_s)
        if suffered is not None:
            apply(values, suffered)
        reading = Reading(
            device_id=unit.device.id,
            values=values,
            processes=self.processes(node, unit, instant),
            absent={} if suffered is None else dict(suffered.withheld),
            sources={"*": _SOURCE},
        )
        return complete(reading, frozenset())

    def restart_counters(
        self, values: dict[Series, Number], node: Node, unit: Unit, booted_s: float
    ) -> None:
        """Count from the start of the machine, as drivers do."""
        then = self.values(unit, self.load(node, self.instant_at(booted_s)), booted_s)
        for series in values:
            if series[0].endswith("_total"):
                values[series] -= then[series]

    def boot_id(self, node: Node, condition: NodeCondition) -> str:
        """Of the start of the machine that it runs since."""
        if condition.booted_s is None:
            return node.boot_id
        return str(uuid.uuid5(uuid.UUID(node.boot_id), str(condition.booted_s)))

    def running(self, node: Node, instant: Instant) -> Job | None:
        """The job that holds the devices of a node now."""
        jobs = self._jobs.get(node.name, ())
        return next((job for job in jobs if instant.loads[job.name].memory), None)

    def processes(self, node: Node, unit: Unit, instant: Instant) -> tuple[Process, ...]:
        """The processes on a device."""
        job = self.running(node, instant)
        if job is None:
            return ()
        share, size = instant.loads[job.name].memory, unit.model.memory_bytes
        return (
            Process(
                device_id=unit.device.id,
                pid=_PID + unit.device.index,
                pid_namespace="foreign",
                start_time=self.start + job.at_s,
                user=job.user,
                command=job.command,
                pod=_pod(job, node) if job.namespace else None,
                job=None if job.namespace else job.id,
                gpu_memory_bytes=int(share * size) if size else None,
                absent={} if size else {"gpu_memory_bytes": Absence.UNSUPPORTED},
            ),
        )

    def owners(self, node: Node, instant: Instant) -> tuple[Owner, ...]:
        """To whom the devices of a node are allocated."""
        job = self.running(node, instant)
        if job is None:
            return ()
        if job.namespace:
            pod = _pod(job, node)
            return (Owner(kind="kubernetes", namespace=job.namespace, pod=pod, container="main"),)
        return (
            Owner(
                kind="job",
                scheduler=job.scheduler,
                job_id=job.id,
                user=job.user,
                account=job.account,
                queue=job.queue,
            ),
        )

    def host_view(self, node: Node, instant: Instant, condition: NodeCondition) -> DeviceView:
        """The machine itself as it stands."""
        wall = self.wall(instant, condition)
        values = self.values(node.host, self.load(node, instant), instant.time_s)
        values["host_blocked_processes",] = condition.blocked
        device = node.host.device
        if condition.booted_s is not None:
            self.restart_counters(values, node, node.host, condition.booted_s)
            device = msgspec.structs.replace(device, boot_id=self.boot_id(node, condition))
        reading = Reading(device_id=device.id, values=values, sources={"*": _SOURCE})
        return DeviceView(
            device=device,
            state=DeviceState.OK,
            state_since=self.origin(condition),
            reading=complete(reading, frozenset({"host"}), host=True),
            sample_time=wall,
            sample_age_s=0.0,
            health=evaluate_health(DeviceState.OK, reading, (), wall).health,
        )

    def snapshot(self, node: Node, instant: Instant) -> Snapshot:
        """A node as its agent would report it."""
        condition = self.condition(node, instant)
        wall = self.wall(instant, condition)
        return Snapshot(
            time=wall,
            host=node.name,
            version=__version__,
            boot_id=self.boot_id(node, condition),
            interval_s=self.interval_s,
            devices=tuple(self.view(node, at, instant, condition) for at in range(len(node.units))),
            node=self.host_view(node, instant, condition),
            backends=backends(node),
            events=tuple(
                sorted(
                    _on_wall(events_of(condition), self.origin(condition)),
                    key=lambda entry: entry.time,
                )
            ),
        )


def _by_node(scenario: Scenario) -> dict[str, list[Job]]:
    """The jobs of each node, the first to begin first."""
    jobs: dict[str, list[Job]] = {}
    for job in sorted(scenario.jobs, key=lambda job: job.at_s):
        for name in job.nodes:
            jobs.setdefault(name, []).append(job)
    return jobs


def events_of(condition: NodeCondition) -> list[ErrorEvent]:
    """What happened on a node since it was started; times in seconds of the scenario."""
    events = [event for device in condition.devices.values() for event in device.events]
    since_s = -math.inf if condition.booted_s is None else condition.booted_s
    return [event for event in (*events, *condition.events) if event.time >= since_s]


def _on_wall(
    events: "tuple[ErrorEvent, ...] | list[ErrorEvent]", origin: float
) -> list[ErrorEvent]:
    return [msgspec.structs.replace(event, time=event.time + origin) for event in events]


def _pod(job: Job, node: Node) -> str:
    return f"{job.name}-{node.name}"


def backends(node: Node) -> tuple[BackendStatus, ...]:
    """What a node's devices are read through."""
    model = node.units[0].model
    return (
        BackendStatus(
            name=node.vendor,
            vendor=node.vendor,
            state=BackendState.OK,
            source=_SOURCE,
            versions={"driver": model.driver_version},
            devices=len(node.units),
        ),
    )
