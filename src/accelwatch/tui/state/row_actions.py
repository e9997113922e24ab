"""Actions on the selected row, and on the order of the rows: detail, filter, sort, copy, signal."""

from accelwatch.tui.state.action import (
    BLACK_BOX,
    DEVICE,
    EVENTS,
    INCIDENT,
    LISTS,
    LOCAL,
    SORTED,
    TABLES,
    USAGE,
    Action,
)

ENTER = Action(
    group="Looking",
    id="enter",
    keys=("enter",),
    label="detail",
    help="Open the selected device, process, incident, event or node.",
    screens=SORTED | {INCIDENT, EVENTS},
    footer=True,
)
WHY = Action(
    group="Looking",
    id="why",
    keys=("w",),
    label="why",
    help="Why: what is wrong with the selected device, node or job, evidence, what to do.",
    screens=SORTED | {DEVICE, INCIDENT},
    footer=True,
)
FILTER = Action(
    group="Looking",
    id="filter",
    keys=("slash",),
    label="filter",
    help="Filter by plain text or by an expression (docs/expressions.md).",
    screens=SORTED,
    footer=True,
)
SORT = Action(
    group="Looking",
    id="sort",
    keys=("s", "f6"),
    label="sort",
    help="Choose the sort column.",
    screens=SORTED,
    footer=True,
)
SORT_LEFT = Action(
    group="Looking",
    id="sort_left",
    keys=("less_than_sign",),
    label="sort left",
    help="Sort by the column to the left; a click on a heading sorts too.",
    screens=SORTED,
)
SORT_RIGHT = Action(
    group="Looking",
    id="sort_right",
    keys=("greater_than_sign",),
    label="sort right",
    help="Sort by the column to the right.",
    screens=SORTED,
)
REVERSE = Action(
    group="Looking",
    id="reverse",
    keys=("r",),
    label="reverse",
    help="Reverse the order.",
    screens=SORTED,
)
TREE = Action(
    group="Looking",
    id="tree",
    keys=("t",),
    label="group",
    help="Group the processes by owner; a fleet by rack, partition, job, user, or not; usage by "
    "user or job.",
    screens=LISTS | {USAGE},
    footer=True,
)
SPAN = Action(
    group="Looking",
    id="span",
    keys=("h",),
    label="5/60 min",
    help="History over five minutes or an hour; of the black box all that is kept; usage of an "
    "hour or since it is counted.",
    screens=frozenset({LOCAL, DEVICE, BLACK_BOX, USAGE}),
)
BLACKBOX = Action(
    group="Looking",
    id="blackbox",
    keys=("B",),
    label="black box",
    help="Black box: the device when it failed, or the last 15 min, on one time axis.",
    screens=frozenset({LOCAL, DEVICE, EVENTS}),
)
COPY = Action(
    group="Looking",
    id="copy",
    keys=("y",),
    label="copy",
    help="Copy the selected uuid or pid to the clipboard (OSC 52).",
)
COPY_ROW = Action(
    group="Looking",
    id="copy_row",
    keys=("Y",),
    label="copy JSON",
    help="Copy the selected row as JSON.",
)
TAG = Action(
    group="Processes",
    id="tag",
    keys=("space",),
    label="tag",
    help="Tag the process for a signal; in a fleet, fold or unfold a group.",
    screens=SORTED,
)
SIGNAL = Action(
    group="Processes",
    id="signal",
    keys=("K", "f9"),
    label="signal",
    help="Signal the tagged processes, or the selected one; asks first.",
    screens=TABLES,
    footer=True,
    sends=True,
)
ENVIRONMENT = Action(
    group="Processes",
    id="environment",
    keys=("e",),
    label="environment",
    help="Environment of the selected process: names; press again for values.",
    screens=TABLES | {"process"},
)

OF_ROWS: tuple[Action, ...] = (
    ENTER,
    WHY,
    FILTER,
    SORT,
    SORT_LEFT,
    SORT_RIGHT,
    REVERSE,
    TREE,
    SPAN,
    BLACKBOX,
    COPY,
    COPY_ROW,
    TAG,
    SIGNAL,
    ENVIRONMENT,
)
