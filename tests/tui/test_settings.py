"""The settings in words, with their units."""

import msgspec
import pytest

from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.local import setting_rows
from accelwatch.tui.local.setting_rows import VALUES, SettingRows
from accelwatch.tui.theme.preferences import COMMENTS, INTERVALS, Preferences


def shown(preferences: Preferences) -> dict[str, str]:
    """The value of each setting as it stands on its row."""
    rows = SettingRows(preferences)
    found = {}
    for row in range(len(rows) - 1):
        text = plain(rows.line(row, 100, 0))
        found[str(rows.key(row))] = text[19:33].strip()
    return found


def test_intervals_are_seconds_and_switches_are_words() -> None:
    values = shown(Preferences(interval_s=1.0, fleet_interval_s=1.0))
    assert (values["interval_s"], values["fleet_interval_s"]) == ("1 s", "1 s")
    assert (values["descending"], values["tree"]) == ("yes", "no")
    assert values["sort"] == "gpu memory"
    assert values["theme"] == "safe"


@pytest.mark.parametrize("interval_s", INTERVALS)
def test_every_interval_has_its_unit(interval_s: float) -> None:
    assert setting_rows.value_text("interval_s", interval_s) == f"{interval_s:g} s"


def test_every_value_of_every_setting_fits_and_only_switches_are_yes_or_no() -> None:
    for name, values in VALUES.items():
        for value in values:
            text = setting_rows.value_text(name, value)
            assert len(text) <= 14
            assert (text in ("yes", "no")) is isinstance(value, bool), name


def test_names_are_words() -> None:
    names = [setting_rows.title(name) for name in msgspec.structs.asdict(Preferences())]
    assert "fleet interval" in names
    assert not any("_" in name for name in names)


@pytest.mark.parametrize(("width", "cut"), [(80, False), (60, True)])
def test_meanings_are_whole_on_eighty_columns_and_marked_where_they_are_cut(
    width: int, cut: bool
) -> None:
    rows = SettingRows(Preferences())
    for row in range(len(rows) - 1):
        line = plain(rows.line(row, width, 0))
        meaning = COMMENTS[str(rows.key(row))]
        assert len(line) == width
        assert meaning in line or (cut and line.endswith("…"))
