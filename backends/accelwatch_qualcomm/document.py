"""What `qaic-util -q` prints: a heading `QID n` for each chip, and a line `Key:value` a field. Pure."""

import re
from collections.abc import Mapping

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.system.processes.complete_output import parsed
from accelwatch.system.processes.printed import complete_lines

_HEADING = re.compile(r"QID\s*:?\s*(\d{1,4})")
_KEY = re.compile(r"([^(]+?)\s*(?:\(([^)]*)\))?")
_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_NOTHING = frozenset({"", "0", "n/a", "none", "unknown"})


class Chip(msgspec.Struct, frozen=True):
    """One chip (SoC) by its QID; a card may have several."""

    number: int
    # By key in lower case without the unit behind it, which stands after the value instead.
    fields: Mapping[str, str]

    @property
    def pci_bus_id(self) -> str | None:
        """Where it is on the bus; None where the field is missing or is no address."""
        bus = normal_pci_bus_id(self.fields.get("pci address", ""))
        return bus if _BUS.fullmatch(bus) else None

    def text(self, key: str) -> str | None:
        """A text that says something."""
        value = self.fields.get(key, "")
        return None if value.lower() in _NOTHING or not value.isprintable() else value[:120]


class Listing(msgspec.Struct, frozen=True):
    """All chips that were listed, each once."""

    chips: tuple[Chip, ...] = ()


def parse(output: bytes) -> Listing:
    """The chips of an output; lines that are no field are passed over. Never raises."""
    blocks: dict[int, dict[str, str]] = {}
    fields: dict[str, str] = {}
    for line in complete_lines(output):
        heading = _HEADING.fullmatch(line.strip())
        if heading:
            number = int(heading[1])
            fields = {}
            blocks.setdefault(number, fields)
            continue
        name, colon, value = line.partition(":")
        key = _KEY.fullmatch(name.strip())
        if colon and key:
            fields.setdefault(key[1].lower(), _with_unit(value.strip(), key[2] or ""))
    return Listing(_once([Chip(number, block) for number, block in blocks.items()]))


IS_COMPLETE = parsed(parse, lambda listing: listing.chips)


def _with_unit(value: str, unit: str) -> str:
    """`825` under `Frequency(Mhz)` is `825 mhz`; what is no number stays as it is."""
    if not unit or not value[-1:].isdigit():
        return value
    return f"{value} {unit.lower().removeprefix('degree ').strip()}"


def _once(chips: list[Chip]) -> tuple[Chip, ...]:
    """Of chips that claim one PCI id the first."""
    by_address: dict[str | int, Chip] = {}
    for chip in chips:
        by_address.setdefault(chip.pci_bus_id or chip.number, chip)
    return tuple(by_address.values())
