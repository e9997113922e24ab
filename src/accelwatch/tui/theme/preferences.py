"""What a user can set: looks, interval, orders. Kept in a commented YAML file, written on request."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from accelwatch.system.files.atomic_file import PRIVATE, replace_file
from accelwatch.system.files.damaged import set_aside
from accelwatch.tui.theme.palettes import DEFAULT, PALETTES

DENSITIES = ("auto", "compact", "full")
FORMS = ("list", "grid")
SHADES = ("load", "memory", "temperature")
# Settings that have one of a few values, the default first.
CHOICES = {"density": DENSITIES, "fleet_form": FORMS, "fleet_shade": SHADES}
_DAMAGE = (OSError, ValueError, msgspec.ValidationError)
# Seconds between two readings, fastest first.
INTERVALS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Preferences(msgspec.Struct, kw_only=True):
    """The settings in force; changed by keys, written by the Settings screen."""

    theme: str = DEFAULT
    density: str = "auto"
    interval_s: float = 2.0
    sort: str = "gpu_memory"
    descending: bool = True
    tree: bool = False
    plot: str = "braille"
    blackbox: bool = True
    fleet_interval_s: float = 1.0
    fleet_form: str = "list"
    fleet_group: str = "none"
    fleet_sort: str = "worst"
    fleet_descending: bool = True
    fleet_shade: str = "load"
    fleet_events: bool = False

    @property
    def shows_map(self) -> bool:
        """Whether a fleet is a map of its devices, not rows of nodes."""
        return self.fleet_form == "grid"


COMMENTS = {  # each fits beside its setting on 80 columns
    "theme": "Theme: " + ", ".join(PALETTES) + ".",
    "density": "Devices: auto, compact (rows) or full (blocks).",
    "interval_s": "Seconds between two readings.",
    "sort": "Column the processes are sorted by.",
    "descending": "Whether the greatest comes first.",
    "tree": "Whether processes are grouped by their owner.",
    "plot": "Graphs: braille, or block for fonts without.",
    "fleet_interval_s": "Seconds between two pictures of a fleet.",
    "fleet_form": "Fleet: list (of nodes) or grid (of devices).",
    "fleet_group": "By none, rack, partition, job, user or a label.",
    "fleet_sort": "Fleet sorted by worst, node, load, power, ...",
    "fleet_descending": "Whether the worst or greatest comes first.",
    "fleet_shade": "Cells of the grid: load, memory, temperature.",
    "fleet_events": "Whether events are listed below the nodes.",
    "blackbox": "Whether the last 15 minutes are kept on disk.",
}


def path_of(environ: Mapping[str, str]) -> Path:
    """Where the file is: $XDG_CONFIG_HOME/accelwatch/dashboard.yaml."""
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME", "~")) / ".config")
    return Path(base).expanduser() / "accelwatch" / "dashboard.yaml"


def load(path: Path) -> tuple[Preferences, str]:
    """The preferences of a file, and what was wrong with it; without a file the defaults."""
    if not path.is_file():
        return Preferences(), ""
    try:
        preferences = _read(path)
    except _DAMAGE as error:
        return Preferences(), f"{path}: {' '.join(str(error).split())}"
    return _validated(preferences, path)


def _read(path: Path) -> Preferences:
    """Raises one of `_DAMAGE`."""
    import yaml

    try:
        stored = yaml.safe_load(path.read_text("utf-8")) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return msgspec.convert(stored, Preferences)


def _validated(preferences: Preferences, path: Path) -> tuple[Preferences, str]:
    """Unknown values become the default."""
    wrong = []
    if preferences.theme not in PALETTES:
        wrong.append(f"no theme {preferences.theme!r}")
        preferences.theme = DEFAULT
    for name, choices in CHOICES.items():
        value = getattr(preferences, name)
        if value not in choices:
            wrong.append(f"no {name} {value!r}")
            setattr(preferences, name, choices[0])
    for name in ("interval_s", "fleet_interval_s"):
        bounded = min(max(getattr(preferences, name), INTERVALS[0]), INTERVALS[-1])
        setattr(preferences, name, bounded)
    return preferences, f"{path}: {', '.join(wrong)}" if wrong else ""


def document(preferences: Preferences) -> str:
    """The file's text, each setting with a comment on what it does."""
    lines = ["# Settings of the accelwatch dashboard; written by its settings screen (F2).", ""]
    for name, value in msgspec.structs.asdict(preferences).items():
        shown = str(value).lower() if isinstance(value, bool) else value
        lines += [f"# {COMMENTS[name]}", f"{name}: {shown}", ""]
    return "\n".join(lines)


def save(preferences: Preferences, path: Path) -> None:
    """Write the file atomically, readable by its owner. Raises OSError.

    One that cannot be read is set aside first: a person has written it.
    """
    if path.is_file():
        try:
            _read(path)
        except _DAMAGE:
            set_aside(path)
    replace_file(path, document(preferences).encode(), mode=PRIVATE, durable=False)


def slower(interval_s: float, step: int) -> float:
    """The next interval of the list; a negative step is faster."""
    nearest = min(range(len(INTERVALS)), key=lambda index: abs(INTERVALS[index] - interval_s))
    return INTERVALS[min(max(nearest + step, 0), len(INTERVALS) - 1)]
