"""The driver's tree in sysfs: only ever read, for a write clears counters or resets the device."""

import re
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.base.untrusted_text import printable
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs

VENDOR = "neuron"
_DEVICE_ROOT = "sys/devices/virtual/neuron_device"
_FOLDER = re.compile(r"neuron(\d{1,4})")
_INDEX = re.compile(r"[0-9]{1,4}")
_CORE = re.compile(r"neuron_core\d{1,3}")
_MAX_TEXT = 80
_ECC = (("mem_ecc_uncorrected", "hbm"), ("sram_ecc_uncorrected", "sram"))
# Of driver 2.30 and later.
_CORRECTED = (("mem_ecc_corrected", "hbm"), ("sram_ecc_corrected", "sram"))
# Errors of rows that the driver repairs when it is loaded again.
_REPAIRABLE = "mem_ecc_repairable_uncorrected"


def folders(root: Path) -> dict[int, Path]:
    """Folder of each device by its index; empty without the driver."""
    named = ((_FOLDER.fullmatch(path.name), path) for path in sysfs.list_dir(root / _DEVICE_ROOT))
    return {int(match[1]): path for match, path in named if match}


def device(root: Path, index: int, folder: Path) -> Device:
    """Who it is; its id is the serial number, without one the driver's index."""
    serial = _text(folder / "info/serial_number")
    name = f"neuron{index}"
    return Device(
        id=f"{VENDOR}:{serial or name}",
        vendor=VENDOR,
        backend=VENDOR,
        index=index,
        name=name,
        kind=DeviceKind.NPU,
        model=_architecture(folder, "device_name"),
        architecture=_architecture(folder, "arch_type"),
        serial=serial,
        driver_version=driver_version(root),
        device_nodes=(f"/dev/{name}",) if (root / "dev" / name).exists() else (),
    )


def driver_version(root: Path) -> str | None:
    """`2.26.5.0`; None where the module does not say it."""
    return _text(root / "sys/module/neuron/version")


def collect_ecc(out: Collected, folder: Path) -> None:
    """Uncorrected errors by location and together; those that a reload of the driver repairs.

    The driver counts an error of the HBM as repairable or as uncorrected, never as both.
    """
    counts = [(location, count(folder / "stats/hardware" / name)) for name, location in _ECC]
    for location, errors in counts:
        out.put_or_miss("ecc_location_errors_total", errors, "uncorrected", location)
    repairable = count(folder / "stats/hardware" / _REPAIRABLE)
    out.put_or_miss("ecc_location_errors_total", repairable, "uncorrected", "hbm_repairable")
    wanting = repairable if isinstance(repairable, Absence) else repairable > 0
    out.put_or_miss("memory_repair_pending", wanting)
    together = [errors for _, errors in counts]
    if repairable is not Absence.UNSUPPORTED:
        together.append(repairable)
    out.put_or_miss("ecc_errors_total", _sum(together), "uncorrected")


def collect_corrected(out: Collected, folder: Path) -> None:
    """Errors that were corrected, where the driver counts them; else what is there stays."""
    counts = [(location, count(folder / "stats/hardware" / name)) for name, location in _CORRECTED]
    if all(errors is Absence.UNSUPPORTED for _, errors in counts):
        return
    for location, errors in counts:
        out.put_or_miss("ecc_location_errors_total", errors, "corrected", location)
    out.put_or_miss("ecc_errors_total", _sum([errors for _, errors in counts]), "corrected")


def collect_memory(out: Collected, folder: Path) -> None:
    """Device memory in use, bytes: of all cores, by what it is used for, added up.

    The driver adds and subtracts in `total`; `present` is the last change.
    """
    uses = [
        count(use)
        for core in cores(folder)
        for use in sysfs.list_dir(core / "stats/memory_usage/device_mem")
        if (use / "total").exists()
    ]
    out.put_or_miss("memory_used_bytes", _sum(uses))


def cores(folder: Path) -> list[Path]:
    """Folders of the device's cores."""
    return [path for path in sysfs.list_dir(folder) if _CORE.fullmatch(path.name)]


def neighbours(folder: Path) -> tuple[int, ...] | None:
    """Indices of the devices it has links to; None where the driver does not say it to us."""
    text = sysfs.read_text(folder / "connected_devices")
    if isinstance(text, Absence):
        return None
    tokens = [token.strip() for token in text.split(",")]
    return tuple(int(token) for token in tokens if _INDEX.fullmatch(token))


def _architecture(folder: Path, name: str) -> str | None:
    """Drivers show it for the device, for its cores, or both."""
    attribute = f"info/architecture/{name}"
    return _text(folder / attribute) or _text(folder / "neuron_core0" / attribute)


def count(path: Path) -> int | Absence:
    """A counter, which is a file or a folder with a `total`."""
    raw = sysfs.read_int(path / "total" if path.is_dir() else path)
    return Absence.ERROR if isinstance(raw, int) and raw < 0 else raw


def _sum(counts: list[int | Absence]) -> int | Absence:
    """The sum, if every part is known; else why it is not."""
    lacking = [count for count in counts if isinstance(count, Absence)]
    if lacking or not counts:
        return lacking[0] if lacking else Absence.UNSUPPORTED
    return sum(count for count in counts if not isinstance(count, Absence))


def _text(path: Path) -> str | None:
    text = sysfs.read_text(path)
    if isinstance(text, Absence):
        return None
    clean = printable(text, instead="").strip()[:_MAX_TEXT]
    return None if clean.lower() in ("", "n/a", "none", "unknown", "invalid", "0") else clean
