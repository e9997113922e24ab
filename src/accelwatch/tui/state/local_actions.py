"""Actions of every screen, and on devices and processes."""

from accelwatch.tui.state.action import (
    BLACK_BOX,
    DEVICE,
    EVENTS,
    FLEET,
    INCIDENT,
    LISTS,
    LOCAL,
    SORTED,
    TABLES,
    USAGE,
    Action,
)

QUIT = Action(
    group="Program",
    id="quit",
    keys=("q", "ctrl+c", "f10"),
    label="quit",
    help="Quit.",
    footer=True,
    priority=True,
    leaves=True,
)
SUSPEND = Action(
    group="Program",
    id="suspend",
    keys=("ctrl+z",),
    label="suspend",
    help="Suspend to the shell; `fg` resumes.",
    priority=True,
    leaves=True,
)
BACK = Action(
    group="Program",
    id="back",
    keys=("escape",),
    label="back",
    help="Back, or clear the filter; never quits.",
)
HELP = Action(
    group="Program",
    id="help",
    keys=("question_mark", "f1"),
    label="help",
    help="This list of keys.",
    footer=True,
)
PALETTE = Action(
    group="Program",
    id="palette",
    keys=("colon",),
    label="commands",
    help="Every command of the screen by name, its columns, filters, devices or nodes.",
    footer=True,
)
SCREEN_LOCAL = Action(
    group="Screens",
    id="screen_local",
    keys=("1",),
    label="local",
    help="Local: devices, history of the selected one, processes.",
)
SCREEN_FLEET = Action(
    group="Screens",
    id="screen_fleet",
    keys=("2",),
    label="fleet",
    help="Fleet: all nodes, worst first; with `accelwatch fleet`.",
)
SCREEN_DEVICE = Action(
    group="Screens",
    id="screen_device",
    keys=("3",),
    label="device",
    help="Device: every quantity of the selected device.",
)
SCREEN_PROCESSES = Action(
    group="Screens",
    id="screen_processes",
    keys=("4",),
    label="processes",
    help="Processes: all of them, in full.",
)
SCREEN_INCIDENTS = Action(
    group="Screens",
    id="screen_incidents",
    keys=("5",),
    label="incidents",
    help="Incidents opened by the rules of this machine's agent, or of the hub.",
)
SCREEN_DOCTOR = Action(
    group="Screens",
    id="screen_doctor",
    keys=("6",),
    label="doctor",
    help="Doctor: what is broken, what is used, and what to do.",
)
TOPOLOGY = Action(
    group="Screens",
    id="topology",
    keys=("L",),
    label="topology",
    help="Topology: links, PCIe and NUMA distance between devices and network adapters.",
)
USAGE_PAGE = Action(
    group="Screens",
    id="usage",
    keys=("u",),
    label="usage",
    help="Usage by user and job: load, memory, energy, cost and idle time.",
)
SCREEN_EVENTS = Action(
    group="Screens",
    id="screen_events",
    keys=("7",),
    label="events",
    help="Events: every change of state and every event; Enter opens the device.",
)
NEXT_SCREEN = Action(
    group="Screens",
    id="next_screen",
    keys=("tab",),
    label="next screen",
    help="The next screen.",
    footer=True,
)
PREVIOUS_SCREEN = Action(
    group="Screens",
    id="previous_screen",
    keys=("shift+tab",),
    label="previous screen",
    help="The previous screen.",
)
SETTINGS = Action(
    group="Screens",
    id="settings",
    keys=("f2",),
    label="settings",
    help="Settings; written to a file on request.",
)
UP = Action(group="Moving", id="up", keys=("up", "k"), label="up", help="One row up.")
DOWN = Action(group="Moving", id="down", keys=("down", "j"), label="down", help="One row down.")
LEFT = Action(
    group="Moving",
    id="left",
    keys=("left",),
    label="left",
    help="Left in the heat grid and in commands; elsewhere the previous device or incident.",
)
RIGHT = Action(
    group="Moving",
    id="right",
    keys=("right",),
    label="right",
    help="Right in the heat grid and in commands; elsewhere the next device or incident.",
)
NEXT_PROBLEM = Action(
    group="Moving",
    id="next_problem",
    keys=("x",),
    label="next problem",
    help="The next device or node that has a problem.",
    screens=frozenset({LOCAL, DEVICE, FLEET}),
)
PAGE_UP = Action(
    group="Moving", id="page_up", keys=("pageup",), label="page up", help="One page up."
)
PAGE_DOWN = Action(
    group="Moving", id="page_down", keys=("pagedown",), label="page down", help="One page down."
)
FIRST = Action(group="Moving", id="first", keys=("home", "g"), label="first", help="The first row.")
LAST = Action(group="Moving", id="last", keys=("end", "G"), label="last", help="The last row.")
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

OF_SCREENS: tuple[Action, ...] = (
    QUIT,
    SUSPEND,
    BACK,
    HELP,
    PALETTE,
    SCREEN_LOCAL,
    SCREEN_FLEET,
    SCREEN_DEVICE,
    SCREEN_PROCESSES,
    SCREEN_INCIDENTS,
    SCREEN_DOCTOR,
    TOPOLOGY,
    USAGE_PAGE,
    SCREEN_EVENTS,
    NEXT_SCREEN,
    PREVIOUS_SCREEN,
    SETTINGS,
    UP,
    DOWN,
    LEFT,
    RIGHT,
    NEXT_PROBLEM,
    PAGE_UP,
    PAGE_DOWN,
    FIRST,
    LAST,
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

DENSITY = Action(
    group="Looks",
    id="density",
    keys=("c",),
    label="density",
    help="Devices: automatic, one row each, or one block each.",
)
THEME = Action(group="Looks", id="theme", keys=("T",), label="theme", help="The next theme.")
REDRAW = Action(
    group="Looks",
    id="redraw",
    keys=("f5", "ctrl+l"),
    label="redraw",
    help="Redraw.",
)

OF_APPEARANCE: tuple[Action, ...] = (
    DENSITY,
    THEME,
    REDRAW,
)
