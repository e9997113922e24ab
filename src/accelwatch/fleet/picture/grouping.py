"""By what the fleet's devices are grouped: by who has them, or by a label of their node. Pure."""

from collections.abc import Callable, Iterable

from accelwatch.fleet.names import HUB_LABEL
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.picture.tally import GroupOf
from accelwatch.schema.snapshot import OWNER_NAMES

NONE = "none"
# What the group key goes through; the picker knows every label besides.
CYCLE = (NONE, "rack", "partition", "job", "user")
# Names that the devices of one node may have different values of.
OF_DEVICES = frozenset({*OWNER_NAMES, "model", "vendor", "kind"})
_QUEUE = "partition"


def by_device(name: str, labels: Iterable[str]) -> bool:
    """Whether devices of one node can be in different groups."""
    return name in OF_DEVICES or (name == _QUEUE and _QUEUE not in labels)


def owned(name: str, labels: Iterable[str]) -> bool:
    """Whether the groups are of owners, so that partitions are counted instead of whole devices."""
    return name in OWNER_NAMES or (name == _QUEUE and _QUEUE not in labels)


def group_of(name: str, labels: Iterable[str]) -> GroupOf | None:
    """What gives a device's group; None for no grouping. `labels` are those that nodes have."""
    if name == NONE:
        return None
    if name == _QUEUE and _QUEUE not in labels:
        return lambda device: device.queue or ""
    if name in OF_DEVICES:
        return lambda device: getattr(device, name) or ""
    return lambda device: device.labels.get(name, "")


def group_of_node(name: str, view: FleetView) -> Callable[[str], str]:
    """What gives the group of a node of which no device is known."""
    labels = view.node_labels
    return lambda node: labels.get(node, {}).get(name, "") if name != NONE else ""


def labels_of(view: FleetView) -> frozenset[str]:
    """The names of all labels."""
    names = {name for labels in view.node_labels.values() for name in labels}
    return frozenset(names)


def title(name: str, group: str) -> str:
    """A group as its row says it."""
    return group or f"no {name}"


def choices(labels: Iterable[str]) -> list[str]:
    """Everything that can be grouped by, the usual things first."""
    return list(dict.fromkeys((*CYCLE, *OWNER_NAMES, *sorted(labels), "model", "vendor")))


def following(name: str, labels: Iterable[str] = ()) -> str:
    """The next of the cycle; after a name that is not in it, none.

    Where nodes have the label of their hub, that comes first.
    """
    first, *others = CYCLE
    cycle = [first, *([HUB_LABEL] if HUB_LABEL in labels else []), *others]
    position = cycle.index(name) if name in cycle else -1
    return cycle[(position + 1) % len(cycle)]
