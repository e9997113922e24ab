"""Values of fields as the driver packs them (nvml.h: nvmlFieldValue_t, nvmlValueType_t)."""

import struct
from ctypes import string_at

import pytest

from accelwatch.base.absence import Absence
from accelwatch_nvidia.nvml.field_values import query


class Driver:
    """Keeps what it was asked, and answers every field alike."""

    def __init__(self, kind: int, value: bytes, own: int = 0, code: int = 0) -> None:
        self.answer = struct.pack("@qqII8s", 0, 0, kind, own, value)
        self.code = code
        self.requested: list[tuple[int, ...]] = []

    def __call__(self, handle: object, count: object, rows: object) -> int:
        number = count.value  # type: ignore[attr-defined]
        raw = string_at(rows, number * 40)  # type: ignore[arg-type]
        self.requested = [struct.unpack_from("@II", raw, at * 40) for at in range(number)]
        for at in range(number):
            rows[at * 40 + 8 : at * 40 + 40] = self.answer  # type: ignore[index]
        return self.code


@pytest.mark.parametrize(
    ("kind", "packed", "number"),
    [
        (0, struct.pack("@d", 1.5), 1.5),
        (1, struct.pack("@I", 7), 7),
        (2, struct.pack("@L", 1 << 31), 1 << 31),
        (3, struct.pack("@Q", 1 << 40), 1 << 40),
        (4, struct.pack("@q", -3), -3),
        (5, struct.pack("@i", -2), -2),
        (6, struct.pack("@H", 65535), 65535),
        (7, b"", Absence.ERROR),
        (1, struct.pack("@I", 0xFFFF_FFFF), Absence.UNSUPPORTED),
        (3, struct.pack("@Q", 0xFFFF_FFFF_FFFF_FFFF), Absence.UNSUPPORTED),
    ],
)
def test_a_value_is_read_by_its_type(kind: int, packed: bytes, number: object) -> None:
    driver = Driver(kind, packed)
    code, answers = query(driver, None, ((82, 0), (186, 2)))
    assert (code, list(answers)) == (0, [(0, number)] * 2)
    assert driver.requested == [(82, 0), (186, 2)]


def test_a_field_that_has_failed_has_a_code_and_no_value() -> None:
    code, answers = query(Driver(1, struct.pack("@I", 7), own=3), None, ((82, 0),))
    assert (code, list(answers)) == (0, [(3, Absence.ERROR)])


def test_the_code_of_the_whole_call_is_given() -> None:
    assert query(Driver(1, b"", code=15), None, ((82, 0),))[0] == 15


def test_an_answer_does_not_stand_in_the_next_question() -> None:
    query(Driver(1, struct.pack("@I", 7)), None, ((82, 0),))
    seen: list[bytes] = []

    def call(handle: object, count: object, rows: object) -> int:
        seen.append(string_at(rows, 40))  # type: ignore[arg-type]
        return 0

    query(call, None, ((82, 0),))
    assert seen == [struct.pack("@II", 82, 0) + bytes(32)]
