"""Changes of state of nodes and devices as events: down, lost, hung, missing, recovered after a time.

A check once a second compares each node and device with its state at the check before; arriving
messages play no part. The state of a node that reports for the first time is no change. A silent
node's devices have no events: the node's own says it.
"""

import msgspec

from accelwatch.base.slices import YieldControl
from accelwatch.fleet.names import SPEAKING, NodeState
from accelwatch.fleet.state.events import OWN
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import duration
from accelwatch.schema.event import Category, ErrorEvent

# After so long without a check the hub itself slept: the messages that came meanwhile go first.
LATE_S = 5.0
# How long a device must not be there: an agent that starts again finds its devices one by one.
MISSING_AFTER_S = 5.0
# Nodes that are checked before control is yielded.
_AT_ONCE = 48
# Code, category and text of an event.
_Notice = tuple[str, Category, str]
_DEVICE: dict[DeviceState, _Notice] = {
    DeviceState.LOST: ("device_lost", Category.BUS, "the device is lost"),
    DeviceState.UNRESPONSIVE: ("device_unresponsive", Category.HANG, "the device is hung"),
    DeviceState.DEGRADED: ("device_degraded", Category.OTHER, "the device is degraded"),
}
_MISSING: _Notice = ("device_missing", Category.BUS, "the device is expected and not there")
_NODE = {
    NodeState.STALE: ("node_stale", Category.OTHER),
    NodeState.DOWN: ("node_down", Category.HANG),
}
# The category of each code that the hub itself reports.
OWN_CATEGORIES: dict[str, Category] = {
    **{code: category for code, category, _ in (*_DEVICE.values(), _MISSING)},
    **dict(_NODE.values()),
    **dict.fromkeys(("device_recovered", "node_recovered"), Category.OTHER),
}


class _Episode(msgspec.Struct, kw_only=True):
    """A device that is not well."""

    state: str
    # Unix seconds, on the hub's clock.
    started: float


class _Absent(msgspec.Struct, kw_only=True):
    """A device that is expected and not there."""

    started: float
    # Whether it may yet come before it is reported.
    waiting: bool
    was_reported: bool = False


class _Watched(msgspec.Struct, kw_only=True):
    """A node as it was at the look before."""

    node: NodeState
    # When it last reported before it fell silent, Unix seconds.
    silent_since: float = 0.0
    restated: int = -1
    # Of devices that are there, by id.
    episodes: dict[str, _Episode] = {}
    shape: int = -1
    absent: dict[str, _Absent] = {}


class Transitions:
    """What every node and device was at the look before; the loop's thread only."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._nodes: dict[str, _Watched] = {}
        self._last_poll: float | None = None

    async def poll(self, yield_control: YieldControl) -> None:
        """Record what has changed since the last poll; `yield_control` is awaited between some nodes."""
        now, before = self._fleet.clock.monotonic(), self._last_poll
        self._last_poll = now
        if before is None or now - before > LATE_S:
            return
        for name in self._nodes.keys() - self._fleet.nodes.keys():
            del self._nodes[name]
        nodes = list(self._fleet.nodes.values())
        for at in range(0, len(nodes), _AT_ONCE):
            await yield_control()
            now = self._fleet.clock.monotonic()
            for node in nodes[at : at + _AT_ONCE]:
                self._poll_node(node, now)

    def _poll_node(self, node: Node, now: float) -> None:
        best = node.best
        if best is None:  # silent since the hub started, or no target any more
            self._nodes.pop(node.name, None)
            return
        state = node.state_by(best, now, self._fleet.thresholds)
        watched = self._nodes.get(node.name)
        if watched is None:
            if state in SPEAKING:
                self._nodes[node.name] = watched = _Watched(node=state)
                self._devices(node, watched, first=True)
            return
        if state is not watched.node:
            self._node(node, watched, state)
        if state in SPEAKING:
            self._devices(node, watched, first=False)

    def _node(self, node: Node, watched: _Watched, state: NodeState) -> None:
        now, before = self._fleet.clock.wall(), watched.node
        watched.node = state
        if state in SPEAKING:
            if before not in SPEAKING:
                text = f"the node answers again after {duration(now - watched.silent_since)}"
                self._report(node, ("node_recovered", Category.OTHER, text), now)
            return
        age_s = self._fleet.age_of(node) or 0.0
        if before in SPEAKING:
            watched.silent_since = now - age_s
        # Between down and stale it sent nothing: only the thresholds have changed.
        if before is not NodeState.DOWN:
            fault = node.best.fault if node.best is not None else None
            why = f" ({fault.reason.value})" if fault is not None else ""
            text = f"the node last answered {duration(age_s)} ago{why}"
            self._report(node, (*_NODE[state], text), now)

    def _devices(self, node: Node, watched: _Watched, *, first: bool) -> None:
        self._absent(node, watched, first=first)
        restated = node.restated
        if restated == watched.restated and watched.shape == node.shape:
            return
        for device_id, device in list(node.devices.items()):
            self._device(node, watched, device_id, device.state, first=first)
        for device_id in watched.episodes.keys() - node.devices.keys():
            del watched.episodes[device_id]
        watched.restated, watched.shape = restated, node.shape

    def _device(
        self, node: Node, watched: _Watched, device_id: str, state: str, *, first: bool
    ) -> None:
        episode = watched.episodes.get(device_id)
        if episode is not None and episode.state == state:
            return
        notice = _DEVICE.get(DeviceState(state))
        if notice is None:
            if episode is not None:
                del watched.episodes[device_id]
                if state == DeviceState.OK:
                    self._recovered(node, device_id, episode.state, episode.started)
            return
        started = self._since(node, device_id)
        # It is as unwell as before, only in another way: recovery counts from the beginning.
        watched.episodes[device_id] = _Episode(
            state=state, started=episode.started if episode else started
        )
        if not first:
            self._report(node, notice, started, device_id)

    def _since(self, node: Node, device_id: str) -> float:
        """Since when a device says to be as it is, on our clock, if that can be."""
        device, now = node.devices[device_id], self._fleet.clock.wall()
        source = node.origin(device)
        since = source.skew.ours(device.state_since) if source is not None else 0.0
        return since if 0.0 < since <= now else now

    def _absent(self, node: Node, watched: _Watched, *, first: bool) -> None:
        """Devices that are expected and not there; looked for only while that may change."""
        same = watched.shape == node.shape
        if same and not any(absent.waiting for absent in watched.absent.values()):
            return
        now = self._fleet.clock.wall()
        missing = [device.id for device in node.missing()]
        for device_id in watched.absent.keys() - set(missing):
            absent = watched.absent.pop(device_id)
            # One that is not even expected any more was acknowledged.
            if absent.was_reported and device_id in node.devices:
                self._recovered(node, device_id, "missing", absent.started)
        for device_id in missing:
            absent = watched.absent.setdefault(device_id, _Absent(started=now, waiting=not first))
            if absent.waiting and now - absent.started >= MISSING_AFTER_S:
                absent.waiting, absent.was_reported = False, True
                self._report(node, _MISSING, absent.started, device_id)

    def _recovered(self, node: Node, device_id: str, was: str, started: float) -> None:
        now = self._fleet.clock.wall()
        text = f"the device is healthy again, {was} for {duration(now - started)}"
        self._report(node, ("device_recovered", Category.OTHER, text), now, device_id)

    def _report(self, node: Node, notice: _Notice, time: float, device_id: str = "") -> None:
        code, category, text = notice
        event = ErrorEvent(
            code=code, category=category, time=time, text=text, source=OWN, device_id=device_id
        )
        self._fleet.events.note(node.name, _name(node, device_id), event)


def _name(node: Node, device_id: str) -> str:
    """Short name of a device, there or only expected; empty for the node."""
    present = node.devices.get(device_id)
    if present is not None:
        return present.device.name
    expected = node.expected.devices.get(device_id) if node.expected is not None else None
    return expected.name if expected is not None else ""
