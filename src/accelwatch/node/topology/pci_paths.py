"""Where on the PCI bus a function is: its host bridge, and the bridges on the way to it."""

import re
from pathlib import Path

import msgspec

from accelwatch.system.kernel import sysfs

_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_FUNCTION = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CPU_LIST = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")


class PciPath(msgspec.Struct, frozen=True, kw_only=True):
    """A function's position on the bus. Source: the paths of sysfs (kernel doc, `sysfs-pci`)."""

    # `pci0000:60`, the root under which the kernel found it.
    host_bridge: str
    # PCI ids of the bridges from the root to it, outermost first.
    bridges: tuple[str, ...]
    # None where the kernel knows of none: the machine has one node, or its firmware does not say.
    numa_node: int | None = None
    # The processors near it as the kernel lists them (`0-31,64-95`); empty where it does not.
    cpus: str = ""


def pci_path(root: Path, pci_bus_id: str) -> PciPath | None:
    """The path of a function; None where sysfs does not show it on a PCI bus."""
    folder = sysfs.pci_device_dir(root, pci_bus_id)
    try:
        steps = folder.resolve(strict=True).parts
    except (OSError, RuntimeError):  # a loop of links is a RuntimeError up to Python 3.12
        return None
    roots = [number for number, step in enumerate(steps) if _HOST_BRIDGE.fullmatch(step)]
    if not roots:
        return None
    functions = [step for step in steps[roots[-1] + 1 :] if _FUNCTION.fullmatch(step)]
    cpus = sysfs.read_text(folder / "local_cpulist")
    return PciPath(
        host_bridge=steps[roots[-1]],
        bridges=tuple(functions[:-1]),
        numa_node=sysfs.numa_node(root, pci_bus_id),
        cpus=cpus if isinstance(cpus, str) and _CPU_LIST.fullmatch(cpus) else "",
    )
