"""What the faults of a scenario have made of a node and its devices at a moment. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.scenario.effects import DeviceCondition, condition_of
from accelwatch.scenario.faults import NODE_KINDS, Fault, FaultKind, Spell
from accelwatch_simulator.nodes import Unit
from accelwatch_simulator.scenario import NodeFault, Scenario


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What is unlike the usual on one node."""

    refusal: FaultKind | None = None
    """How the node fails to answer: down, hung, slow or garbage."""
    skew_s: float = 0.0
    devices: dict[int, DeviceCondition] = {}


USUAL = NodeCondition()
_REFUSALS = (
    FaultKind.NODE_DOWN,
    FaultKind.NODE_HUNG,
    FaultKind.GARBAGE,
    FaultKind.SLOW_LORIS,
)
"""The first that is there wins."""


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
        standing = [(fault, now) for fault in faults if (now := fault.spell(time_s))]
        if not standing:
            return USUAL
        kinds = {fault.spec.kind for fault, now in standing if now.active}
        skew = sum(
            fault.by_s
            for fault, now in standing
            if now.active and fault.spec.kind is FaultKind.CLOCK_SKEW
        )
        return NodeCondition(
            refusal=next((kind for kind in _REFUSALS if kind in kinds), None),
            skew_s=skew,
            devices=_of_devices(units, standing),
        )


def _of_devices(
    units: tuple[Unit, ...], standing: Sequence[tuple[Fault, Spell]]
) -> dict[int, DeviceCondition]:
    by_device: dict[int, DeviceCondition] = {}
    for at, unit in enumerate(units):
        suffered = [
            (fault, now)
            for fault, now in standing
            if fault.spec.kind not in NODE_KINDS and fault.spec.device in ("*", at)
        ]
        if suffered:
            fabrics = (unit.model.fabric,)
            by_device[at] = condition_of(unit.device, suffered, fabrics, source="simulator")
    return by_device
