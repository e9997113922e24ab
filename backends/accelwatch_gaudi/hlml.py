"""Calls into libhlml, Habana's library after the pattern of NVML. Return codes become our exceptions.

Structures grew from version to version (hlml.h): answers go into buffers that are longer than any, and
only what has stood at the same offset ever since is read from them.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.base.errors import DeviceLost, DeviceTimeout, ReadError
from accelwatch.schema.device import normal_pci_bus_id

# Where the vendor's package puts it.
LIBRARY_PATH = "usr/lib/habanalabs/libhlml.so"
_REMEDY = "install habanalabs-firmware-tools, which brings libhlml.so, or set the source to hl-smi"
# Longer than HL_FIELD_MAX_SIZE (32) and the vendor's greatest length of a version (128).
_TEXT_BYTES = 256
_ROOM_BYTES = 512
_MOST_DEVICES = 64


class NotSupported(ReadError):  # noqa: N818
    """This device, driver or version of the library does not have the call."""

    absence = Absence.UNSUPPORTED


# hlml_return_t (hlml.h) to its name and our exception; any other code is a ReadError.
_ERRORS: dict[int, tuple[str, type[ReadError]]] = {
    1: ("HLML_ERROR_UNINITIALIZED", ReadError),
    2: ("HLML_ERROR_INVALID_ARGUMENT", ReadError),
    3: ("HLML_ERROR_NOT_SUPPORTED", NotSupported),
    5: ("HLML_ERROR_ALREADY_INITIALIZED", ReadError),
    6: ("HLML_ERROR_NOT_FOUND", ReadError),
    7: ("HLML_ERROR_INSUFFICIENT_SIZE", ReadError),
    9: ("HLML_ERROR_DRIVER_NOT_LOADED", ReadError),
    10: ("HLML_ERROR_TIMEOUT", DeviceTimeout),
    15: ("HLML_ERROR_AIP_IS_LOST", DeviceLost),
    20: ("HLML_ERROR_MEMORY", ReadError),
    21: ("HLML_ERROR_NO_DATA", ReadError),
    49: ("HLML_ERROR_UNKNOWN", ReadError),
}

# hlml_device_t, a pointer (ctypes).
Handle = Any


def load(path: Path) -> Any:
    """The library. Raises BackendUnavailable."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise BackendUnavailable(
            f"libhlml cannot be loaded: {error}", reason="library_missing", remedy=_REMEDY
        ) from error


class Hlml:
    """The calls of a loaded library. All of them may block; a device is read by one thread."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def call(self, name: str, *arguments: Any) -> None:
        """One call; raises the exception of its return code, NotSupported for a missing symbol."""
        function: Callable[..., int] | None = getattr(self._library, name, None)
        if function is None:
            raise NotSupported(f"{name}: not in this library", code="missing_symbol")
        code = function(*arguments)
        if code:
            error_name, kind = _ERRORS.get(code, (str(code), ReadError))
            raise kind(f"{name}: {error_name}", code=error_name)

    def start(self) -> None:
        """Initialise. Raises BackendUnavailable with what the library says."""
        try:
            self.call("hlml_init")
        except ReadError as error:
            if error.code == "HLML_ERROR_ALREADY_INITIALIZED":
                return
            raise BackendUnavailable(
                f"libhlml does not start: {error}", reason="library_failed", remedy=_REMEDY
            ) from error

    def stop(self) -> None:
        """Release what the library holds; its complaint at the end means nothing."""
        getattr(self._library, "hlml_shutdown", int)()

    def handles(self) -> dict[str, tuple[int, Handle]]:
        """The vendor's index and the handle of each device by PCI id, but of those that fail."""
        by_address: dict[str, tuple[int, Handle]] = {}
        for index in range(min(self.count(), _MOST_DEVICES)):
            handle = ctypes.c_void_p()
            try:
                self.call(
                    "hlml_device_get_handle_by_index", ctypes.c_uint(index), ctypes.byref(handle)
                )
                address = self._pci_address(handle)
            except ReadError:
                continue
            by_address[address] = (index, handle)
        return by_address

    def count(self) -> int:
        """Devices that the library knows. Raises ReadError."""
        count = ctypes.c_uint()
        self.call("hlml_device_get_count", ctypes.byref(count))
        return count.value

    def _pci_address(self, handle: Handle) -> str:
        """`bus_id` follows the number of the bus in all versions of hlml_pci_info_t."""
        room = ctypes.create_string_buffer(_ROOM_BYTES)
        self.call("hlml_device_get_pci_info", handle, room)
        text = room.raw[ctypes.sizeof(ctypes.c_uint) :].partition(b"\0")[0]
        return normal_pci_bus_id(text.decode("ascii", "replace").strip())

    def number(self, name: str, *arguments: Any, wide: bool = False, at: int = 0) -> int:
        """What a call answers: the unsigned number (64 bits when `wide`) at index `at`."""
        kind = ctypes.c_uint64 if wide else ctypes.c_uint32
        room = (kind * (_ROOM_BYTES // ctypes.sizeof(kind)))()
        self.call(name, *arguments, room)
        return int(room[at])

    def pair(self, name: str, handle: Handle) -> tuple[int, int]:
        """What a call answers in two numbers."""
        first, second = ctypes.c_uint(), ctypes.c_uint()
        self.call(name, handle, ctypes.byref(first), ctypes.byref(second))
        return first.value, second.value

    def text(self, name: str, *arguments: Any) -> str:
        """What a call answers in words."""
        room = ctypes.create_string_buffer(_TEXT_BYTES)
        self.call(name, *arguments, room, ctypes.c_uint(_TEXT_BYTES))
        return room.value.decode("utf-8", "replace").strip()

    def replaced_rows(self, handle: Handle, cause: int) -> int:
        """Rows of memory replaced for a cause, counted only: no addresses are queried."""
        count = ctypes.c_uint()
        self.call(
            "hlml_device_get_replaced_rows",
            handle,
            ctypes.c_uint(cause),
            ctypes.byref(count),
            ctypes.c_void_p(),
        )
        return count.value

    def ports(self, handle: Handle) -> list[int]:
        """Numbers of the Ethernet ports that a device has."""
        mask, external = (ctypes.c_uint64 * 16)(), (ctypes.c_uint64 * 16)()
        self.call("hlml_get_mac_addr_info", handle, mask, external)
        return [bit for bit in range(128) if mask[bit // 64] >> bit % 64 & 1]

    def port_is_up(self, handle: Handle, port: int) -> bool:
        """Whether a port has its link."""
        up = ctypes.c_bool()
        self.call("hlml_nic_get_link", handle, ctypes.c_uint32(port), ctypes.byref(up))
        return up.value
