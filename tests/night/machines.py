"""The nodes of a night as they really are, and what their agents tell of them."""

from dataclasses import dataclass, field

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.fleet.target import Target, targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, wholly_absent
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.context import Event
from night.scheduler import NightScheduler
from support.fleet.two_nodes import view
from support.machines import composed as machines

AGENT_EVERY_S = 5.0
_LINKS: Series = ("interconnect_links", "nvlink", "down")
_CLOCK: Series = ("clock_hertz", "sm")


@dataclass
class Ailment:
    """What is wrong with a node now."""

    state: DeviceState = DeviceState.OK
    values: dict[Series, Number] = field(default_factory=dict)
    # Whether a job on the node makes no progress.
    stops_work: bool = True
    # Reboots that cure it; None: it takes something else.
    boots: int | None = 1

    def is_cured_by(self, boots: int) -> bool:
        return self.boots is not None and boots >= self.boots


def links_down() -> Ailment:
    return Ailment(values={_LINKS: 2})


def slow() -> Ailment:
    return Ailment(values={_CLOCK: 900_000_000}, stops_work=False, boots=None)


@dataclass
class Machine:
    """One node with one device."""

    name: str
    rack: str
    target: Target
    ailment: Ailment | None = None
    boots_at_onset: int = 0
    agent: bool = True
    # Unix seconds at which its agent was heard last.
    reported_at: float = 0.0
    # Since when its device is not read any more.
    stuck_at: float | None = None
    events: list[Event] = field(default_factory=list)
    well: DeviceView | None = None

    @property
    def is_well(self) -> bool:
        return self.ailment is None or not self.ailment.stops_work


class Machines:
    """All of them; they outlive the hubs that hear them."""

    def __init__(self, world: NightScheduler, racks: int) -> None:
        self.world = world
        self.all: dict[str, Machine] = {}
        for at, name in enumerate(world.nodes):
            rack = f"r{at % racks}"
            labels = {"node": name, "rack": rack, "pool": "train"}
            (target,) = targets_of([name], labels, "https")
            self.all[name] = Machine(name, rack, target)
            world.nodes[name].boot_id = f"{name}-1"

    def boots(self, name: str) -> int:
        return int(self.world.nodes[name].boot_id.rpartition("-")[2])

    def ail(self, name: str, ailment: Ailment) -> None:
        machine = self.all[name]
        machine.ailment, machine.boots_at_onset = ailment, self.boots(name)
        now = self.world.clock.wall()
        machine.stuck_at = now if ailment.state is DeviceState.UNRESPONSIVE else None

    def cure(self, name: str) -> None:
        machine = self.all[name]
        machine.ailment, machine.stuck_at = None, None

    def event(self, name: str, code: str, category: Category, fleet: Fleet | None) -> None:
        """The driver tells of something; an agent tells it again to each hub that begins."""
        machine = self.all[name]
        event = ErrorEvent(
            code=code,
            category=category,
            time=self.world.clock.wall(),
            text=f"{code} in the kernel's log",
            source="kernel_log",
            device_id=_device_id(name),
        )
        machine.events.append(Event(sequence=len(machine.events) + 1, event=event))
        if fleet is not None:
            _record(fleet, machine, machine.events[-1:], again=False)

    def greet(self, fleet: Fleet) -> None:
        """A hub has begun: each agent tells what it knows."""
        fleet.set_targets([machine.target for machine in self.all.values()])
        for machine in self.all.values():
            machine.reported_at = 0.0

    def report(self, fleet: Fleet) -> None:
        """Every agent that can tells how its node is; who was cured by a reboot is well."""
        for name, machine in self.all.items():
            ailment, node = machine.ailment, self.world.nodes[name]
            if ailment is not None and ailment.is_cured_by(
                self.boots(name) - machine.boots_at_onset
            ):
                self.cure(name)
            up = node.powered and node.booting_until is None and name not in self.world.silent
            if up and machine.agent:
                self._report(fleet, machine)

    def _report(self, fleet: Fleet, machine: Machine) -> None:
        now = self.world.clock.wall()
        source = fleet.source(machine.target.key)
        assert source is not None
        self._introduce(source, machine)
        first = machine.reported_at == 0.0
        fleet.read(machine.target.key, [_view(machine, now)], now, AGENT_EVERY_S)
        machine.reported_at = now
        if first and machine.events:
            _record(fleet, machine, machine.events, again=True)

    def _introduce(self, source: TargetSource, machine: Machine) -> None:
        boot = self.world.nodes[machine.name].boot_id
        if source.boot_id != boot:
            source.dialect, source.host_name, source.boot_id = "accelwatch", machine.name, boot


def _record(fleet: Fleet, machine: Machine, events: list[Event], *, again: bool) -> None:
    fleet.events.record(
        machine.name,
        machine.target.key,
        events,
        ours=lambda time: time,
        name=lambda _: "nvidia0",
        again=again,
    )


def _device_id(node: str) -> str:
    return f"nvidia:GPU-{node}"


def _view(machine: Machine, now: float) -> DeviceView:
    ailment = machine.ailment
    if ailment is None:
        if machine.well is None:
            machine.well = _made(machine.name, {})
        return msgspec.structs.replace(machine.well, sample_time=now)
    made = _made(machine.name, ailment.values)
    if ailment.state is DeviceState.OK:
        return msgspec.structs.replace(made, sample_time=now)
    absence = Absence.LOST if ailment.state is DeviceState.LOST else Absence.TIMEOUT
    return msgspec.structs.replace(
        made,
        state=ailment.state,
        reading=wholly_absent(made.device.id, absence),
        sample_time=now if machine.stuck_at is None else machine.stuck_at,
    )


def _made(node: str, values: dict[Series, Number]) -> DeviceView:
    id_ = _device_id(node)
    device = machines.device(0, id=id_, uuid=id_, serial=f"board-{node}")
    whole = view(0, values, device=device)
    reading = msgspec.structs.replace(whole.reading, device_id=id_)
    return msgspec.structs.replace(whole, reading=reading)
