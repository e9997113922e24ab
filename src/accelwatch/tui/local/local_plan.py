"""How the lines of the Local screen are shared out. Pure."""

import msgspec

# Devices from which the automatic density is the heat grid.
GRID_FROM = 17
_FULL_UP_TO = 2
_LEAST_PROCESSES = 4
_LEAST_STRIP, _MOST_STRIP = 4, 11
_STEP = 5
# For why there is no device.
_REASON_LINES = 10


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Heights in lines; the processes get what is left."""

    # `full`, `rows` or `grid`.
    form: str
    header: int
    devices: int
    strip: int
    processes: int


def _lines_of(processes: int) -> int:
    """Lines for processes with their heading, in steps, so that graphs keep their height mostly."""
    return -(-(processes + 1) // _STEP) * _STEP


def form_of(density: str, count: int) -> str:
    """How devices are shown."""
    if density == "full":
        return "full"
    if density == "compact":
        return "rows"
    if count <= _FULL_UP_TO:
        return "full"
    return "rows" if count < GRID_FROM else "grid"


def plan(
    rows: int, count: int, density: str, grid_lines: int, processes: int | None = None
) -> Plan:
    """Share `rows` lines of the terminal; `grid_lines` is what the heat grid would need.

    Graphs get what so many `processes` leave; where it is not known, those get most of it.
    """
    form = form_of(density, count)
    header = 2 if rows >= 16 else 1
    left = rows - header - 1
    if form == "full" and left < count * 4 + _LEAST_PROCESSES and density == "auto":
        form = "rows"
    needed = {"full": count * 4, "rows": count + 1, "grid": grid_lines}[form]
    needed = max(needed, 2) if count else _REASON_LINES
    devices = min(needed, max(left - _LEAST_PROCESSES, 3), left)
    left -= devices
    strip = 0
    if count and left - _LEAST_PROCESSES - 1 >= _LEAST_STRIP:
        strip = min(max(left // 3, _LEAST_STRIP), _MOST_STRIP, left - _LEAST_PROCESSES - 1)
        if processes is not None:
            strip = max(strip, left - _lines_of(processes))
    return Plan(form=form, header=header, devices=devices, strip=strip, processes=left - strip)
