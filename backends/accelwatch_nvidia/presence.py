"""What /sys and /proc say of NVIDIA GPUs without any library and without waking one."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from accelwatch.backend import Check, Probe
from accelwatch.base.absence import Absence
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import Device, normal_pci_bus_id
from accelwatch.schema.health import NO_DRIVER
from accelwatch.system.kernel import sysfs

VENDOR_ID = 0x10DE
LIBRARY = "libnvidia-ml.so.1"
_DISPLAY_CLASS = 0x03
_LIBRARY_DIRS = (
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/lib/wsl/lib",
    "usr/local/nvidia/lib64",
)


class PresentGpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as kernel and driver list it; None where they do not say."""

    pci_bus_id: str
    model: str | None = None
    uuid: str | None = None
    minor: int | None = None
    vbios_version: str | None = None
    firmware_version: str | None = None
    kernel_driver: str | None = None


# What the driver writes of a GPU without GSP firmware, or one that was not initialised yet.
_UNKNOWN = ("N/A", "Unknown")


def information(text: str) -> dict[str, str]:
    """Rows `Name: \\t value` of /proc/driver/nvidia/gpus/*/information; unknown values left out."""
    rows: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        value = value.strip()
        if colon and value and value not in _UNKNOWN and "?" not in value:
            rows[name.strip()] = value
    return rows


def _listed(folder: Path) -> PresentGpu | None:
    text = sysfs.read_text(folder / "information")
    rows = {} if isinstance(text, Absence) else information(text)
    bus = normal_pci_bus_id(rows.get("Bus Location", folder.name))
    if not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]", bus):
        return None
    minor = rows.get("Device Minor", "")
    return PresentGpu(
        pci_bus_id=bus,
        model=rows.get("Model"),
        uuid=rows.get("GPU UUID"),
        minor=int(minor) if minor.isdecimal() else None,
        vbios_version=rows.get("Video BIOS"),
        firmware_version=rows.get("GPU Firmware"),
        kernel_driver="nvidia",
    )


def driver_gpus(root: Path) -> list[PresentGpu]:
    """GPUs that the nvidia driver has bound, in PCI order, which is NVML's order."""
    folders = sysfs.list_dir(root / "proc/driver/nvidia/gpus")
    gpus = [gpu for gpu in map(_listed, folders) if gpu is not None]
    return sorted(gpus, key=lambda gpu: gpu.pci_bus_id)


def pci_gpus(root: Path) -> list[PresentGpu]:
    """NVIDIA display functions on the PCI bus, whatever driver they have."""
    return [
        PresentGpu(
            pci_bus_id=normal_pci_bus_id(bus),
            kernel_driver=sysfs.link_name(sysfs.pci_device_dir(root, bus) / "driver"),
        )
        for bus, _, code in sysfs.pci_functions(root, VENDOR_ID)
        if code >> 16 == _DISPLAY_CLASS
    ]


def present_gpus(root: Path) -> list[PresentGpu]:
    """GPUs of the nvidia driver: as it lists them, else those that sysfs says are bound to it.

    /proc lists the host's GPUs in every container. Those without a device node here come last, so that
    the others have the indices that NVML gives them.
    """
    listed = driver_gpus(root)
    listed = listed or [gpu for gpu in pci_gpus(root) if gpu.kernel_driver == "nvidia"]
    if not (root / "dev/nvidiactl").exists():
        return listed
    return sorted(listed, key=lambda gpu: not _has_node(root, gpu))


def unbound_gpus(root: Path) -> list[PresentGpu]:
    """GPUs that no driver has, while the nvidia driver has others: it did not bring them up."""
    listed = {gpu.pci_bus_id for gpu in driver_gpus(root)}
    return [
        gpu
        for gpu in (pci_gpus(root) if listed else ())
        if gpu.kernel_driver is None and gpu.pci_bus_id not in listed
    ]


def without_driver(device: Device) -> ReadError:
    """The failure to read such a GPU."""
    message = (
        f"{device.name}: no driver has {device.pci_bus_id}; see the kernel log, reboot the node"
    )
    return ReadError(message, code=NO_DRIVER)


def _has_node(root: Path, gpu: PresentGpu) -> bool:
    return gpu.minor is None or (root / f"dev/nvidia{gpu.minor}").exists()


def refusal(root: Path, device_nodes: Iterable[str]) -> str | None:
    """Why a GPU that NVML does not find is not ours to open; None where nothing speaks against it."""
    if not (root / "dev/nvidiactl").exists():
        return None
    for node in device_nodes:
        try:
            os.close(os.open(root / node.lstrip("/"), os.O_RDWR | os.O_CLOEXEC))
        except FileNotFoundError:
            return f"its device node {node} is not here"
        except PermissionError:
            return f"{node} may not be opened"
        except OSError:
            continue
    return None


def driver_version(root: Path) -> str | None:
    """Version of the loaded kernel module, from /sys/module or /proc/driver/nvidia/version."""
    text = sysfs.read_text(root / "sys/module/nvidia/version")
    if not isinstance(text, Absence) and text:
        return text
    text = sysfs.read_text(root / "proc/driver/nvidia/version")
    match = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", "" if isinstance(text, Absence) else text)
    return match[1] if match else None


def library_path(root: Path, environ: Mapping[str, str]) -> tuple[Path | None, bool]:
    """(libnvidia-ml.so.1 where the loader would look, whether LD_LIBRARY_PATH names it)."""
    for folder in filter(None, environ.get("LD_LIBRARY_PATH", "").split(":")):
        if (Path(folder) / LIBRARY).exists():
            return Path(folder) / LIBRARY, True
    for name in _LIBRARY_DIRS:
        if (root / name / LIBRARY).exists():
            return root / name / LIBRARY, False
    return None, False


def other_driver(root: Path) -> str | None:
    """A kernel driver other than nvidia that holds every NVIDIA GPU; None where there is none."""
    drivers = {gpu.kernel_driver for gpu in pci_gpus(root)}
    return drivers.pop() if len(drivers) == 1 and drivers.isdisjoint({None, "nvidia"}) else None


def _driver_check(root: Path, version: str | None) -> Check:
    holder = other_driver(root)
    if version is not None:
        remedy = ""
    elif holder == "nouveau":
        remedy = "the GPUs are nouveau's, which is not read; install NVIDIA's driver to see them"
    else:
        remedy = "load the kernel module: modprobe nvidia"
    return Check(
        subject="nvidia kernel driver", ok=version is not None, found=version or "", remedy=remedy
    )


def _node_check(node: Path) -> Check:
    if not node.exists():
        remedy = "in a container, pass the device in (--gpus all)"
        return Check(subject="/dev/nvidiactl", ok=False, remedy=remedy)
    usable = os.access(node, os.R_OK | os.W_OK)
    return Check(
        subject="/dev/nvidiactl",
        ok=usable,
        found="" if usable else "no read and write permission",
        remedy="" if usable else "give this user access to /dev/nvidiactl and /dev/nvidia*",
    )


def probe(root: Path, environ: Mapping[str, str]) -> Probe:
    """Look for GPUs, driver, device node and library. GPUs handed to virtual machines do not count."""
    on_bus, version = pci_gpus(root), driver_version(root)
    library, named = library_path(root, environ)
    node = root / "dev/nvidiactl"
    paravirtual = (root / "dev/dxg").exists() and library is not None
    drivers = sorted({gpu.kernel_driver or "none" for gpu in on_bus})
    checks = (
        Check(
            subject="NVIDIA GPU on the PCI bus",
            ok=bool(on_bus),
            found=f"{len(on_bus)}, kernel driver {', '.join(drivers)}" if on_bus else "",
        ),
        _driver_check(root, version),
        _node_check(node),
        Check(
            subject=LIBRARY,
            ok=library is not None,
            found=str(library or ""),
            remedy="" if library else "install the user-space part of the driver",
        ),
    )
    ours = any(gpu.kernel_driver != "vfio-pci" for gpu in on_bus)
    present = ours or version is not None or node.exists() or named or paravirtual
    return Probe(present=present, checks=checks)
