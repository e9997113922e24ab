"""What of a device's memory is free, what a card shares, and vendors by their names of today."""

import pytest

from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.renamed import current_id, current_vendor
from accelwatch.schema.values.card_wide import BOARD_POWER, holder_note, shared_note
from accelwatch.schema.values.free_memory import free_memory

GIB = 2**30


def memory(**series: Number) -> Reading:
    values: dict[tuple[str, ...], Number] = {
        (f"memory_{name}_bytes",): value for name, value in series.items()
    }
    return Reading(device_id="nvidia:0", values=values)


@pytest.mark.parametrize(
    ("reading", "free"),
    [
        (memory(size=80 * GIB, used=30 * GIB), 50 * GIB),
        (memory(size=80 * GIB, used=30 * GIB, reserved=GIB), 49 * GIB),
        (memory(size=80 * GIB, used=0), 80 * GIB),
        (memory(size=80 * GIB, used=80 * GIB, reserved=GIB), 0),
        (memory(size=80 * GIB), None),
        (memory(used=GIB), None),
    ],
)
def test_free_is_what_is_neither_used_nor_reserved(reading: Reading, free: Number | None) -> None:
    assert free_memory(reading) == free


def test_a_number_of_a_whole_card_says_whose_it_is() -> None:
    assert holder_note(BOARD_POWER, ["amd0", "amd1"]) == (
        "power_component_watts.board is that of the whole card: amd0, amd1"
    )
    assert shared_note(BOARD_POWER, "amd0") == (
        "power_component_watts.board is only known of the whole card, and counted on amd0"
    )


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("huawei:3", "ascend:3"),
        ("aws:0:1", "neuron:0:1"),
        ("google:tpu0", "tpu:tpu0"),
        ("nvidia:GPU-1", "nvidia:GPU-1"),
        ("huawei", "huawei"),
        ("", ""),
    ],
)
def test_an_id_of_a_renamed_vendor_is_that_of_today(before: str, now: str) -> None:
    assert current_id(before) == now


def test_a_renamed_vendor_has_its_name_of_today() -> None:
    assert [current_vendor(name) for name in ("aws", "nvidia")] == ["neuron", "nvidia"]
