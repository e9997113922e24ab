"""What an NVML return code means for a quantity and for a device; codes as in nvml.h `nvmlReturn_t`."""

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceTimeout, ReadError

SUCCESS = 0
UNINITIALIZED = 1
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
NO_PERMISSION = 4
NOT_FOUND = 6
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
TIMEOUT = 10
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
CORRUPTED_INFOROM = 14
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIB_RM_VERSION_MISMATCH = 18
UNKNOWN = 999

NAMES = {
    1: "UNINITIALIZED",
    2: "INVALID_ARGUMENT",
    3: "NOT_SUPPORTED",
    4: "NO_PERMISSION",
    5: "ALREADY_INITIALIZED",
    6: "NOT_FOUND",
    7: "INSUFFICIENT_SIZE",
    8: "INSUFFICIENT_POWER",
    9: "DRIVER_NOT_LOADED",
    10: "TIMEOUT",
    11: "IRQ_ISSUE",
    12: "LIBRARY_NOT_FOUND",
    13: "FUNCTION_NOT_FOUND",
    14: "CORRUPTED_INFOROM",
    15: "GPU_IS_LOST",
    16: "RESET_REQUIRED",
    17: "OPERATING_SYSTEM",
    18: "LIB_RM_VERSION_MISMATCH",
    19: "IN_USE",
    20: "MEMORY",
    21: "NO_DATA",
    22: "VGPU_ECC_NOT_SUPPORTED",
    23: "INSUFFICIENT_RESOURCES",
    24: "FREQ_NOT_SUPPORTED",
    25: "ARGUMENT_VERSION_MISMATCH",
    26: "DEPRECATED",
    27: "NOT_READY",
    28: "GPU_NOT_FOUND",
    29: "INVALID_STATE",
    30: "RESET_TYPE_NOT_SUPPORTED",
    999: "UNKNOWN",
}

# Answers that do not change while the driver stays loaded: not queried again.
PERMANENT = frozenset({3, 13, 25, 26})

# Answers that speak of the driver, not of the device.
STACK_GONE = frozenset({UNINITIALIZED, DRIVER_NOT_LOADED, LIB_RM_VERSION_MISMATCH})

_ABSENCES = {
    2: Absence.UNSUPPORTED,
    3: Absence.UNSUPPORTED,
    4: Absence.PERMISSION,
    6: Absence.UNSUPPORTED,
    10: Absence.TIMEOUT,
    13: Absence.UNSUPPORTED,
    15: Absence.LOST,
    25: Absence.UNSUPPORTED,
    26: Absence.UNSUPPORTED,
}

_FAILURES: dict[int, type[ReadError]] = {
    4: DevicePermission,
    10: DeviceTimeout,
    15: DeviceLost,
    16: DeviceLost,
    28: DeviceLost,
    999: DeviceLost,
}

_HINTS = {
    4: "give this user access to the device node",
    15: "the GPU has fallen off the bus; reboot the node",
    16: "reset the GPU, or reboot the node",
}

_UNAVAILABLE = {
    4: ("permission", "give this user access to /dev/nvidiactl and /dev/nvidia*"),
    9: ("driver_not_loaded", "load the kernel module: modprobe nvidia"),
    12: (
        "library_not_found",
        "install the driver's libnvidia-ml.so.1, or put it on the loader path",
    ),
    13: ("library_too_old", "update the driver"),
    999: (
        "error",
        "in a container, restart it: it may have lost its devices; else look into the kernel log "
        "for NVRM lines",
    ),
    18: ("version_mismatch", "reload the nvidia kernel modules or reboot after the driver update"),
}


def name(code: int) -> str:
    """`NVML_ERROR_GPU_IS_LOST` for 15; a code of a newer header keeps its number."""
    return f"NVML_ERROR_{NAMES.get(code, code)}"


def absence(code: int) -> Absence:
    """Why one quantity has no value after this code; unknown codes are errors."""
    return _ABSENCES.get(code, Absence.ERROR)


def failure(code: int, device: str, doing: str) -> ReadError:
    """The exception for a device that answered with this code as a whole."""
    hint = _HINTS.get(code, "")
    message = f"{device}: {doing}: {name(code)}" + (f"; {hint}" if hint else "")
    return _FAILURES.get(code, ReadError)(message, code=name(code))


def unavailable(code: int, doing: str) -> BackendUnavailable:
    """The exception for a driver stack that answered with this code."""
    reason, remedy = _UNAVAILABLE.get(code, ("error", "look into the kernel log for NVRM lines"))
    return BackendUnavailable(f"NVML: {doing}: {name(code)}", reason=reason, remedy=remedy)
