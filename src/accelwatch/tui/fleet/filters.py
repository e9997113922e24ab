"""What the fleet is filtered by: plain text here, a condition at the hub, which knows every quantity."""

from collections.abc import Callable, Iterable
from functools import cache

from accelwatch.expr import compile_condition
from accelwatch.fleet.names import fleet_names
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.tally import device_class
from accelwatch.fleet.wire import DeviceNow, DeviceSlot, NodeNow
from accelwatch.schema.snapshot import OWNER_NAMES
from accelwatch.tui.local.filters import is_expression

# By the set of labels, which changes only when targets do.
_names = cache(fleet_names)


def condition(text: str, labels: Iterable[str]) -> str:
    """The text if it is a condition for the hub; empty for plain text. Raises ExpressionError."""
    names = _names(frozenset(labels))
    text = text.strip()
    if not text or not is_expression(text, names):
        return ""
    return compile_condition(text, names).text


class TextFilter:
    """Keeps what has a text in its names, labels or state; each slot is searched once."""

    def __init__(self, text: str) -> None:
        self._needle = text.strip().lower()
        # By slot, together with the object that was searched: a slot with another device is
        # searched again.
        self._cached: dict[int, tuple[DeviceSlot, bool]] = {}

    def matches_device(self, device: DeviceSlot, now: DeviceNow) -> bool:
        """Whether a device has it."""
        cached = self._cached.get(device.slot)
        if cached is None or cached[0] is not device:
            matches = any(self._needle in text.lower() for text in _searched_texts(device))
            cached = self._cached[device.slot] = device, matches
        return cached[1] or self._needle in now.state or self._needle in device_class(now)

    def node_filter(self, view: FleetView) -> Callable[[NodeNow], bool]:
        """Whether a node without devices has it."""

        def matches(node: NodeNow) -> bool:
            labels = view.node_labels.get(node.node, {})
            texts = (node.node, node.state, *labels.values())
            return any(self._needle in text.lower() for text in texts)

        return matches


def _searched_texts(device: DeviceSlot) -> list[str]:
    texts = (device.name, device.id, device.node, device.model, device.uuid, device.vendor)
    owners = (getattr(device, name) for name in OWNER_NAMES)
    return [text for text in (*texts, *owners, *device.labels.values()) if text]
