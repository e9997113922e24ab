"""Finds Intel GPUs and NPUs on the PCI bus and says which driver holds them."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.schema.device import DeviceKind
from accelwatch.system.kernel import sysfs

if TYPE_CHECKING:
    from accelwatch_intel.products import Family

VENDOR_ID = 0x8086
GPU_DRIVERS = ("xe", "i915")
NPU_DRIVER = "intel_vpu"
DRIVERS = (*GPU_DRIVERS, NPU_DRIVER)
_DISPLAY, _PROCESSING = 0x03, 0x12


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One PCI function that is a GPU or an NPU."""

    pci_bus_id: str
    device_id: int
    # Name of the bound driver, such as `xe`, `vfio-pci`; None when there is none.
    driver: str | None
    kind: DeviceKind
    discrete: bool
    # /sys/bus/pci/devices/ID.
    folder: Path
    # The card's own directory below it: drm/cardN or accel/accelN.
    node_folder: Path | None = None
    # Device nodes, such as /dev/dri/renderD128.
    nodes: tuple[str, ...] = ()

    @property
    def tiled(self) -> bool:
        """Whether parts of this family may consist of several tiles."""
        family = _family(self.device_id)
        return family is not None and family.tiled


def find_cards(root: Path) -> list[Card]:
    """GPUs held by i915 or xe and discrete GPUs without such a driver, then NPUs, in bus order.

    Other display functions (an integrated GPU that nothing drives) are left out.
    """
    cards = []
    for pci_bus_id, device_id, code in sysfs.pci_functions(root, VENDOR_ID):
        folder = sysfs.pci_device_dir(root, pci_bus_id)
        driver = sysfs.link_name(folder / "driver")
        if code >> 16 == _DISPLAY:
            card = _gpu(pci_bus_id, device_id, driver, folder)
            if driver in GPU_DRIVERS or card.discrete:
                cards.append(card)
        elif code >> 16 == _PROCESSING and driver == NPU_DRIVER:
            cards.append(_npu(pci_bus_id, device_id, folder))
    return sorted(cards, key=lambda card: (card.kind is DeviceKind.NPU, card.pci_bus_id))


def _gpu(pci_bus_id: str, device_id: int, driver: str | None, folder: Path) -> Card:
    entries = sysfs.list_dir(folder / "drm")
    family = _family(device_id)
    return Card(
        pci_bus_id=pci_bus_id,
        device_id=device_id,
        driver=driver,
        kind=DeviceKind.GPU,
        discrete=family.discrete if family else not pci_bus_id.startswith("0000:00:02."),
        folder=folder,
        node_folder=next((entry for entry in entries if entry.name.startswith("card")), None),
        nodes=tuple(
            f"/dev/dri/{entry.name}"
            for entry in entries
            if entry.name.startswith(("card", "renderD"))
        ),
    )


def _npu(pci_bus_id: str, device_id: int, folder: Path) -> Card:
    entries = [entry for entry in sysfs.list_dir(folder / "accel") if entry.name[:5] == "accel"]
    return Card(
        pci_bus_id=pci_bus_id,
        device_id=device_id,
        driver=NPU_DRIVER,
        kind=DeviceKind.NPU,
        discrete=False,
        folder=folder,
        node_folder=entries[0] if entries else None,
        nodes=tuple(f"/dev/accel/{entry.name}" for entry in entries),
    )


def _family(device_id: int) -> "Family | None":
    """The product family; its table is loaded only where there is a card to look up."""
    from accelwatch_intel.products import family

    return family(device_id)
