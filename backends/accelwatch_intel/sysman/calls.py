"""Calls into the Level Zero loader. Results become structures, error codes our exceptions.

The library object is given from outside, so that tests bring their own. It is loaded here and
nowhere else, and only on request.
"""

import ctypes
import os
from collections.abc import Callable
from ctypes import Structure, byref, c_uint32, c_void_p
from typing import Any, TypeVar

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch_intel.loader import LIBRARIES
from accelwatch_intel.sysman.structures import STYPES, DeviceProperties, PciProperties

UNINITIALIZED = 0x78000001
MISSING_SYMBOL = "missing_symbol"

# More handles or processes than any device has; a larger answer is damage.
_MAX_COUNT = 4096


class NotSupported(ReadError):  # noqa: N818
    """The driver, this device or this version of the library does not have the call."""

    absence = Absence.UNSUPPORTED


class ResetRequired(ReadError):  # noqa: N818
    """The device answers nothing more until it is reset."""


# ze_result_t (ze_api.h) to its name and our exception; any other code is a ReadError.
_ERRORS: dict[int, tuple[str, type[ReadError]]] = {
    0x70000001: ("ZE_RESULT_ERROR_DEVICE_LOST", DeviceLost),
    0x70000006: ("ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET", ResetRequired),
    0x70000007: ("ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE", DeviceSuspended),
    0x70010000: ("ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS", DevicePermission),
    0x70010001: ("ZE_RESULT_ERROR_NOT_AVAILABLE", ReadError),
    0x70020000: ("ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE", ReadError),
    UNINITIALIZED: ("ZE_RESULT_ERROR_UNINITIALIZED", ReadError),
    0x78000002: ("ZE_RESULT_ERROR_UNSUPPORTED_VERSION", NotSupported),
    0x78000003: ("ZE_RESULT_ERROR_UNSUPPORTED_FEATURE", NotSupported),
    0x78000004: ("ZE_RESULT_ERROR_INVALID_ARGUMENT", ReadError),
    0x78000005: ("ZE_RESULT_ERROR_INVALID_NULL_HANDLE", ReadError),
    0x78000020: ("ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED", ReadError),
}

S = TypeVar("S", bound=Structure)


def error_of(call: str, code: int) -> ReadError:
    """The exception a result code stands for."""
    name, kind = _ERRORS.get(code, (f"0x{code:08x}", ReadError))
    return kind(f"{call}: {name}", code=name)


def load_library(path: str = "") -> Any:
    """The loader library: the given path, else by its usual names. Raises BackendUnavailable."""
    problems = []
    for name in (path,) if path else LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            problems.append(str(error))
    raise BackendUnavailable(
        f"Level Zero loader cannot be loaded: {'; '.join(problems)}",
        reason="library_missing",
        remedy="install the package level-zero (libze1) and the GPU's compute runtime",
    )


class Sysman:
    """The calls of a loaded library. All of them may block; the library allows several threads."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._prefix = "zes"

    def call(self, name: str, *arguments: Any) -> None:
        """One call; raises the exception of its result code, NotSupported for a missing symbol."""
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise NotSupported(f"{name}: not in this library", code=MISSING_SYMBOL) from None
        function.restype = c_uint32
        code = function(*arguments)
        if code:
            raise error_of(name, code)

    def start(self) -> None:
        """Initialise Sysman. It opens every render node, which wakes a suspended card.

        Older loaders (1.8.12 is one) have no zesInit: there an environment variable turns Sysman on
        inside the core library, whose handles then serve.
        """
        try:
            self.call("zesInit", c_uint32(0))
        except NotSupported as error:
            if error.code != MISSING_SYMBOL:
                raise
            os.environ["ZES_ENABLE_SYSMAN"] = "1"
            self._prefix = "ze"
            self.call("zeInit", c_uint32(0))

    def devices(self) -> dict[str, c_void_p]:
        """Handle of each device by PCI id."""
        by_bus_id: dict[str, c_void_p] = {}
        find = f"{self._prefix}DriverGet"
        for driver in self._array(lambda *end: self.call(find, *end), c_void_p):
            for device in self.handles(f"{self._prefix}DeviceGet", c_void_p(driver)):
                try:
                    pci = self.get("zesDevicePciGetProperties", device, PciProperties)
                except ReadError:
                    continue
                by_bus_id[f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.{pci.function:x}"] = (
                    device
                )
        return by_bus_id

    def handles(self, name: str, parent: c_void_p) -> list[c_void_p]:
        """Handles below another one, by a call that is made twice: for the count, then for all."""
        values = self._array(lambda *end: self.call(name, parent, *end), c_void_p)
        return [c_void_p(value) for value in values]

    def structures(self, name: str, parent: c_void_p, kind: type[S]) -> list[S]:
        """Structures below a handle, by the same two calls."""

        def fetch(count: Any, items: Any) -> None:
            for item in (items or ()) if kind in STYPES else ():
                item.stype = STYPES[kind]
            self.call(name, parent, count, items)

        structures: list[S] = self._array(fetch, kind)
        return structures

    def get(self, name: str, handle: c_void_p, kind: type[S]) -> S:
        """One structure that a call of (handle, pointer) fills."""
        value = kind()
        if kind in STYPES:
            value.stype = STYPES[kind]
        self.call(name, handle, byref(value))
        return value

    def properties(self, device: c_void_p) -> DeviceProperties:
        """Identity of a device."""
        return self.get("zesDeviceGetProperties", device, DeviceProperties)

    def _array(self, fetch: Callable[[Any, Any], None], kind: Any) -> Any:
        count = c_uint32(0)
        fetch(byref(count), None)
        if count.value == 0:
            return []
        if count.value > _MAX_COUNT:
            raise ReadError(f"a count of {count.value} cannot be true", code="count")
        items = (kind * count.value)()
        fetch(byref(count), items)
        return list(items)[: count.value]


def text(value: bytes) -> str | None:
    """A string property; None for the driver's "unknown" and for nothing."""
    decoded = value.decode("utf-8", "replace").strip()
    return None if decoded.lower() in ("", "unknown") else decoded


def uuid_text(octets: bytes) -> str | None:
    """A device uuid as xpu-smi prints it: last byte first; None when all bytes are 0."""
    if len(octets) != 16 or not any(octets):
        return None
    digits = bytes(reversed(octets)).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
