"""The signs the dashboard draws with: Unicode, and ASCII for terminals that have nothing else."""

import msgspec

from accelwatch.schema.device import DeviceState


class Glyphs(msgspec.Struct, frozen=True, kw_only=True):
    """One set of signs, each one cell wide."""

    ascii_only: bool
    states: dict[str, str]
    stale: str
    failed: str
    hot: str
    missing: str
    unreachable: str
    # By the state of a node of a fleet.
    nodes: dict[str, str]
    # One cell of load, from next to nothing to full.
    levels: str
    # The same, lower than a line, so that the lines of a map stay apart.
    low_levels: str
    # From an almost empty cell to a full one; lower than a line, so that rows stay apart.
    bar: str
    # The empty part of a bar.
    track: str
    rule: str
    # Between facts on one line.
    dot: str
    ellipsis: str
    cursor: str
    down: str
    up: str
    # Which graph: `braille`, `block` or `ascii`.
    plot: str
    degree: str
    # Before a tagged row.
    marker: str
    branch: str
    last_branch: str
    fold: str
    folded: str
    axis: str
    # Before what to do.
    then: str


UNICODE = Glyphs(
    ascii_only=False,
    states={
        DeviceState.OK: "●",
        DeviceState.DEGRADED: "▲",
        DeviceState.LOST: "✕",
        DeviceState.UNRESPONSIVE: "◌",
        DeviceState.SUSPENDED: "◇",
        DeviceState.EXCLUDED: "○",
    },
    stale="◔",
    failed="▼",
    hot="△",
    missing="□",
    unreachable="?",
    nodes={"up": "●", "slow": "◐", "stale": "◔", "down": "✕", "never": "○"},
    levels="▁▂▃▄▅▆▇█",
    low_levels="▁▂▃▄▅▆",
    bar="╸━",
    track="─",
    rule="─",
    dot="·",
    ellipsis="…",
    cursor="▌",
    down="▾",
    up="▴",
    plot="braille",
    degree="°",
    marker="◆",
    branch="├─ ",
    last_branch="└─ ",
    fold="▾ ",
    folded="▸ ",
    axis="┊",
    then="→",
)

ASCII = Glyphs(
    ascii_only=True,
    states={
        DeviceState.OK: "*",
        DeviceState.DEGRADED: "!",
        DeviceState.LOST: "X",
        DeviceState.UNRESPONSIVE: "?",
        DeviceState.SUSPENDED: "z",
        DeviceState.EXCLUDED: "o",
    },
    stale="~",
    failed="F",
    hot="h",
    missing="_",
    unreachable="x",
    nodes={"up": "*", "slow": "%", "stale": "~", "down": "X", "never": "o"},
    levels="0123456789",
    low_levels="0123456789",
    bar="#",
    track="-",
    rule="-",
    dot="|",
    ellipsis="~",
    cursor=">",
    down="v",
    up="^",
    plot="ascii",
    degree="",
    marker="+",
    branch="|- ",
    last_branch="`- ",
    fold="- ",
    folded="+ ",
    axis=":",
    then="->",
)
