"""What a hub sees of its nodes, as the remedies want it: who they are, and whether they look well."""

import hashlib
from collections.abc import Collection

import msgspec

from accelwatch.alerting.rules.timing import silence_s
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.machine import machine_of
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import OURS
from accelwatch.remediation.policy.guards.identity import Machine
from accelwatch.remediation.policy.state.world import NodeStatus
from accelwatch.schema.device import UP, DeviceState

# After which a node's status is sent again though only its time has changed: that of a decision may
# be a minute old.
AGAIN_S = 20.0
# A device that was not read for so long is not known to be healthy.
SAMPLE_S = 30.0
_MAY_BE_WELL = UP | {DeviceState.EXCLUDED}


class NodeStatusReader:
    """What is seen of nodes, and which of it is news; for the hub's event loop."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # Valid while the node has the same devices (`shape`) and machine; both are compared at each
        # use.
        self._cached: dict[str, _CachedNode] = {}
        self._reported: dict[str, NodeStatus] = {}

    def status_of(self, node: Node, troubled: Collection[str], ceiling: str) -> NodeStatus:
        """What is known of a node now; `troubled` are those on which a rule that could act fires."""
        machine, best = machine_of(node), node.best
        now = self._fleet.clock.monotonic()
        cached = self._cached.get(node.name)
        if cached is None or (cached.shape, cached.machine) != (node.shape, machine):
            cached = self._cached[node.name] = _cached_node(node, machine)
        status = self._reported[node.name] = NodeStatus(
            node=node.name,
            time=0.0 if best is None else best.arrived_wall,
            healthy=is_healthy(self._fleet, node, troubled),
            interval_s=1.0 if best is None else best.interval_s,
            late=node.is_silent(now),
            late_devices=late_devices_of(node, now),
            down=self._fleet.state_of(node) is NodeState.DOWN,
            generation=cached.generation,
            boot_id=machine.boot_id,
            system_uuid=machine.system_uuid,
            host_name=machine.host,
            boot_time=machine.boot_time,
            serials=cached.serials,
            labels=cached.labels,
            rack=cached.labels.get("rack", ""),
            model=cached.model,
            ceiling=ceiling,
        )
        return status

    def changed_status(
        self, node: Node, troubled: Collection[str], ceiling: str
    ) -> NodeStatus | None:
        """The same, unless it was sent just now and only its time has changed."""
        before = self._reported.get(node.name)
        now = self.status_of(node, troubled, ceiling)
        # If the clock was set back, the age of the status sent before is unknown.
        if before is None or not 0.0 <= now.time - before.time < AGAIN_S:
            return now
        if msgspec.structs.replace(now, time=before.time) != before:
            return now
        self._reported[node.name] = before
        return None

    def has_turned(self, node: Node) -> bool:
        """Whether a node whose status was sent has fallen silent since, or reports again."""
        reported = self._reported.get(node.name)
        now = self._fleet.clock.monotonic()
        return reported is not None and (
            reported.late is not node.is_silent(now)
            or reported.late_devices != late_devices_of(node, now)
        )

    def forget_others(self, nodes: Collection[str]) -> None:
        """Know only these nodes any more."""
        for name in self._reported.keys() - nodes:
            del self._reported[name]
            self._cached.pop(name, None)


class _CachedNode(msgspec.Struct, frozen=True):
    """What of a node is another only when its shape or its machine is."""

    shape: int
    machine: Machine
    serials: dict[str, str]
    labels: dict[str, str]
    model: str
    generation: str


def _cached_node(node: Node, machine: Machine) -> _CachedNode:
    models = [device.device.model for device in node.devices.values() if device.device.model]
    return _CachedNode(
        node.shape,
        machine,
        serials_of(node),
        dict(node.labels),
        models[0] if models else "",
        generation_of(node, machine.boot_id),
    )


def late_devices_of(node: Node, now: float) -> tuple[str, ...]:
    """Ids of the devices whose own source is silent; where there is one source, the node is."""
    if len(node.sources) < 2:
        return ()
    silent = {
        id(source): source.arrived is None or now - source.arrived > silence_s(source.interval_s)
        for source in node.sources.values()
    }
    if not any(silent.values()):
        return ()
    origins = {key: node.origin(device) for key, device in node.devices.items()}
    return tuple(key for key, source in origins.items() if source is None or silent[id(source)])


def is_healthy(fleet: Fleet, node: Node, troubled: Collection[str]) -> bool | None:
    """Whether a node looks well; None where fresh data does not say it."""
    best = node.best
    if best is None or fleet.state_of(node) not in SPEAKING or not node.devices:
        return None
    devices = node.devices.values()
    # What a degraded device amounts to is for rules to say.
    if node.name in troubled or any(device.state not in _MAY_BE_WELL for device in devices):
        return False
    if any(True for _ in node.missing()):
        return False
    if any(device.state == DeviceState.EXCLUDED for device in devices):
        # Nobody has read it: it may be well or not.
        return None
    if best.dialect != OURS:
        # Another's exporter says nothing of when a device was read.
        return True
    samples = [device.sample_time for device in devices]
    # The node's own clock counts the age of its own samples.
    fresh = all(time is not None and best.time - time <= SAMPLE_S for time in samples)
    return True if fresh else None


def serials_of(node: Node) -> dict[str, str]:
    """Serial, else uuid, of each device by its name: what changes when a board is exchanged."""
    devices = (present.device for present in node.devices.values())
    return {device.name: device.serial or device.uuid or device.id for device in devices}


def generation_of(node: Node, boot_id: str) -> str:
    """One token for this boot with this hardware; empty while either is unknown."""
    serials = serials_of(node)
    if not boot_id or not serials:
        return ""
    text = "\n".join(f"{slot}={serial}" for slot, serial in sorted(serials.items()))
    return hashlib.sha256(f"{boot_id}\n{text}".encode()).hexdigest()[:16]
