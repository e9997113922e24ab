"""What the faults of a scenario have made of a node and its devices at a moment. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.schema.event import Category, ErrorEvent
from accelwatch_lab.scenario.effects import DeviceCondition, condition_of
from accelwatch_lab.scenario.faults import NODE_KINDS, Fault, FaultKind, FaultState
from accelwatch_lab.simulator.nodes import Unit
from accelwatch_lab.simulator.scenario import NodeFault, Scenario


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What is unlike the usual on one node."""

    # How the node fails to answer: down, hung, slow or garbage.
    refusal: FaultKind | None = None
    skew_s: float = 0.0
    # Seconds of the scenario at which it rebooted.
    booted_s: float | None = None
    # Processes that wait in its kernel.
    blocked: int = 0
    # Of the node itself; their times in seconds of the scenario.
    events: tuple[ErrorEvent, ...] = ()
    devices: dict[int, DeviceCondition] = {}


USUAL = NodeCondition()
_SERVER = "storage01"
_BLOCKED = 24
# The first that is there wins.
_REFUSALS = (
    FaultKind.NODE_DOWN,
    FaultKind.NODE_HUNG,
    FaultKind.GARBAGE,
    FaultKind.SLOW_LORIS,
)


class Conditions:
    """The faults of a scenario by node."""

    def __init__(self, scenario: Scenario) -> None:
        self._by_node: dict[str, list[NodeFault]] = {}
        for fault in scenario.faults:
            for name in fault.nodes:
                self._by_node.setdefault(name, []).append(fault)

    def of(self, node: str, units: tuple[Unit, ...], time_s: float) -> NodeCondition:
        """The condition of a node `time_s` seconds into the scenario."""
        faults = self._by_node.get(node)
        if faults is None:
            return USUAL
        started = [(fault, now) for fault in faults if (now := fault.state_at(time_s))]
        if not started:
            return USUAL
        kinds = {fault.spec.kind for fault, now in started if now.active}
        if FaultKind.REBOOT in kinds:
            kinds.add(FaultKind.NODE_DOWN)
        skew = sum(
            fault.by_s
            for fault, now in started
            if now.active and fault.spec.kind is FaultKind.CLOCK_SKEW
        )
        return NodeCondition(
            refusal=next((kind for kind in _REFUSALS if kind in kinds), None),
            skew_s=skew,
            booted_s=max(
                (
                    now.since_s + (fault.lasts_s or 0.0)
                    for fault, now in started
                    if fault.spec.kind is FaultKind.REBOOT and not now.active
                ),
                default=None,
            ),
            blocked=_BLOCKED if FaultKind.NFS_STALL in kinds else 0,
            events=tuple(
                event
                for fault, now in started
                if fault.spec.kind is FaultKind.NFS_STALL
                for event in _stall_events(fault, now)
            ),
            devices=_of_devices(units, started),
        )


def _stall_events(fault: Fault, now: FaultState) -> list[ErrorEvent]:
    """What the kernel says of a file server that falls silent and answers again."""
    silent = f"nfs: server {_SERVER} not responding, still trying"
    events = [_kernel("nfs_not_responding", now.since_s, silent)]
    if not now.active:
        end_s = now.since_s + (fault.lasts_s or 0.0)
        events.append(_kernel("nfs_ok", end_s, f"nfs: server {_SERVER} OK"))
    return events


def _kernel(code: str, time_s: float, text: str) -> ErrorEvent:
    return ErrorEvent(
        code=code,
        category=Category.OTHER,
        time=time_s,
        text=text,
        source="simulator",
        subject=_SERVER,
    )


def _of_devices(
    units: tuple[Unit, ...], started: Sequence[tuple[Fault, FaultState]]
) -> dict[int, DeviceCondition]:
    by_device: dict[int, DeviceCondition] = {}
    for at, unit in enumerate(units):
        suffered = [
            (fault, now)
            for fault, now in started
            if fault.spec.kind not in NODE_KINDS and fault.spec.device in ("*", at)
        ]
        if suffered:
            fabrics = (unit.model.fabric,)
            by_device[at] = condition_of(unit.device, suffered, fabrics, source="simulator")
    return by_device
