"""What is known at one moment of a machine or a fleet, in the one form that answers are made from."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.incidents.incident import IncidentState
from accelwatch.fleet.names import GONE, NodeState
from accelwatch.fleet.odd.documents import text_of
from accelwatch.fleet.picture.model import UTILIZATION, FleetView
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import DeviceView, Snapshot, known_since, unusable
from accelwatch.schema.standing import CALM_THROTTLES, standing
from accelwatch.schema.verdict import NOTHING_WRONG, Verdict, verdict


class SeenDevice(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A device or partition."""

    node: str
    id: str
    name: str
    """Short name, `nvidia6`."""
    index: int
    uuid: str = ""
    whole: bool = True
    """False for a partition."""
    word: str
    """How it stands, a word of `schema.standing`."""
    health: str
    since: float = 0.0
    """Unix seconds since when its state is what it is; 0 where that is not known."""
    load_ratio: float | None = None
    jobs: tuple[str, ...] = ()
    user: str = ""
    verdict: Verdict = NOTHING_WRONG
    """What is wrong with it in words, as far as its node's own document is known."""
    slowed_by: tuple[str, ...] = ()
    """Why its clocks are held down, in words of the catalogue's `throttle_active`."""


class SeenNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A node."""

    node: str
    state: str = NodeState.UP
    age_s: float | None = None
    """Seconds since it was heard."""
    missing: int = 0
    reason: str = ""
    """Why it is silent; of one that is heard, what of it cannot be read."""
    remedy: str = ""
    """What to do about that."""
    odd: str = ""
    """In what it differs from the many alike, in words."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    time: float
    """Unix seconds."""
    nodes: Mapping[str, SeenNode]
    devices: Sequence[SeenDevice]
    incidents: Sequence[IncidentDocument] = ()
    """Those that are open."""
    steps: Mapping[str, str] = {}
    """What a hub does about a node, in words, by its name."""
    idle_since: float = 0.0
    """Unix seconds since when what waits has been idle; 0 where it never worked or nobody has looked."""


def scene_of_machine(snapshot: Snapshot, incidents: Iterable[IncidentDocument] = ()) -> Scene:
    """One machine, as it was read or as its agent tells it."""
    return Scene(
        time=snapshot.time,
        nodes={snapshot.host: _with_unread(SeenNode(node=snapshot.host), snapshot)},
        devices=_read_devices(snapshot.host, snapshot),
        incidents=_open(incidents),
    )


def scene_of_fleet(view: FleetView, steps: Mapping[str, str] | None = None) -> Scene:
    """A fleet, as a hub's stream tells it: of no device the reasons (see `with_node`)."""
    devices = []
    for now in view.devices:
        place = view.places[now.slot]
        if place is None:
            continue
        devices.append(
            SeenDevice(
                node=place.node,
                id=place.id,
                name=place.name,
                index=place.index,
                uuid=place.uuid or "",
                whole=place.parent_id is None,
                word=standing(now.state, now.health),
                health=now.health,
                load_ratio=now.values[UTILIZATION],
                jobs=_names(place.job),
                user=place.user or "",
            )
        )
    nodes = (
        SeenNode(
            node=one.node,
            state=one.state,
            age_s=one.age_s,
            missing=one.devices_missing,
            reason=one.why,
            odd=text_of(one.odd),
        )
        for one in view.nodes
    )
    return Scene(
        time=view.time,
        nodes={one.node: one for one in nodes},
        devices=devices,
        incidents=_open(told.incident for told in view.incidents),
        steps=steps or {},
    )


def with_node(
    scene: Scene, node: str, snapshot: Snapshot, *, silent: str = "", remedy: str = ""
) -> Scene:
    """The scene with what the node's own document tells besides: reasons, and since when.

    How a device stands and whose it is stays as the fleet has it, which is newer or knows the owner of
    what has gone. Devices that a filter kept from the scene are added.
    """
    told = {one.id: one for one in _read_devices(node, snapshot)}
    devices = [
        _with_reasons(one, own) if one.node == node and (own := told.get(one.id)) else one
        for one in scene.devices
    ]
    known_ids = {one.id for one in scene.devices if one.node == node}
    before = scene.nodes.get(node) or SeenNode(node=node)
    added = [one for one in told.values() if one.id not in known_ids]
    devices += [_on_silent_node(one, before.state) for one in added] if silent else added
    if silent:
        reason = silent.removeprefix(f"{node} is {before.state}: ")
        known = msgspec.structs.replace(before, reason=reason, remedy=remedy)
    else:
        known = _with_unread(before, snapshot)
    return msgspec.structs.replace(scene, devices=devices, nodes={**scene.nodes, node: known})


def _on_silent_node(device: SeenDevice, state: str) -> SeenDevice:
    """A device of a silent node: it does not hang, nothing is heard of it; a lost one is lost."""
    if device.word == DeviceState.LOST:
        return device
    return msgspec.structs.replace(device, word=GONE.get(NodeState(state), device.word))


def _with_reasons(device: SeenDevice, own: SeenDevice) -> SeenDevice:
    """The device with why and since when, as its own node told; one that was lost still is."""
    lost = own.word == DeviceState.LOST and device.word in GONE.values()
    return msgspec.structs.replace(
        device,
        word=own.word if lost else device.word,
        since=own.since,
        verdict=own.verdict,
        slowed_by=own.slowed_by,
    )


def _with_unread(node: SeenNode, snapshot: Snapshot) -> SeenNode:
    """With what of the node cannot be read, as its own document says."""
    broken = unusable(snapshot.backends)
    return msgspec.structs.replace(
        node,
        reason="; ".join(backend.complaint for backend in broken),
        remedy=next((backend.remedy for backend in broken if backend.remedy), ""),
    )


def _read_devices(node: str, snapshot: Snapshot) -> list[SeenDevice]:
    return [_read_device(node, view, snapshot) for view in snapshot.devices]


def _read_device(node: str, view: DeviceView, snapshot: Snapshot) -> SeenDevice:
    device, values = view.device, view.reading.values
    slowed = (key[1] for key, on in values.items() if key[0] == "throttle_active" and on)
    return SeenDevice(
        node=node,
        id=device.id,
        name=device.name,
        index=device.index,
        uuid=device.uuid or "",
        whole=device.parent_id is None,
        word=standing(view.state.value, view.health.value),
        health=view.health.value,
        since=known_since(view, snapshot) or 0.0,
        load_ratio=values.get(("utilization_ratio",)),
        jobs=tuple(dict.fromkeys(one.job_id for one in view.owners if one.job_id)),
        user=_user(view),
        verdict=verdict(view, snapshot),
        slowed_by=tuple(sorted(set(slowed) - CALM_THROTTLES)),
    )


def _user(view: DeviceView) -> str:
    """Whose job has it, else who runs processes on it, joined by `+`: as a fleet tells it."""
    of_jobs = next((owner.user for owner in view.owners if owner.user), "")
    return of_jobs or "+".join(
        dict.fromkeys(one.user for one in view.reading.processes or () if one.user)
    )


def _names(joined: str | None) -> tuple[str, ...]:
    return tuple(joined.split("+")) if joined else ()


def _open(incidents: Iterable[IncidentDocument]) -> tuple[IncidentDocument, ...]:
    return tuple(one for one in incidents if one.state == IncidentState.OPEN)
