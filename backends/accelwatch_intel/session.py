"""What an open backend does: find cards, say who they are, read them."""

import time
from collections.abc import Callable, Sequence

import msgspec

from accelwatch.backend import Context, Opened, Request
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.health import NO_DRIVER
from accelwatch.schema.reading import Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.drm_fdinfo import FdinfoScanner
from accelwatch_intel import identity
from accelwatch_intel.card import DRIVERS, Card, find_cards
from accelwatch_intel.reader import CardReader, is_lost
from accelwatch_intel.sysman.source import SysmanSource

# What passes between the two reads of a single reading; the counters move every millisecond.
_SPAN_S = 0.1


class Session:
    """The cards of a machine, and one reader for each that is awake.

    `pause` lets the seconds pass that a single reading needs to see counters move.
    """

    def __init__(self, context: Context, pause: Callable[[float], None] = time.sleep) -> None:
        self._context = context
        self._pause = pause
        self._scanner = FdinfoScanner(context.root, context.clock)
        self._sysman = SysmanSource(context)
        self._cards: dict[str, Card] = {}
        self._readers: dict[str, CardReader] = {}

    def open(self) -> Opened:
        """Find the cards and start Sysman where that is allowed and possible."""
        cards = find_cards(self._context.root)
        if not cards:
            raise BackendUnavailable(
                "no Intel GPU held by xe or i915, and no NPU held by intel_vpu",
                reason="no_device",
            )
        self._sysman.start(cards)
        drivers = sorted({card.driver for card in cards if card.driver in DRIVERS})
        versions = {
            driver: version
            for driver in drivers
            if (version := identity.driver_version(self._context.root, driver))
        }
        return Opened(source="sysfs+sysman" if self._sysman.started else "sysfs", versions=versions)

    def discover(self) -> Sequence[Device]:
        """All cards, asleep or not, as PCI names them."""
        cards = find_cards(self._context.root)
        self._cards = {identity.device_id(card): card for card in cards}
        return [
            identity.describe(self._context.root, card, index) for index, card in enumerate(cards)
        ]

    def identify(self, device: Device) -> Sequence[Device]:
        """The card with what only it can report, then its tiles.

        A card that sleeps keeps the identity that PCI gives. Raises DeviceLost.
        """
        card = self._card(device)
        asleep = self._asleep(card)
        if is_lost(card, asleep=asleep):
            raise DeviceLost(f"{card.pci_bus_id} is gone from the PCI bus", code="gone")
        if self._sleep_counts(card):
            absent = {"uuid": Absence.SUSPENDED, "serial": Absence.SUSPENDED}
            return [msgspec.structs.replace(device, absent=absent)]
        firmware = identity.firmware_version(card)
        described = msgspec.structs.replace(device, firmware_version=firmware)
        described = self._enriched(described, card)
        tiles = self._reader(card).tiles
        return [described, *(identity.tile_device(described, tile) for tile in tiles)]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of the card and its tiles; a single reading reads the counters twice.

        Raises DeviceSuspended before anything that could wake it, DeviceLost, DevicePermission.
        """
        card = self._card(device)
        asleep = self._asleep(card)
        if self._sleep_counts(card):
            raise DeviceSuspended(f"{card.pci_bus_id} is in runtime suspend and was left asleep")
        if is_lost(card, asleep=asleep):
            self._readers.pop(card.pci_bus_id, None)
            raise DeviceLost(f"{card.pci_bus_id} is gone from the PCI bus", code="gone")
        _require_driver(card)
        reader, sysman = self._reader(card), self._sysman.card(card)
        clock = self._context.clock
        if self._context.one_shot:
            reader.prime(device, clock.monotonic(), sysman)
            self._pause(_SPAN_S)
        return reader.read(device, request, clock.monotonic(), sysman)

    def close(self) -> None:
        """Forget everything; the library keeps no session that would have to be ended."""
        self._readers.clear()
        self._sysman.stop()

    def _card(self, device: Device) -> Card:
        card = self._cards.get(device.id)
        if card is None:
            cards = {
                identity.device_id(candidate): candidate
                for candidate in find_cards(self._context.root)
            }
            card = cards.get(device.id)
        if card is None:
            raise DeviceLost(f"{device.pci_bus_id} is gone from the PCI bus", code="gone")
        self._cards[device.id] = card
        return card

    def _reader(self, card: Card) -> CardReader:
        reader = self._readers.get(card.pci_bus_id)
        if reader is None or reader.card != card:
            reader = CardReader(
                self._context.root, card, self._scanner, one_shot=self._context.one_shot
            )
            self._readers[card.pci_bus_id] = reader
        return reader

    def _enriched(self, device: Device, card: Card) -> Device:
        """With what Sysman knows of it; a Sysman that fails leaves the identity of sysfs."""
        sysman = self._sysman.card(card)
        if sysman is None:
            return device
        try:
            properties = sysman.sysman.properties(sysman.handle)
        except DeviceLost:
            raise
        except ReadError as error:
            absent = {"uuid": error.absence, "serial": error.absence}
            return msgspec.structs.replace(device, absent=absent)
        return identity.enrich(device, properties, dedicated=card.discrete)

    def _asleep(self, card: Card) -> bool:
        return sysfs.runtime_suspended(self._context.root, card.pci_bus_id)

    def _sleep_counts(self, card: Card) -> bool:
        """Whether a sleeping card must be left alone."""
        return self._context.leaves_asleep(card.pci_bus_id) and card.kind is not DeviceKind.NPU


def _require_driver(card: Card) -> None:
    driver = sysfs.link_name(card.folder / "driver")
    if driver in DRIVERS:
        return
    if driver is None:
        raise ReadError(f"no driver is bound to {card.pci_bus_id}; load xe or i915", code=NO_DRIVER)
    raise DevicePermission(
        f"{card.pci_bus_id} is held by {driver}, not by xe or i915", code="driver"
    )
