"""nvidia-smi's words for values, absences and failures, turned into numbers in base units."""

import math
import re

import msgspec

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_nvidia import returns
from accelwatch_nvidia.mapping import MHZ, MIB, Outcome

_ABSENCES = {
    "n/a": Absence.UNSUPPORTED,
    "not supported": Absence.UNSUPPORTED,
    "requested functionality has been deprecated": Absence.UNSUPPORTED,
    "function not found": Absence.UNSUPPORTED,
    "insufficient permissions": Absence.PERMISSION,
    "gpu is lost": Absence.LOST,
    "unknown error": Absence.ERROR,
    "err!": Absence.ERROR,
    "gpu requires reset": Absence.ERROR,
    "": Absence.ERROR,
}

# Per kind of quantity: the units nvidia-smi may print, and their factor to the base unit.
UNITS: dict[str, dict[str, float]] = {
    "ratio": {"%": 0.01},
    "fan_ratio": {"%": 0.01},
    "celsius": {"C": 1},
    "watts": {"W": 1, "mW": 0.001},
    "hertz": {"MHz": MHZ},
    "bytes": {"MiB": MIB, "KiB": 1024, "GiB": 1 << 30},
    "seconds": {"us": 1e-6, "ns": 1e-9, "ms": 1e-3},
    "bytes_per_second": {"KB/s": 1000, "MB/s": 1_000_000},
    "volts": {"mV": 0.001, "V": 1},
    "count": {"": 1, "bank(s)": 1},
    "lanes": {"x": 1},
}

# What can be true, as in the readings through NVML; fans may turn faster than their 100 %.
_BOUNDS: dict[str, tuple[float, float]] = {
    "ratio": (0, 1),
    "fan_ratio": (0, 10),
    "celsius": (-60, 200),
    "watts": (0, 100_000),
    "hertz": (0, 20_000 * MHZ),
    "bytes": (0, 1 << 48),
    "lanes": (0, 32),
    "count": (0, (1 << 63) - 1),
}

_FLAGS = {"yes": 1, "no": 0, "enabled": 1, "disabled": 0, "active": 1, "not active": 0}
# A comma as a locale has it before decimals; before three digits it could part thousands.
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+|,\d{1,2}(?!\d))?)\s*(\D\S*)?", re.ASCII)
_STATE = re.compile(r"P(\d{1,2})", re.ASCII)


def absence(text: str) -> Absence | None:
    """The absence a text stands for, in either spelling (`N/A`, `[N/A]`); None for a value."""
    token = text.strip().strip("[]").strip().lower()
    return _ABSENCES.get(token)


def number(text: str, kind: str) -> Outcome:
    """The value in base units; a unit, sign or size that the kind cannot have is an error."""
    if why := absence(text):
        return why
    match = _NUMBER.fullmatch(text.strip())
    factor = UNITS[kind].get(match[2] or "") if match else None
    if match is None or factor is None:
        return Absence.ERROR
    plain = match[1].replace(",", ".")
    value = float(plain) if "." in plain else int(plain)
    scaled = value / 100 if kind.endswith("ratio") else _scaled(value, factor)
    lowest, highest = _BOUNDS.get(kind, (0, math.inf))
    return scaled if lowest <= scaled <= highest else Absence.ERROR


def _scaled(value: float, factor: float) -> float:
    if factor >= 1:
        return value * int(factor)
    return value / round(1 / factor)


def flag(text: str) -> Outcome:
    """1 or 0 of Yes/No, Enabled/Disabled, Active/Not Active."""
    if why := absence(text):
        return why
    return _FLAGS.get(text.strip().lower(), Absence.ERROR)


def performance_state(text: str) -> Outcome:
    """8 of `P8`."""
    if why := absence(text):
        return why
    match = _STATE.fullmatch(text.strip())
    return int(match[1]) if match and int(match[1]) <= 15 else Absence.ERROR


def label_value(text: str) -> str:
    """A state's name as a label value: `Drain and Reset` becomes `drain_and_reset`."""
    return "_".join(text.strip().lower().split())


# Begins the part of a GPU in lists for people: `GPU 0: NVIDIA L4 (UUID: GPU-...)`.
GPU_LINE = re.compile(r"GPU\s+\d+:.*\(UUID:\s+(GPU-[^)\s]+)\)")


class GpuFailure(msgspec.Struct, frozen=True):
    """nvidia-smi gave up on account of one GPU."""

    pci_bus_id: str
    code: int

    @property
    def has_address(self) -> bool:
        """Whether it says where the GPU is; some releases print its index only."""
        return ":" in self.pci_bus_id


# Newer releases put the index before the PCI id, and go on with the other GPUs.
_HANDLE = re.compile(
    r"Unable to determine the device handle for (?:GPU|gpu)\s*(?:\d{1,4}:\s*(?=[0-9A-Fa-f]{4,8}:))?"
    r"(?P<bus>[0-9A-Fa-f:.]+):\s*(?P<why>.{1,160})",
    re.DOTALL,
)
_WHY = (
    ("GPU is lost", returns.GPU_IS_LOST),
    ("requires reset", returns.RESET_REQUIRED),
    ("Insufficient Permissions", returns.NO_PERMISSION),
    ("Not Found", returns.NOT_FOUND),
)

_STACK = (
    ("version mismatch", returns.LIB_RM_VERSION_MISMATCH),
    ("Insufficient Permissions", returns.NO_PERMISSION),
    ("couldn't communicate with the NVIDIA driver", returns.DRIVER_NOT_LOADED),
    ("Driver Not Loaded", returns.DRIVER_NOT_LOADED),
    ("couldn't find libnvidia-ml", returns.LIBRARY_NOT_FOUND),
    ("Function Not Found", returns.FUNCTION_NOT_FOUND),
)

# Exit statuses of nvidia-smi that are NVML's return codes.
EXIT_CODES = frozenset({4, 9, 12, 13, 15, 18})


def gpu_failures(text: str) -> list[GpuFailure]:
    """Which GPUs nvidia-smi could not open, and why; consoles may have wrapped the lines."""
    chunks = re.split(r"(?=Unable to determine)", text)
    return [_failure(match) for chunk in chunks if (match := _HANDLE.match(chunk)) is not None]


def _failure(match: re.Match[str]) -> GpuFailure:
    why = " ".join(match["why"].split())
    code = next((code for phrase, code in _WHY if phrase in why), returns.UNKNOWN)
    return GpuFailure(normal_pci_bus_id(match["bus"]), code)


def gpu_failure(text: str) -> GpuFailure | None:
    """The first of them."""
    return next(iter(gpu_failures(text)), None)


def stack_failure(text: str, status: int | None) -> BackendUnavailable | None:
    """Why nvidia-smi as a whole could not work; the message is on stdout or stderr."""
    for phrase, code in _STACK:
        if phrase.lower() in text.lower():
            return returns.unavailable(code, "nvidia-smi")
    if status in EXIT_CODES and status != returns.GPU_IS_LOST:
        return returns.unavailable(status, "nvidia-smi")
    return None
