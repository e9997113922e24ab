"""The Intel backend's contract. What an open backend does is imported when it is first needed."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from accelwatch.backend import (
    NAME,
    Check,
    Context,
    Opened,
    Option,
    Probe,
    Request,
    Support,
    Visibility,
)
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Reading
from accelwatch_intel import loader
from accelwatch_intel.card import DRIVERS, Card, find_cards

if TYPE_CHECKING:
    from accelwatch_intel.session import Session


class IntelBackend:
    """Intel GPUs held by xe or i915 and NPUs held by intel_vpu.

    Options: `sysman` is `auto` (discrete cards), `on` or `off`; `level_zero_library` is a path.
    """

    name = "intel"
    vendor = "intel"
    serial = False
    options = (
        Option("sysman"),
        Option("level_zero_library", is_path=True, names=NAME),
    )
    support = Support(
        vendor="Intel",
        source=(
            "xe/i915 sysfs, hwmon, fdinfo; Level Zero Sysman when its loader is "
            "there; intel_vpu NPUs"
        ),
        tested_with="recorded sysfs trees (Arc A380, B580, integrated); stand-in library for Sysman",
    )
    # Level Zero specification, affinity mask: device indices only.
    visibility = Visibility(variable="ZE_AFFINITY_MASK")

    def __init__(self, context: Context, pause: Callable[[float], None] = time.sleep) -> None:
        self._context = context
        self._pause = pause
        # Workers of several cards may be the first to need the session; two sessions would search
        # the bus twice.
        self._lock = Lock()
        self._opened: Session | None = None

    def probe(self) -> Probe:
        """Intel GPUs and NPUs on the PCI bus, their drivers and nodes, and the Level Zero loader."""
        cards = find_cards(self._context.root)
        checks = [_card_check(self._context.root, card) for card in cards]
        if cards:
            checks.append(loader.check(self._context, cards))
        else:
            nothing = "no Intel GPU or NPU held by xe, i915 or intel_vpu"
            checks.append(Check(subject="/sys/bus/pci/devices", ok=False, found=nothing))
        return Probe(present=bool(cards), checks=tuple(checks))

    def open(self) -> Opened:
        """Find the cards and start Sysman where that is allowed and possible.

        Raises BackendUnavailable where there is no card.
        """
        return self._session().open()

    def discover(self) -> Sequence[Device]:
        """All cards, asleep or not, as PCI names them."""
        return self._session().discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """The card with what only it can report, then its tiles. Raises DeviceLost."""
        return self._session().identify(device)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """Readings of the card and its tiles.

        Raises DeviceSuspended before anything that could wake it, DeviceLost, DevicePermission.
        """
        return self._session().read(device, request)

    def readable_asleep(self, device: Device) -> bool:
        """Whether the device answers without being woken: an NPU does."""
        return device.kind is DeviceKind.NPU

    def close(self) -> None:
        """Forget everything."""
        if self._opened is not None:
            self._opened.close()

    def _session(self) -> "Session":
        with self._lock:
            if self._opened is None:
                from accelwatch_intel.session import Session

                self._opened = Session(self._context, self._pause)
            return self._opened


def _card_check(root: Path, card: Card) -> Check:
    subject = f"driver and nodes of {card.pci_bus_id}"
    if card.driver not in DRIVERS:
        finding = f"driver {card.driver or 'none'}"
        remedy = f"give it back from {card.driver}" if card.driver else "load the module xe or i915"
        return Check(subject=subject, ok=False, found=finding, remedy=remedy)
    denied = [node for node in card.nodes if "card" not in node and not _usable(root, node)]
    finding = f"driver {card.driver}, nodes {' '.join(card.nodes) or 'none'}"
    if denied:
        remedy = f"join the group that owns {denied[0]} (usually render); sysfs is read without it"
        return Check(subject=subject, ok=False, found=f"{finding}, no access", remedy=remedy)
    return Check(subject=subject, ok=True, found=finding)


def _usable(root: Path, node: str) -> bool:
    path = root / node.lstrip("/")
    return not path.exists() or os.access(path, os.R_OK | os.W_OK)
