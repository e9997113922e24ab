"""What the fleet is filtered by: plain text here, a condition at the hub, which knows every quantity."""

from collections.abc import Callable, Iterable
from functools import cache

from accelwatch.expr import compile_condition
from accelwatch.fleet.names import fleet_names
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.tally import device_class
from accelwatch.fleet.wire import DeviceNow, DevicePlace, NodeNow
from accelwatch.schema.snapshot import OWNER_NAMES
from accelwatch.tui.local.filters import is_expression

_names = cache(fleet_names)


def condition(text: str, labels: Iterable[str]) -> str:
    """The text if it is a condition for the hub; empty for plain text. Raises ExpressionError."""
    names = _names(frozenset(labels))
    text = text.strip()
    if not text or not is_expression(text, names):
        return ""
    return compile_condition(text, names).text


class TextFilter:
    """Keeps what has a text in its names, labels or state; what a place says is looked at once."""

    def __init__(self, text: str) -> None:
        self._word = text.strip().lower()
        self._known: dict[int, tuple[DevicePlace, bool]] = {}

    def keeps(self, place: DevicePlace, now: DeviceNow) -> bool:
        """Whether a device has it."""
        known = self._known.get(place.slot)
        if known is None or known[0] is not place:
            matches = any(self._word in word.lower() for word in _words(place))
            known = self._known[place.slot] = place, matches
        return known[1] or self._word in now.state or self._word in device_class(now)

    def keeps_node(self, view: FleetView) -> Callable[[NodeNow], bool]:
        """Whether a node without devices has it."""

        def keeps(node: NodeNow) -> bool:
            labels = view.node_labels.get(node.node, {})
            words = (node.node, node.state, *labels.values())
            return any(self._word in word.lower() for word in words)

        return keeps


def _words(place: DevicePlace) -> list[str]:
    given = (place.name, place.id, place.node, place.model, place.uuid, place.vendor)
    owners = (getattr(place, name) for name in OWNER_NAMES)
    return [word for word in (*given, *owners, *place.labels.values()) if word]
