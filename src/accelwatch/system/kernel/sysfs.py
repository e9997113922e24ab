"""Reads of /sys under an injectable root. Every failure is a typed absence; nothing raises."""

import errno
import os
import re
from functools import lru_cache
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.natural_order import natural

# More than any attribute file holds (the kernel's limit for a text attribute is one page).
_MAX_BYTES = 1 << 20

# What nearly every attribute fits into: a buffer of the greatest size costs more than the read.
_PAGE_BYTES = 4096

_DRM_NODE = re.compile(r"(?:card|renderD)\d{1,6}")
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]{1,32}|[0-9]{1,32})")

_REASONS = {
    errno.ENOENT: Absence.UNSUPPORTED,
    errno.ENOTDIR: Absence.UNSUPPORTED,
    errno.EOPNOTSUPP: Absence.UNSUPPORTED,
    errno.ENODATA: Absence.UNSUPPORTED,
    errno.EISDIR: Absence.UNSUPPORTED,
    errno.EACCES: Absence.PERMISSION,
    errno.EPERM: Absence.PERMISSION,
    errno.ENODEV: Absence.LOST,
    errno.ENXIO: Absence.LOST,
    errno.ETIMEDOUT: Absence.TIMEOUT,
}


def reason_of(error: OSError) -> Absence:
    """The absence an errno stands for; EBUSY, EINVAL, EIO and all others are `error`."""
    return _REASONS.get(error.errno or 0, Absence.ERROR)


def read_bytes(path: Path) -> bytes | Absence:
    """Content of a binary attribute, at most 1 MiB; one read call gives only a page of a long one."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            content = piece = os.read(descriptor, _PAGE_BYTES)
            while len(piece) >= _PAGE_BYTES and (left := _MAX_BYTES - len(content)):
                piece = os.read(descriptor, left)
                content += piece
            return content
        finally:
            os.close(descriptor)
    except OSError as error:
        return reason_of(error)


def read_text(path: Path) -> str | Absence:
    """Stripped content of a text attribute; undecodable bytes are replaced."""
    content = read_bytes(path)
    if isinstance(content, Absence):
        return content
    return content.decode("utf-8", "replace").strip("\0 \t\r\n")


def read_int(path: Path) -> int | Absence:
    """A decimal or 0x-hexadecimal attribute; empty or other text is `error`."""
    text = read_text(path)
    return text if isinstance(text, Absence) else integer(text)


def integer(text: str) -> int | Absence:
    """The number that the kernel prints so, of 64 bits at most; `1_000` is none, though Python's."""
    if _INTEGER.fullmatch(text) is None:
        return Absence.ERROR
    number = int(text, 16 if "x" in text.lower() else 10)
    return number if abs(number) < 1 << 64 else Absence.ERROR


def list_dir(path: Path) -> list[Path]:
    """Entries in natural order (`card2` before `card10`); empty where there is no directory."""
    try:
        entries = list(path.iterdir())
    except OSError:
        return []
    return sorted(entries, key=lambda entry: (natural(entry.name), entry.name))


def is_populated(path: Path) -> bool:
    """Whether there is a file, or a directory with something in it."""
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except NotADirectoryError:
        return path.exists()
    except OSError:
        return False


def link_name(path: Path) -> str | None:
    """Last part of a symbolic link's target (the driver's name for `driver`); None without a link."""
    try:
        return path.readlink().name
    except OSError:
        return None


def pci_device_dir(root: Path, pci_bus_id: str) -> Path:
    """The PCI device's directory under the root."""
    return root / "sys/bus/pci/devices" / normal_pci_bus_id(pci_bus_id)


def runtime_suspended(root: Path, pci_bus_id: str) -> bool:
    """Whether runtime power management has put the device to sleep (PCI `power/runtime_status`).

    Reading this attribute does not wake the device; nearly every other one may.
    """
    return read_text(_status_file(root, pci_bus_id)) in ("suspended", "suspending")


# Joining a path costs more than reading the file. It depends on the arguments alone.
@lru_cache(maxsize=1024)
def _status_file(root: Path, pci_bus_id: str) -> Path:
    """Read before every turn of a device, so the path is joined once."""
    return pci_device_dir(root, pci_bus_id) / "power/runtime_status"


def is_left_asleep(root: Path, pci_bus_id: str | None, *, wake: bool) -> bool:
    """Whether a device sleeps and is to be left so; one without a PCI id is not known to sleep."""
    return not wake and pci_bus_id is not None and runtime_suspended(root, pci_bus_id)


def numa_node(root: Path, pci_bus_id: str) -> int | None:
    """NUMA node of a PCI device; None where the kernel says -1 (unknown) or nothing."""
    node = read_int(pci_device_dir(root, pci_bus_id) / "numa_node")
    return node if isinstance(node, int) and node >= 0 else None


def shows_pci(root: Path) -> bool:
    """Whether the PCI bus is to be seen; some containers hide it."""
    return (root / "sys/bus/pci/devices").is_dir()


def drm_nodes(root: Path, pci_bus_id: str) -> tuple[str, ...]:
    """`/dev/dri/card1`, `/dev/dri/renderD128` of a PCI device that has a DRM driver."""
    entries = list_dir(pci_device_dir(root, pci_bus_id) / "drm")
    return tuple(f"/dev/dri/{entry.name}" for entry in entries if _DRM_NODE.fullmatch(entry.name))


def pci_functions(root: Path, vendor_id: int) -> list[tuple[str, int, int]]:
    """(PCI id, device id, class code) of each function of a vendor, in bus order."""
    functions: list[tuple[str, int, int]] = []
    for entry in list_dir(root / "sys/bus/pci/devices"):
        if read_int(entry / "vendor") != vendor_id:
            continue
        device, code = read_int(entry / "device"), read_int(entry / "class")
        if isinstance(device, int) and isinstance(code, int):
            functions.append((entry.name, device, code))
    # Addresses are hexadecimal: in their natural order 3a would come before 18.
    return sorted(functions)
