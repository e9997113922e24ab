"""The devices of several hubs under one numbering: slot `s` of hub `h` of `n` is `s * n + h`."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.hub_client.several.names.same_objects import same_objects
from accelwatch.fleet.hub_client.several.names.shared_nodes import Ownership
from accelwatch.fleet.names import HUB_LABEL
from accelwatch.fleet.wire import DeviceSlot

# Before a label that has this name already, here and in Prometheus; twice over two levels of hubs.
_EXPORTED = "exported_"

Slots = Sequence[DeviceSlot | None]
Labels = Mapping[str, Mapping[str, str]]


def labelled(labels: Mapping[str, str], hub: str) -> dict[str, str]:
    """A node's labels after its hub, which people see first; one of the same name is kept beside it."""
    own, name = {HUB_LABEL: hub}, HUB_LABEL
    while name in labels:
        own[_EXPORTED + name] = labels[name]
        name = _EXPORTED + name
    return {**own, **{label: value for label, value in labels.items() if label not in own}}


def is_hub_label(name: str) -> bool:
    """Whether a label has the name of one that was added here, or makes room for it."""
    return name.replace(_EXPORTED, "") == HUB_LABEL


class Locations:
    """Devices and labels of all hubs; what has not changed stays the same object."""

    def __init__(self, hubs: int) -> None:
        self._sources: list[Slots | None] = [None] * hubs
        self._owner: Ownership | None = None
        # Of each hub by slot: the hub's own struct and ours.
        self._cached: list[dict[int, tuple[DeviceSlot, DeviceSlot]]] = [{} for _ in range(hubs)]
        self._slots: list[DeviceSlot | None] = []
        self._label_sources: list[Labels | None] = [None] * hubs
        self._label_owner: Ownership | None = None
        self._labels: dict[str, Mapping[str, str]] = {}

    def slots(self, sources: Sequence[Slots | None], owner: Ownership) -> Slots:
        """All devices by their number in the picture."""
        if owner is self._owner and same_objects(sources, self._sources):
            return self._slots
        if owner is not self._owner:
            self._cached = [{} for _ in sources]
        count = len(sources)
        most = max((len(source) for source in sources if source is not None), default=0)
        slots: list[DeviceSlot | None] = [None] * (most * count)
        for hub, source in enumerate(sources):
            cached: dict[int, tuple[DeviceSlot, DeviceSlot]] = {}
            for number, device in enumerate(source or ()):
                if device is None:
                    continue
                existing = self._cached[hub].get(number)
                ours = existing[1] if existing is not None and existing[0] is device else None
                if ours is None:
                    ours = msgspec.structs.replace(
                        device,
                        slot=number * count + hub,
                        node=owner.name_of(hub, device.node),
                        labels=labelled(device.labels, owner.hub_label(hub, device.node)),
                    )
                cached[number] = device, ours
                slots[number * count + hub] = ours
            self._cached[hub] = cached
        self._sources, self._owner, self._slots = list(sources), owner, slots
        return slots

    def labels(self, sources: Sequence[Labels | None], owner: Ownership) -> Labels:
        """The labels of all nodes by their name in the picture."""
        if owner is self._label_owner and same_objects(sources, self._label_sources):
            return self._labels
        labels: dict[str, Mapping[str, str]] = {}
        for hub, source in enumerate(sources):
            for node, own in (source or {}).items():
                if node not in owner.hidden[hub]:
                    labels[owner.name_of(hub, node)] = labelled(own, owner.hub_label(hub, node))
        self._label_sources, self._label_owner, self._labels = list(sources), owner, labels
        return labels
