"""The settings as rows, and the values each goes through. Pure."""

from collections.abc import Hashable

import msgspec

from accelwatch.fleet.picture.grouping import CYCLE
from accelwatch.fleet.picture.ordering import SORTS
from accelwatch.tui.drawing.lines import Line, clipped, fit
from accelwatch.tui.local.processes.columns import COLUMNS
from accelwatch.tui.theme.palettes import PALETTES
from accelwatch.tui.theme.preferences import (
    COMMENTS,
    DENSITIES,
    FORMS,
    INTERVALS,
    SHADES,
    Preferences,
)

WRITE = "write"
VALUES: dict[str, tuple[object, ...]] = {
    "theme": tuple(PALETTES),
    "density": DENSITIES,
    "interval_s": INTERVALS,
    "sort": tuple(column.id for column in COLUMNS),
    "descending": (True, False),
    "tree": (False, True),
    "plot": ("braille", "block"),
    "fleet_interval_s": INTERVALS,
    "fleet_form": FORMS,
    "fleet_group": CYCLE,
    "fleet_sort": SORTS,
    "fleet_descending": (True, False),
    "fleet_shade": SHADES,
    "fleet_events": (False, True),
    "blackbox": (True, False),
}


def change(preferences: Preferences, name: str, step: int) -> None:
    """The next value of a setting, round and round."""
    values = VALUES[name]
    present = getattr(preferences, name)
    index = values.index(present) if present in values else 0
    setattr(preferences, name, values[(index + step) % len(values)])


def title(name: str) -> str:
    """A setting's name in words; its unit stands with the value."""
    return name.removesuffix("_s").replace("_", " ")


def value_text(name: str, value: object) -> str:
    """A value as people write it: `yes`, `0.25 s`, `gpu memory`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:g} s" if name.endswith("_s") else f"{value:g}"
    return str(value).replace("_", " ")


class SettingRows:
    """A row a setting, and one that writes the file."""

    stride = 1

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences
        self._names = [*msgspec.structs.asdict(preferences), WRITE]

    def __len__(self) -> int:
        return len(self._names)

    def heading(self, width: int, /) -> Line | None:
        """Titles."""
        return clipped([(f" {fit('SETTING', 18)}{fit('VALUE', 14)}MEANING", "head")], width)

    def line(self, index: int, width: int, _: int, /) -> Line:
        """Name, value, meaning."""
        name = self._names[index]
        if name == WRITE:
            return clipped([(" Write these to the file", "accent")], width)
        value = getattr(self._preferences, name)
        return clipped(
            [
                (f" {fit(title(name), 18)}", "text"),
                (fit(value_text(name, value), 14), "strong"),
                (fit(COMMENTS[name], max(width - 33, 0)), "dim"),
            ],
            width,
        )

    def key(self, index: int) -> Hashable:
        """The setting's name."""
        return self._names[index]

    def position_of(self, key: Hashable) -> int | None:
        """Where a setting is."""
        return self._names.index(str(key)) if key in self._names else None
