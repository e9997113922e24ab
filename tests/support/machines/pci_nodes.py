"""Functions of the PCI bus, bound to drivers and with device nodes, laid out below a root."""

from pathlib import Path

from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number


def bind(root: Path, bus: str, driver: str) -> None:
    """The function is held by a driver."""
    folder = root / "sys/bus/pci/devices" / bus
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "driver").symlink_to(Path("../../../bus/pci/drivers") / driver)


def name_node(root: Path, bus: str, kind: str, node: str) -> None:
    """Its driver has made a node of this name (below /dev, where it need not be)."""
    folder = root / "sys/bus/pci/devices" / bus / kind / node.replace("/", "!")
    folder.mkdir(parents=True)
    (folder / "uevent").write_text(f"MAJOR=236\nMINOR=0\nDEVNAME={node}\n")


def give(root: Path, node: str) -> None:
    """The node is in /dev."""
    path = root / "dev" / node
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def make_virtual_function(root: Path, bus: str, whole: str) -> None:
    """The function is a virtual one of another."""
    (root / "sys/bus/pci/devices" / bus / "physfn").symlink_to(f"../{whole}")


def lay_out_link(function: Path) -> None:
    """The kernel's files of a link: generation 4 of 5, all 16 lanes."""
    files = {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}
    for name, text in {**files, "current_link_width": "16", "max_link_width": "16"}.items():
        (function / name).write_text(f"{text}\n")


LINK: dict[Series, Number] = {
    ("pcie_link_generation", "current"): 4,
    ("pcie_link_generation", "max"): 5,
    ("pcie_link_width_lanes", "current"): 16,
    ("pcie_link_width_lanes", "max"): 16,
}
