"""Where a quantity stands among the facts of a device."""

import msgspec
import pytest

from accelwatch.schema.metrics import Series
from accelwatch.tui.drawing.glyphs import ASCII
from accelwatch.tui.local import device_facts
from machines import snapshot, view


def section_of(series: Series) -> str:
    """Title under which the series is listed."""
    one = view(0)
    values = {**one.reading.values, series: 0}
    shown = msgspec.structs.replace(
        one, reading=msgspec.structs.replace(one.reading, values=values)
    )
    title = ""
    for line in device_facts.lines(shown, snapshot(shown), 120, ASCII):
        title = next((text for text, role in line if role == "title"), title)
        if any(series[0] in text for text, _ in line):
            return title
    return "not listed"


@pytest.mark.parametrize(
    "series",
    [
        ("memory_repair_pending",),
        ("memory_unrepairable",),
        ("memory_row_remap_banks", "low"),
        ("memory_remapped_rows_inactive", "corrected"),
        ("sram_error_threshold_exceeded",),
        ("compute_repair_pending",),
        ("ecc_enabled_pending",),
        ("fabric_clique_info", "2"),
    ],
)
def test_what_a_device_says_of_its_health_stands_together(series: Series) -> None:
    assert section_of(series) == "Health"


def test_activity_is_load() -> None:
    assert section_of(("compute_active_ratio",)) == "Load"
    assert section_of(("compute_occupancy_ratio",)) == "Load"
