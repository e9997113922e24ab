"""The ctypes layer of Sysman: symbols, counts, result codes, strings, structures."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accelwatch.base.errors import DeviceLost, DevicePermission, DeviceSuspended, ReadError
from accelwatch_intel.sysman.calls import NotSupported, Sysman, error_of, text, uuid_text
from accelwatch_intel.sysman.structures import MemoryState
from support.machines.level_zero import Scenario


def test_missing_symbols_of_an_old_library() -> None:
    with pytest.raises(NotSupported):
        Sysman(SimpleNamespace()).call("zesDeviceGetEccState")


def test_a_count_that_cannot_be_true() -> None:
    def enumerate_(handle: object, count: Any, items: object) -> int:
        count._obj.value = 4_000_000_000
        return 0

    sysman = Sysman(SimpleNamespace(zesDeviceEnumFans=enumerate_))
    with pytest.raises(ReadError):
        sysman.handles("zesDeviceEnumFans", None)  # type: ignore[arg-type]


def test_a_count_that_shrinks_between_the_two_calls() -> None:
    def enumerate_(handle: object, count: Any, items: Any) -> int:
        if items is None:
            count._obj.value = 3
        else:
            items[0], count._obj.value = 11, 1
        return 0

    sysman = Sysman(SimpleNamespace(zesDeviceEnumFans=enumerate_))
    found = sysman.handles("zesDeviceEnumFans", None)  # type: ignore[arg-type]
    assert [handle.value for handle in found] == [11]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (0x70000001, DeviceLost),
        (0x70000007, DeviceSuspended),
        (0x70010000, DevicePermission),
        (0x78000003, NotSupported),
        (0x12345678, ReadError),
    ],
)
def test_result_codes_become_exceptions(code: int, kind: type[ReadError]) -> None:
    assert type(error_of("zesInit", code)) is kind


def test_strings_and_uuids() -> None:
    assert text(b"unknown") is None
    assert text(b"") is None
    assert text(b"\xff1") == "�1"
    octets = bytes.fromhex("8680da0b2f0000002900000000000000")
    assert uuid_text(octets) == "00000000-0000-0029-0000-002f0bda8086"
    assert uuid_text(bytes(16)) is None


def test_a_structure_without_its_type_is_refused(library: Path, scenario: Scenario) -> None:
    import ctypes

    scenario.load("b580")
    sysman = Sysman(ctypes.CDLL(str(library)))
    (device,) = sysman.devices().values()
    (memory, _) = sysman.handles("zesDeviceEnumMemoryModules", device)
    with pytest.raises(ReadError):
        sysman.call("zesMemoryGetState", memory, ctypes.byref(MemoryState()))
    assert sysman.get("zesMemoryGetState", memory, MemoryState).size == 12784238592
