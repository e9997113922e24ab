"""Plays a scenario: composes devices and readings for a moment, and makes calls suffer its faults."""

import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Process, Reading
from accelwatch.schema.series import series_of
from accelwatch_lab.replay.options import duration_s
from accelwatch_lab.replay.player import PlayTime, loop_position
from accelwatch_lab.replay.scenario import (
    Group,
    GroupSpec,
    PartitionSpec,
    ProcessSpec,
    Scenario,
    device_names,
)
from accelwatch_lab.replay.signals import At, Terms, number, value
from accelwatch_lab.scenario.effects import MOST_EVENTS, UNREADABLE, apply, condition_of, events_of
from accelwatch_lab.scenario.faults import Fault, FaultKind, FaultState

_INTEGER_UNITS = frozenset({"bytes", "hertz", "events", "", "rpm", "lanes", "generation"})
_RECHECK_S = 0.02
# Befall the call that the fault names, and no other.
_OF_CALLS = frozenset({FaultKind.HANG, FaultKind.ERROR})
_RAISED = {kind: error for kind, error in UNREADABLE.items() if kind not in _OF_CALLS}
_TEXTS = {
    FaultKind.LOST: "the device fell off the bus",
    FaultKind.GONE: "the device is gone",
    FaultKind.PERMISSION: "this user may not read the device",
    FaultKind.SUSPENDED: "the device sleeps; it was not woken",
    FaultKind.ERROR: "the driver answered with an error",
}


class _Actor(msgspec.Struct, frozen=True):
    """One device of a group."""

    device: Device
    group: Group
    # Within the group.
    index: int


class ScenarioPlayer:
    """Pure in its answers; only `enter` blocks, sleeps or kills. `now` gives the seconds played."""

    def __init__(self, scenario: Scenario, *, loop: bool, now: Callable[[], float]) -> None:
        self._scenario = scenario
        self._loop = loop
        self._now = now
        self._actors = {actor.device.id: actor for actor in _cast(scenario.groups)}
        self._turns = 0
        # How many events each fault has given in this turn.
        self._emitted: dict[int, int] = {}

    def _position(self, elapsed_s: float) -> tuple[int, float]:
        return loop_position(elapsed_s, self._scenario.length_s, loop=self._loop)

    def _active(self, elapsed_s: float, name: str) -> list[Fault]:
        return [fault for fault, now in self._episodes(elapsed_s, name) if now.active]

    def _episodes(self, elapsed_s: float, name: str) -> list[tuple[Fault, FaultState]]:
        """The faults of a device, or of a call of no device, that have come by now."""
        position = self._position(elapsed_s)[1]
        return [
            (fault, now)
            for fault in self._scenario.faults
            if fault.spec.device in ("*", name) and (now := fault.state_at(position))
        ]

    def enter(self, call: str, device: Device | None) -> None:
        """Die, block, wait or raise as the active faults of this call say."""
        name = device.name if device else "*"
        for fault in self._active(self._now(), name):
            if fault.spec.call.value != call:
                continue
            if fault.spec.kind is FaultKind.CRASH:
                os.kill(os.getpid(), signal.SIGSEGV)
            elif fault.spec.kind is FaultKind.HANG:
                self._hang(fault)
            elif fault.spec.kind is FaultKind.SLOW:
                threading.Event().wait(fault.delay_s)
            elif fault.spec.kind is FaultKind.ERROR:
                _raise(fault)

    def _hang(self, fault: Fault) -> None:
        never = threading.Event()
        if fault.lasts_s is None:
            never.wait()
        while fault.active(self._position(self._now())[1]):
            never.wait(_RECHECK_S)

    def devices(self, play_time: PlayTime) -> Sequence[Device]:
        """Devices that are not gone; those that are lost or denied are among them."""
        return tuple(
            actor.device
            for actor in self._actors.values()
            if not any(
                fault.spec.kind is FaultKind.GONE
                for fault in self._active(play_time.elapsed_s, actor.device.name)
            )
        )

    def _actor(self, device: Device, play_time: PlayTime) -> _Actor:
        actor = self._actors.get(device.id)
        if actor is None:
            raise DeviceLost(f"{device.name} is not in the scenario")
        for fault in self._active(play_time.elapsed_s, actor.device.name):
            if fault.spec.kind in _RAISED:
                _raise(fault)
        return actor

    def identity(self, device: Device, play_time: PlayTime) -> Sequence[Device]:
        """The device and its partitions. Raises the ReadError of an active fault."""
        actor = self._actor(device, play_time)
        partitions = (
            _partition(actor.device, at, spec) for at, spec in _partition_specs(actor.group)
        )
        return (actor.device, *partitions)

    def readings(self, device: Device, play_time: PlayTime) -> Sequence[Reading]:
        """Composed readings. Raises the ReadError of an active fault."""
        actor = self._actor(device, play_time)
        collected = Collected(actor.device.id)
        self._fill(collected, actor, actor.group.signals, play_time)
        for path, reason in actor.group.spec.absent.items():
            _withhold(collected, series_of(path), reason)
        episodes = self._episodes(play_time.elapsed_s, actor.device.name)
        suffered = condition_of(actor.device, episodes, _fabrics(collected), source="replay")
        apply(collected.values, suffered)
        collected.absent.update(suffered.withheld)
        processes = tuple(_process(actor, spec, play_time) for spec in actor.group.spec.processes)
        readings = [collected.reading(processes=processes, sources={"*": "replay"})]
        for at, (partition, signals) in enumerate(actor.group.partitions):
            row = Collected(_partition(actor.device, at, partition).id)
            self._fill(row, actor, signals, play_time)
            readings.append(row.reading(sources={"*": "replay"}))
        return tuple(readings)

    def _fill(
        self, row: Collected, actor: _Actor, signals: dict[Series, Terms], play_time: PlayTime
    ) -> None:
        position = self._position(play_time.elapsed_s)[1]
        for series, terms in signals.items():
            salt = f"{actor.device.name}/{'.'.join(series)}"
            at = At(position, play_time.elapsed_s, actor.index, salt)
            is_integer = by_key()[series[0]].unit in _INTEGER_UNITS
            row.put(series[0], value(terms, at, is_integer=is_integer), *series[1:])

    def events(self, play_time: PlayTime) -> Sequence[ErrorEvent]:
        """Event faults whose time has come since the last call, again in every loop."""
        turns, position = self._position(play_time.elapsed_s)
        if turns != self._turns:
            self._turns, self._emitted = turns, {}
        fresh: list[ErrorEvent] = []
        for at, fault in enumerate(self._scenario.faults):
            now = fault.state_at(position)
            if now is None or fault.spec.kind is not FaultKind.EVENT:
                continue
            missing = now.times - self._emitted.get(at, 0)
            self._emitted[at] = now.times
            fresh += self._events_of(fault, now.times, missing, play_time.wall - position)
        return tuple(fresh)

    def _events_of(self, fault: Fault, times: int, missing: int, origin: float) -> list[ErrorEvent]:
        return [
            msgspec.structs.replace(event, time=event.time + origin)
            for actor in self._actors.values()
            if fault.spec.device in ("*", actor.device.name)
            for event in events_of(fault, times, min(missing, MOST_EVENTS), actor.device, "replay")
        ]


def _fabrics(row: Collected) -> list[str]:
    return sorted({series[1] for series in row.values if series[0] == "interconnect_links"})


def _text(fault: Fault) -> str:
    return fault.spec.text or _TEXTS.get(fault.spec.kind, fault.spec.kind.value)


def _raise(fault: Fault) -> NoReturn:
    code = str(fault.spec.code) or fault.spec.kind.value
    raise UNREADABLE[fault.spec.kind](_text(fault), code=code)


def _withhold(row: Collected, series: Series, reason: Absence) -> None:
    """Remove the value of a series, or all of a quantity, and say why."""
    for withheld in [candidate for candidate in row.values if candidate[: len(series)] == series]:
        del row.values[withheld]
    row.absent[series] = reason


def _cast(groups: tuple[Group, ...]) -> list[_Actor]:
    names = device_names(tuple(group.spec for group in groups))
    order: dict[str, int] = {}
    actors = []
    for group, row in zip(groups, names, strict=True):
        for index, name in enumerate(row):
            vendor_index = order.get(group.spec.vendor, 0)
            order[group.spec.vendor] = vendor_index + 1
            device = _device(group.spec, name, vendor_index, index)
            actors.append(_Actor(device, group, index))
    return actors


def _device(spec: GroupSpec, name: str, vendor_index: int, index: int) -> Device:
    return Device(
        id=f"{spec.vendor}:replay-{name}",
        vendor=spec.vendor,
        backend="replay",
        index=vendor_index,
        name=name,
        kind=spec.kind,
        model=spec.model,
        architecture=spec.architecture,
        uuid=f"replay-{name}",
        driver_version=spec.driver_version,
        pci_bus_id=_bus(spec.pci_bus_id, index),
        memory_kind=spec.memory_kind,
        partition_mode=spec.partition_mode,
    )


def _bus(first: str | None, index: int) -> str | None:
    """The PCI id `index` buses after the first one."""
    if first is None:
        return None
    domain, bus, slot = normal_pci_bus_id(first).split(":")
    position = int(domain, 16) * 256 + int(bus, 16) + index
    return f"{position // 256 & 0xFFFF:04x}:{position % 256:02x}:{slot}"


def _partition_specs(group: Group) -> list[tuple[int, PartitionSpec]]:
    return [(at, spec) for at, (spec, _) in enumerate(group.partitions)]


def _partition(parent: Device, at: int, spec: PartitionSpec) -> Device:
    return msgspec.structs.replace(
        parent,
        id=f"{parent.id}/{spec.name}",
        uuid=f"{parent.uuid}-{spec.name}",
        index=at,
        name=f"{parent.name}.{at}",
        parent_id=parent.id,
        partition=spec.name,
        partition_technology=spec.technology,
        partition_profile=spec.profile,
        partition_mode=None,
    )


def _process(actor: _Actor, spec: ProcessSpec, play_time: PlayTime) -> Process:
    memory = spec.gpu_memory_bytes
    return Process(
        device_id=actor.device.id,
        pid=spec.pid + actor.index,
        pid_namespace="foreign",
        type=spec.type,
        start_time=play_time.wall - play_time.elapsed_s - duration_s(spec.age),
        user=spec.user,
        command=spec.command,
        gpu_memory_bytes=None if memory is None else int(number(memory)),
        utilization_ratio=spec.utilization_ratio,
    )
