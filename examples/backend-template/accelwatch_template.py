"""A backend to begin from: cards of an imaginary driver that shows them below /sys/class/template."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.backend import Check, Context, Opened, Probe, Request, Visibility
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceSuspended
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading
from accelwatch.system.kernel.sysfs import link_name, list_dir, read_int, read_text

_SOURCE = "sysfs"
_REMEDY = "load the kernel module: modprobe template"


class Attribute(NamedTuple):
    """One file of a card, and the series that it is."""

    file: str
    key: str
    labels: tuple[str, ...] = ()
    # To the base unit of the catalogue (docs/metrics.md).
    to_base: Callable[[int], float] = float


ATTRIBUTES = (
    Attribute("busy_percent", "utilization_ratio", (), lambda percent: percent / 100),
    Attribute("memory_bytes", "memory_size_bytes", (), int),
    Attribute("memory_used_bytes", "memory_used_bytes", (), int),
    Attribute("temperature_millicelsius", "temperature_celsius", ("gpu",), lambda m: m / 1e3),
    Attribute("power_microwatts", "power_watts", (), lambda micro: micro / 1e6),
)


class TemplateBackend:
    """Reads the cards' files under the context's root; nothing is kept between two reads."""

    name = "template"
    vendor = "template"
    serial = False
    visibility = Visibility(variable="TEMPLATE_VISIBLE_DEVICES", uuid_pattern="TPL-[0-9a-f]{8}")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cards: Path = context.root / "sys/class/template"
        self._version: Path = context.root / "sys/module/template/version"

    def probe(self) -> Probe:
        """Look for the class's folder."""
        there = self._cards.is_dir()
        check = Check(subject=str(self._cards), ok=there, remedy=_REMEDY)
        return Probe(present=there, checks=(check,))

    def open(self) -> Opened:
        """Nothing is to be loaded. Raises BackendUnavailable without the driver."""
        if not self._cards.is_dir():
            raise BackendUnavailable(
                f"{self._cards}: no such directory", reason="driver_not_loaded", remedy=_REMEDY
            )
        version = read_text(self._version)
        known = {} if isinstance(version, Absence) else {"driver": version}
        return Opened(source=_SOURCE, versions=known)

    def discover(self) -> Sequence[Device]:
        """The cards by their folders; a broken one is among them."""
        found = [entry.name.removeprefix("card") for entry in list_dir(self._cards)]
        return [self._provisional(int(number)) for number in found if number.isdecimal()]

    def identify(self, device: Device) -> Sequence[Device]:
        """The card by its uuid; it has no partitions.

        Raises DeviceLost when it has none, DeviceSuspended when it sleeps.
        """
        card = self._awake(device)
        uuid, model = read_text(card / "uuid"), read_text(card / "model")
        if isinstance(uuid, Absence) or not uuid.startswith("TPL-"):
            raise DeviceLost(f"{card / 'uuid'} cannot be read", code="NO_UUID")
        known = None if isinstance(model, Absence) else model or None
        return [msgspec.structs.replace(device, id=f"template:{uuid}", uuid=uuid, model=known)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the files say; a file that cannot be read is an absence with its reason."""
        card = self._awake(device)
        if not card.is_dir():
            raise DeviceLost(f"{card} has gone", code="NO_CARD")
        out = Collected(device.id)
        for file, key, labels, to_base in ATTRIBUTES:
            value = read_int(card / file)
            if isinstance(value, Absence):
                out.miss(key, value, *labels)
            else:
                out.put(key, to_base(value), *labels)
        if request.processes:
            out.miss("processes", Absence.UNSUPPORTED)
        return [out.reading(sources={"*": _SOURCE})]

    def close(self) -> None:
        """Nothing is held."""

    def _awake(self, device: Device) -> Path:
        """The card's folder, whose files may be opened. Raises DeviceSuspended."""
        if self._context.leaves_asleep(device.pci_bus_id):
            raise DeviceSuspended(f"{device.name} sleeps and was left asleep")
        return self._cards / f"card{device.index}"

    def _provisional(self, index: int) -> Device:
        """What is known of a card without opening its files; its id stays while it is there."""
        return Device(
            id=f"template:card{index}",
            vendor="template",
            backend="template",
            index=index,
            name=f"template{index}",
            pci_bus_id=link_name(self._cards / f"card{index}/device"),
        )
