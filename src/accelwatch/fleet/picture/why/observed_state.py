"""What is known at one moment of a machine or a fleet, in the one form that answers are made from."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.model.incident import IncidentState
from accelwatch.fleet.hub_states import HUB_DOWN
from accelwatch.fleet.names import GONE, NodeState
from accelwatch.fleet.odd.documents import text_of
from accelwatch.fleet.picture.model import UTILIZATION, FleetView
from accelwatch.fleet.wire import NodeFinding
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView, Snapshot, observed_since, unusable
from accelwatch.schema.status.device_status import CALM_THROTTLES, effective_state
from accelwatch.schema.status.verdict import NOTHING_WRONG, Verdict, verdict


class ObservedDevice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A device or partition."""

    node: str
    id: str
    # Short name, `nvidia6`.
    name: str
    index: int
    uuid: str = ""
    # False for a partition.
    is_full: bool = True
    # How it stands, a word of `schema.standing`.
    state: str
    health: str
    # Unix seconds since when its state is what it is; 0 where that is not known.
    since: float = 0.0
    load_ratio: float | None = None
    jobs: tuple[str, ...] = ()
    user: str = ""
    # What is wrong with it in words, as far as its node's own document is known.
    verdict: Verdict = NOTHING_WRONG
    # Why its clocks are held down, in words of the catalogue's `throttle_active`.
    slowed_by: tuple[str, ...] = ()


class ObservedNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node."""

    node: str
    state: str = NodeState.UP
    # Seconds since it reported.
    age_s: float | None = None
    missing: int = 0
    # Why it is silent; of one that reports, what of it cannot be read.
    reason: str = ""
    # What to do about that.
    remedy: str = ""
    # In what it differs from the many alike, in words.
    odd: str = ""
    # How often the worst of its hardware has failed lately, in words; empty where it has not.
    record: str = ""
    # What the detector suspects it of.
    finding: NodeFinding | None = None


class ObservedState(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    # Unix seconds.
    time: float
    nodes: Mapping[str, ObservedNode]
    devices: Sequence[ObservedDevice]
    # Those that are open.
    incidents: Sequence[IncidentDocument] = ()
    # What a hub does about a node, in words, by its name.
    steps: Mapping[str, str] = {}
    # Unix seconds since when what waits has been idle; 0 where it never worked or nobody has looked.
    idle_since: float = 0.0
    # Hubs whose part is missing, of several, each with what is wrong with it.
    missing: tuple[str, ...] = ()


def observed_machine(
    snapshot: Snapshot, incidents: Iterable[IncidentDocument] = ()
) -> ObservedState:
    """One machine, as it was read or as its agent reports it."""
    return ObservedState(
        time=snapshot.time,
        nodes={snapshot.host: _with_unread(ObservedNode(node=snapshot.host), snapshot)},
        devices=_read_devices(snapshot.host, snapshot),
        incidents=_open(incidents),
    )


def observed_fleet(view: FleetView, steps: Mapping[str, str] | None = None) -> ObservedState:
    """A fleet, as a hub's stream sends it: without the reasons of devices (see `with_node`)."""
    devices = []
    for now in view.devices:
        device = view.slots[now.slot]
        if device is None:
            continue
        devices.append(
            ObservedDevice(
                node=device.node,
                id=device.id,
                name=device.name,
                index=device.index,
                uuid=device.uuid or "",
                is_full=device.parent_id is None,
                state=effective_state(now.state, now.health),
                health=now.health,
                load_ratio=now.values[UTILIZATION],
                jobs=_names(device.job),
                user=device.user or "",
            )
        )
    nodes = (
        ObservedNode(
            node=node.node,
            state=node.state,
            age_s=node.age_s,
            missing=node.devices_missing,
            reason=node.why,
            odd=text_of(node.odd),
            record="" if node.lemon is None else node.lemon.sentence,
            finding=node.finding,
        )
        for node in view.nodes
    )
    return ObservedState(
        time=view.time,
        nodes={node.node: node for node in nodes},
        devices=devices,
        incidents=_open(entry.incident for entry in view.incidents),
        steps=steps or {},
        missing=tuple(
            f"hub {hub.name}: {hub.fault or hub.state}"
            for hub in view.hubs
            if hub.state == HUB_DOWN
        ),
    )


def with_node(
    observed: ObservedState, node: str, snapshot: Snapshot, *, silent: str = "", remedy: str = ""
) -> ObservedState:
    """The observed state completed by the node's own document: reasons, and since when.

    How a device stands and whose it is stays as the fleet has it, which is newer or knows the owner of
    what has gone. Devices that a filter kept from the observed state are added.
    """
    by_id = {device.id: device for device in _read_devices(node, snapshot)}
    devices = [
        _with_reasons(device, own)
        if device.node == node and (own := by_id.get(device.id))
        else device
        for device in observed.devices
    ]
    existing_ids = {device.id for device in observed.devices if device.node == node}
    before = observed.nodes.get(node) or ObservedNode(node=node)
    added = [device for device in by_id.values() if device.id not in existing_ids]
    devices += [_on_silent_node(device, before.state) for device in added] if silent else added
    if silent:
        reason = silent.removeprefix(f"{node} is {before.state}: ")
        updated = msgspec.structs.replace(before, reason=reason, remedy=remedy)
    else:
        updated = _with_unread(before, snapshot)
    return msgspec.structs.replace(
        observed, devices=devices, nodes={**observed.nodes, node: updated}
    )


def _on_silent_node(device: ObservedDevice, state: str) -> ObservedDevice:
    """A device of a silent node: it does not hang, it does not report; a lost one is lost."""
    if device.state == DeviceState.LOST:
        return device
    return msgspec.structs.replace(device, state=GONE.get(NodeState(state), device.state))


def _with_reasons(device: ObservedDevice, own: ObservedDevice) -> ObservedDevice:
    """The device with why and since when, by its own node; one that was lost still is."""
    lost = own.state == DeviceState.LOST and device.state in GONE.values()
    return msgspec.structs.replace(
        device,
        state=own.state if lost else device.state,
        since=own.since,
        verdict=own.verdict,
        slowed_by=own.slowed_by,
    )


def _with_unread(node: ObservedNode, snapshot: Snapshot) -> ObservedNode:
    """With what of the node cannot be read, as its own document says."""
    broken = unusable(snapshot.backends)
    return msgspec.structs.replace(
        node,
        reason="; ".join(backend.complaint for backend in broken),
        remedy=next((backend.remedy for backend in broken if backend.remedy), ""),
    )


def _read_devices(node: str, snapshot: Snapshot) -> list[ObservedDevice]:
    return [_read_device(node, view, snapshot) for view in snapshot.devices]


def _read_device(node: str, view: DeviceView, snapshot: Snapshot) -> ObservedDevice:
    device, values = view.device, view.reading.values
    slowed = (key[1] for key, on in values.items() if key[0] == "throttle_active" and on)
    return ObservedDevice(
        node=node,
        id=device.id,
        name=device.name,
        index=device.index,
        uuid=device.uuid or "",
        is_full=device.parent_id is None,
        state=effective_state(view.state.value, view.health.value),
        health=view.health.value,
        since=observed_since(view, snapshot) or 0.0,
        load_ratio=values.get(("utilization_ratio",)),
        jobs=tuple(dict.fromkeys(owner.job_id for owner in view.owners if owner.job_id)),
        user=_user(view),
        verdict=verdict(view, snapshot),
        slowed_by=tuple(sorted(set(slowed) - CALM_THROTTLES)),
    )


def _user(view: DeviceView) -> str:
    """Whose job has it, else who runs processes on it, joined by `+`: as a fleet shows it."""
    of_jobs = next((owner.user for owner in view.owners if owner.user), "")
    return of_jobs or "+".join(
        dict.fromkeys(process.user for process in view.reading.processes or () if process.user)
    )


def _names(joined: str | None) -> tuple[str, ...]:
    return tuple(joined.split("+")) if joined else ()


def _open(incidents: Iterable[IncidentDocument]) -> tuple[IncidentDocument, ...]:
    return tuple(incident for incident in incidents if incident.state == IncidentState.OPEN)
