"""What hardly changes on a card: which sensors it has, bounds, memory size, PCIe link and errors."""

from collections.abc import Mapping, Sequence

from accelwatch.schema.device import DeviceKind
from accelwatch.schema.reading import Collected
from accelwatch_intel.card import Card
from accelwatch_intel.sysfs import gt, hwmon, i915, pcie, xe

# 256 TiB; a larger number is damage.
_MOST_BYTES = 1 << 48


class StaticReadings:
    """Read once when made; filled into reading after reading until the next slow one."""

    def __init__(self, card: Card, gts: Sequence[gt.Gt], tiles: Sequence[int]) -> None:
        self._card_values = Collected("")
        self._tiles = {tile: Collected("") for tile in tiles}
        gpu = card.kind is not DeviceKind.NPU
        self.sensors = hwmon.find(card) if gpu else None
        self.tile_sensors = {tile: hwmon.find_tile(card, tile) for tile in tiles}
        gt.read_clock_limits(gts, self._card_values)
        if self.sensors is not None:
            hwmon.read_temperature_limits(self.sensors, self._card_values)
            hwmon.read_power_limits(self.sensors, self._card_values)
        if gpu:
            pcie.read_link(card, self._card_values)
            pcie.read_downgrade(card, self._card_values)
            pcie.read_errors(card, self._card_values)
        if card.discrete:
            _read_memory_size(card, self._card_values, self._tiles)
        for tile, out in self._tiles.items():
            gt.read_clock_limits([group for group in gts if group.tile == tile], out)

    def fill(self, card_values: Collected, tiles: Mapping[int, Collected]) -> None:
        """Put what was read into the beginnings of new readings."""
        for source, target in (
            (self._card_values, card_values),
            *((self._tiles[tile], out) for tile, out in tiles.items()),
        ):
            target.values.update(source.values)
            target.absent.update(source.absent)


def _read_memory_size(card: Card, card_values: Collected, tiles: Mapping[int, Collected]) -> None:
    """Device memory, where the driver reports it: of the card, and of each tile."""
    if card.driver != "xe":
        size = i915.memory_bytes(card)
        if isinstance(size, int) and 0 < size <= _MOST_BYTES:
            card_values.put("memory_size_bytes", size)
        return
    sizes = {int(tile.name[4:]): xe.memory_bytes(tile) for tile in xe.tiles(card)}
    valid = {
        tile: size
        for tile, size in sizes.items()
        if isinstance(size, int) and 0 < size <= _MOST_BYTES
    }
    if valid and len(valid) == len(sizes):
        card_values.put("memory_size_bytes", sum(valid.values()))
    for tile, out in tiles.items():
        if tile in valid:
            out.put("memory_size_bytes", valid[tile])
