"""What one of several hubs has said last, and whether it still counts. Pure."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from accelwatch.fleet.hub_client.several.merging.totals import (
    stale,
    stale_device_state,
    stale_node_state,
    with_totals,
)
from accelwatch.fleet.hub_states import HUB_DOWN, HUB_LATE, HUB_UP, HubState
from accelwatch.fleet.names import SPEAKING
from accelwatch.fleet.picture.model import MEMORY_SIZE, MEMORY_USED, POWER, UTILIZATION, FleetView
from accelwatch.fleet.wire import DeviceNow, DeviceTotals, FleetDocument, NodeNow

# Without an answer for this long, or three and a half intervals, what a hub said is not of now.
SILENT_S, SILENT_INTERVALS = 10.0, 3.5
# Of an expected device that its node does not report.
_MISSING = "missing"
# In intervals: an answer that is overdue by this much is late.
_LATE_INTERVALS = 2.0


class HubPicture(msgspec.Struct, frozen=True, kw_only=True):
    """A hub's part of the picture."""

    view: FleetView
    # Why nothing newer comes; empty while ticks come.
    fault: str = ""
    # Seconds for which nothing has come.
    age_s: float = 0.0
    # Whether that is so long that its figures are not of now.
    silent: bool = False

    @property
    def sums(self) -> FleetDocument:
        """Its numbers as they count now."""
        sums = self.view.sums
        return with_totals(sums, stale(sums)) if self.silent else sums

    def node_state(self, node: NodeNow) -> str:
        """The state of a node of it, as it counts now."""
        return stale_node_state(node.state) if self.silent else node.state

    def node(self, node: NodeNow, name: str, hub: str) -> NodeNow:
        """A node of it, by its name in the picture, as it counts now."""
        silent = self.silent
        if not silent and name == node.node and self.age_s <= 0.0:
            return node
        age = None if node.age_s is None else node.age_s + self.age_s
        state, why = self.node_state(node), node.why
        if state != node.state:
            why = f"hub {hub} does not answer" + (f": {self.fault}" if self.fault else "")
        return NodeNow(
            name, state, age, node.devices_missing, why, node.odd, node.lemon, node.finding
        )

    def device(self, device: DeviceNow, slot: int) -> DeviceNow:
        """A device of it, by its number in the picture, as it counts now."""
        age = device.sample_age_s
        return DeviceNow(
            slot,
            stale_device_state(device.state) if self.silent else device.state,
            device.health,
            None if age is None else age + self.age_s,
            device.values,
        )


def hub_picture_of(view: FleetView, age_s: float, fault: str = "") -> HubPicture:
    """The part of a hub whose view came `age_s` seconds ago."""
    silent = age_s > max(SILENT_S, SILENT_INTERVALS * view.interval_s)
    return HubPicture(view=view, fault=fault, age_s=age_s, silent=silent)


def hub_state(name: str, picture: HubPicture | None, fault: str, newest_s: float) -> HubState:
    """How a hub stands; `part` is None when it has never answered.

    Its age counts to the newest answer of all hubs, `newest_s` seconds ago.
    """
    if picture is None:
        return HubState(
            name=name, state=HUB_DOWN, age_s=None, fault=fault or "it has not answered yet"
        )
    late_s = max(picture.age_s - picture.view.interval_s, 0.0)
    overdue = picture.age_s > _LATE_INTERVALS * picture.view.interval_s and late_s > 1.0
    state = HUB_DOWN if picture.silent else HUB_LATE if overdue or fault else HUB_UP
    if state != HUB_UP and not fault:
        fault = "not responding"
    sums = picture.view.sums
    return HubState(
        name=name,
        state=state,
        age_s=max(picture.age_s - newest_s, 0.0),
        late_s=late_s,
        fault=fault,
        version=sums.version,
        nodes_total=sums.nodes_total,
        devices_total=sums.devices_total,
        omitted=picture.view.omitted,
    )


def totals_of(view: FleetView, nodes: Mapping[str, NodeNow]) -> DeviceTotals:
    """Some nodes of an unfiltered view in numbers, as the hub counts them."""
    devices: Counter[str] = Counter()
    health: Counter[str] = Counter()
    sums: dict[int, list[float]] = {
        column: [] for column in (UTILIZATION, MEMORY_USED, MEMORY_SIZE, POWER)
    }
    for device in view.devices:
        slot = view.slots[device.slot]
        if slot is None or slot.parent_id is not None or slot.node not in nodes:
            continue
        devices[device.state] += 1
        if nodes[slot.node].state in SPEAKING and device.state != _MISSING:
            health[device.health] += 1
            for column, values in sums.items():
                value = device.values[column]
                if value is not None:
                    values.append(value)
    loads = sums[UTILIZATION]
    return DeviceTotals(
        nodes_total=len(nodes),
        nodes=Counter(node.state for node in nodes.values()),
        devices_total=sum(devices.values()),
        devices=devices,
        health=health,
        power_watts=sum(sums[POWER]) if sums[POWER] else None,
        memory_used_bytes=int(sum(sums[MEMORY_USED])) if sums[MEMORY_USED] else None,
        memory_size_bytes=int(sum(sums[MEMORY_SIZE])) if sums[MEMORY_SIZE] else None,
        utilization_ratio=sum(loads) / len(loads) if loads else None,
    )
