"""The `pp_dpm_*` files: the levels of a clock domain, and the current one.

A line is `N: 500Mhz`, with a star at the current level; RDNA4 adds `S: 19Mhz *` in deep sleep. Between
the lowest and the highest level fine-grained domains show the current clock as if it were a level.
"""

import re

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_amd.sysfs.tree import Tree, fill

_LINE = re.compile(r"^\s*(\d+|S)\s*:\s*(\d+)\s*[Mm][Hh]z\s*(\*?)\s*$")
_MHZ = 1_000_000
# No clock domain of an accelerator comes near; a larger number is damage.
_HIGHEST_MHZ = 20_000

# File and the domain's label.
DOMAINS: tuple[tuple[str, str], ...] = (
    ("pp_dpm_sclk", "graphics"),
    ("pp_dpm_mclk", "memory"),
    ("pp_dpm_socclk", "soc"),
    ("pp_dpm_fclk", "fabric"),
    ("pp_dpm_dcefclk", "display"),
    ("pp_dpm_vclk", "video"),
    ("pp_dpm_dclk", "video_decode"),
)


class Levels(msgspec.Struct, frozen=True, kw_only=True):
    """A file's levels, in MHz; None where it has none."""

    current: int | None = None
    lowest: int | None = None
    highest: int | None = None


def parse_levels(text: str) -> Levels:
    """Levels of one `pp_dpm_*` file; damaged lines are skipped.

    Two stars on different clocks say nothing about the current one. A level of 0 MHz is no bound.
    """
    levels: dict[int, int] = {}
    starred: set[int] = set()
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None or len(match[2]) > 6 or int(match[2]) > _HIGHEST_MHZ:
            continue
        clock = int(match[2])
        if match[3]:
            starred.add(clock)
        if match[1] != "S" and len(match[1]) <= 3:
            levels[int(match[1])] = clock
    top = max(levels, default=0)
    return Levels(
        current=starred.pop() if len(starred) == 1 else None,
        lowest=levels.get(0) or None,
        highest=(levels[top] or None) if top > 0 else None,
    )


def read_clocks(device: Tree, out: Collected, *, limits: bool) -> None:
    """Record the current clock of each domain, and its bounds when `limits` is set."""
    for file, domain in DOMAINS:
        text = device.text(file)
        if isinstance(text, Absence):
            if text is not Absence.UNSUPPORTED:
                out.miss("clock_hertz", text, domain)
            continue
        levels = parse_levels(text)
        if levels.current is not None:
            fill(out, "clock_hertz", levels.current * _MHZ, domain)
        if not limits:
            continue
        for limit, clock in (("min", levels.lowest), ("max", levels.highest)):
            if clock is not None:
                out.put("clock_limit_hertz", clock * _MHZ, domain, limit)
