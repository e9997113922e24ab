"""Who the devices of an archive are: numbers that stay, short names, whose they are."""

from collections.abc import Iterable, Mapping

from accelwatch.fleet.replay.reading.jobs import Occupancy
from accelwatch.fleet.wire import DeviceSlot

# Letters that distinguish the devices of a node: `6f1a2b3c` of a uuid, `65:00.0` of a PCI address.
_NAME = 8
# What is the same in all ids of a kind.
_SAME = ("GPU-", "0000:")


def short_name(device: str) -> str:
    """What a device is called: an archive knows ids, not the driver's numbers."""
    name = device.partition(":")[2] or device
    for prefix in _SAME:
        name = name.removeprefix(prefix)
    return name[:_NAME]


class SlotRegistry:
    """Mutable; a slot that has not changed stays the same object, and so does the list of all."""

    def __init__(self) -> None:
        self._slots: dict[tuple[str, str], int] = {}
        self._by_slot: list[DeviceSlot | None] = []

    def register(
        self, node: str, device: str, index: int, model: str, who: Occupancy | None
    ) -> DeviceSlot:
        """The slot of a device, by its order among those of its node and who has it now."""
        slot = self._slots.setdefault((node, device), len(self._slots))
        vendor, _, uuid = device.partition(":")
        before = self._by_slot[slot] if slot < len(self._by_slot) else None
        now = DeviceSlot(
            slot=slot,
            node=node,
            labels={},
            id=device,
            vendor=vendor,
            index=index,
            name=short_name(device),
            kind="gpu",
            model=model or None,
            uuid=uuid or None,
            parent_id=None,
            job=who.job if who else None,
            user=(who.user or None) if who else None,
        )
        if before == now:
            return before
        self._by_slot = list(self._by_slot)
        self._by_slot += [None] * (slot + 1 - len(self._by_slot))
        self._by_slot[slot] = now
        return now

    @property
    def all(self) -> list[DeviceSlot | None]:
        """By slot; never changed once it was given."""
        return self._by_slot


def ordered(devices: Iterable[str]) -> Mapping[str, int]:
    """The order of a node's devices: that of their ids, for an archive knows no other."""
    return {device: at for at, device in enumerate(sorted(devices))}
