"""libhlml as a source: loaded where it lies, its devices by their PCI id."""

import os
from pathlib import Path

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.errors import DeviceLost, ReadError
from accelwatch.schema.device import Device
from accelwatch_gaudi.document import Card
from accelwatch_gaudi.hlml import LIBRARY_PATH, Hlml, load
from accelwatch_gaudi.hlml_card import HlmlCard
from accelwatch_gaudi.logs import Logs

MODES = ("auto", "hlml", "hl-smi")


class HlmlSource:
    """A library in use. Devices may be read side by side, each by one thread."""

    def __init__(self, hlml: Hlml) -> None:
        self._hlml = hlml
        self._cards: dict[str, HlmlCard] = {}
        self.version = self._version()

    def listed(self) -> list[Card]:
        """PCI id and number of each device, searched anew."""
        try:
            handles = self._hlml.handles()
        except ReadError:
            handles = {}
        for bus, (number, handle) in handles.items():
            if bus not in self._cards or self._cards[bus].number != number:
                self._cards[bus] = HlmlCard(self._hlml, handle, number, bus)
        return [Card(number=number, pci_bus_id=bus) for bus, (number, _) in handles.items()]

    def lists(self, device: Device) -> bool:
        """Whether the library has one at the device's PCI id."""
        return (device.pci_bus_id or "") in self._cards

    def card_at(self, device: Device) -> HlmlCard:
        """The device's own. Raises DeviceLost when the library has none at its PCI id."""
        card = self._cards.get(device.pci_bus_id or "")
        if card is None:
            raise DeviceLost(
                f"{device.name}: libhlml does not list the NPU at {device.pci_bus_id}",
                code="not_listed",
            )
        return card

    def close(self) -> None:
        """Give the library back."""
        self._hlml.stop()

    def _version(self) -> str | None:
        """Of the driver."""
        try:
            return self._hlml.text("hlml_get_driver_version") or None
        except ReadError:
            return None


def library_path(context: Context) -> Path | None:
    """The library that the option `hlml_library` names, else the vendor's; None where neither is."""
    named = context.options.get("hlml_library")
    path = Path(named) if isinstance(named, str) else context.root / LIBRARY_PATH
    return path if path.is_file() else None


def mode_of(context: Context) -> str:
    """The option `source`. Raises BackendUnavailable for what is none."""
    mode = context.options.get("source", "auto")
    if not isinstance(mode, str) or mode not in MODES:
        raise BackendUnavailable(
            f"source: {mode!r} is not one of {', '.join(MODES)}",
            reason="option",
            remedy="fix collect.options.gaudi.source in the configuration",
        )
    return mode


def open_source(context: Context, logs: Logs) -> HlmlSource | None:
    """The library in use; None where it is not wanted, not there, or fails and need not be had.

    Raises BackendUnavailable when it must be had.
    """
    mode, path = mode_of(context), library_path(context)
    if mode == "hl-smi" or (mode == "auto" and path is None):
        return None
    if path is None:
        raise BackendUnavailable(
            f"libhlml was not found at {context.options.get('hlml_library') or LIBRARY_PATH}",
            reason="library_missing",
            remedy="install habanalabs-firmware-tools, or set the source to auto",
        )
    os.environ.update(logs.environ())
    try:
        hlml = Hlml(load(path))
        hlml.start()
    except BackendUnavailable:
        if mode == "hlml":
            raise
        return None
    return HlmlSource(hlml)
