"""The one table of actions: bindings, footer, help screen and docs/dashboard.md all come from it."""

from functools import cache

import msgspec

LOCAL, DEVICE, PROCESSES, DOCTOR = "local", "device", "processes", "doctor"
LISTS = frozenset({LOCAL, PROCESSES})
TABLES = frozenset({LOCAL, PROCESSES})
REPLAY = "replay"


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What a key does. The first key is the one that is shown."""

    id: str
    keys: tuple[str, ...]
    """In Textual's names."""
    label: str
    """One or two words for the footer."""
    help: str
    group: str
    screens: frozenset[str] = frozenset()
    """Where it can be used; empty: everywhere."""
    footer: bool = False
    priority: bool = False
    """Works while something is typed too."""
    replay_only: bool = False


ACTIONS: tuple[Action, ...] = (
    Action(
        id="quit",
        keys=("q", "ctrl+c", "f10"),
        label="quit",
        help="Quit.",
        group="Program",
        footer=True,
        priority=True,
    ),
    Action(
        id="back",
        keys=("escape",),
        label="back",
        help="Back, or clear the filter; never quits.",
        group="Program",
    ),
    Action(
        id="help",
        keys=("question_mark", "f1"),
        label="help",
        help="This list of keys.",
        group="Program",
        footer=True,
    ),
    Action(
        id="screen_local",
        keys=("1",),
        label="local",
        help="Local: devices, history of the selected one, processes.",
        group="Screens",
    ),
    Action(
        id="screen_device",
        keys=("3",),
        label="device",
        help="Device: every quantity of the selected device.",
        group="Screens",
    ),
    Action(
        id="screen_processes",
        keys=("4",),
        label="processes",
        help="Processes: all of them, in full.",
        group="Screens",
    ),
    Action(
        id="screen_doctor",
        keys=("6",),
        label="doctor",
        help="Doctor: what was looked for, found, and why something is missing.",
        group="Screens",
    ),
    Action(
        id="next_screen",
        keys=("tab",),
        label="next screen",
        help="The next screen.",
        group="Screens",
        footer=True,
    ),
    Action(
        id="previous_screen",
        keys=("shift+tab",),
        label="previous screen",
        help="The screen before.",
        group="Screens",
    ),
    Action(
        id="settings",
        keys=("f2",),
        label="settings",
        help="Settings; written to a file on request.",
        group="Screens",
    ),
    Action(id="up", keys=("up", "k"), label="up", help="One row up.", group="Moving"),
    Action(id="down", keys=("down", "j"), label="down", help="One row down.", group="Moving"),
    Action(
        id="left",
        keys=("left",),
        label="left",
        help="A cell to the left in the heat grid; elsewhere the device before.",
        group="Moving",
    ),
    Action(
        id="right",
        keys=("right",),
        label="right",
        help="A cell to the right in the heat grid; elsewhere the device after.",
        group="Moving",
    ),
    Action(id="page_up", keys=("pageup",), label="page up", help="One page up.", group="Moving"),
    Action(
        id="page_down", keys=("pagedown",), label="page down", help="One page down.", group="Moving"
    ),
    Action(id="first", keys=("home", "g"), label="first", help="The first row.", group="Moving"),
    Action(id="last", keys=("end", "G"), label="last", help="The last row.", group="Moving"),
    Action(
        id="enter",
        keys=("enter",),
        label="detail",
        help="Details of the selected device or process.",
        group="Looking",
        screens=TABLES,
        footer=True,
    ),
    Action(
        id="filter",
        keys=("slash",),
        label="filter",
        help="Filter by plain text or by an expression (docs/expressions.md).",
        group="Looking",
        screens=TABLES,
        footer=True,
    ),
    Action(
        id="sort",
        keys=("s", "f6"),
        label="sort",
        help="Choose the column the processes are sorted by.",
        group="Looking",
        screens=TABLES,
        footer=True,
    ),
    Action(
        id="sort_left",
        keys=("less_than_sign",),
        label="sort left",
        help="Sort by the column to the left; a click on a heading sorts too.",
        group="Looking",
        screens=TABLES,
    ),
    Action(
        id="sort_right",
        keys=("greater_than_sign",),
        label="sort right",
        help="Sort by the column to the right.",
        group="Looking",
        screens=TABLES,
    ),
    Action(
        id="reverse",
        keys=("r",),
        label="reverse",
        help="Turn the order round.",
        group="Looking",
        screens=TABLES,
    ),
    Action(
        id="tree",
        keys=("t",),
        label="tree",
        help="Group the processes by job, pod, container or user.",
        group="Looking",
        screens=TABLES,
        footer=True,
    ),
    Action(
        id="span",
        keys=("h",),
        label="5/60 min",
        help="History over five minutes or an hour.",
        group="Looking",
        screens=frozenset({LOCAL, DEVICE}),
    ),
    Action(
        id="copy",
        keys=("y",),
        label="copy",
        help="Copy the selected uuid or pid to the clipboard (OSC 52).",
        group="Looking",
    ),
    Action(
        id="copy_row",
        keys=("Y",),
        label="copy JSON",
        help="Copy the selected row as JSON.",
        group="Looking",
    ),
    Action(
        id="tag",
        keys=("space",),
        label="tag",
        help="Tag the process for a signal.",
        group="Processes",
        screens=TABLES,
    ),
    Action(
        id="signal",
        keys=("K", "f9"),
        label="signal",
        help="Signal the tagged processes, or the selected one; asks first.",
        group="Processes",
        screens=TABLES,
        footer=True,
    ),
    Action(
        id="environment",
        keys=("e",),
        label="environment",
        help="Environment of the selected process; values are hidden until asked for again.",
        group="Processes",
        screens=TABLES,
    ),
    Action(
        id="pause",
        keys=("p",),
        label="pause",
        help="Hold the picture; readings go on. A recording stops.",
        group="Time",
        footer=True,
    ),
    Action(
        id="faster",
        keys=("plus", "equals_sign"),
        label="faster",
        help="Read more often; play a recording faster.",
        group="Time",
    ),
    Action(
        id="slower",
        keys=("minus",),
        label="slower",
        help="Read less often; play a recording slower.",
        group="Time",
    ),
    Action(
        id="step",
        keys=("full_stop",),
        label="step",
        help="The next snapshot of a recording.",
        group="Time",
        replay_only=True,
        footer=True,
    ),
    Action(
        id="step_back",
        keys=("comma",),
        label="step back",
        help="The snapshot before.",
        group="Time",
        replay_only=True,
    ),
    Action(
        id="seek",
        keys=("right_square_bracket",),
        label="+1 min",
        help="One minute forward in a recording.",
        group="Time",
        replay_only=True,
        footer=True,
    ),
    Action(
        id="seek_back",
        keys=("left_square_bracket",),
        label="-1 min",
        help="One minute back.",
        group="Time",
        replay_only=True,
    ),
    Action(
        id="seek_to",
        keys=("colon",),
        label="go to",
        help="Go to a moment of a recording: 10:32, 10:32:05, +5m, -30s or 50%.",
        group="Time",
        replay_only=True,
    ),
    Action(
        id="loop",
        keys=("l",),
        label="loop",
        help="Begin a recording again at its end.",
        group="Time",
        replay_only=True,
    ),
    Action(
        id="density",
        keys=("c",),
        label="density",
        help="Devices: automatic, a row each, or a block each.",
        group="Looks",
    ),
    Action(id="theme", keys=("T",), label="theme", help="The next theme.", group="Looks"),
    Action(
        id="redraw",
        keys=("f5", "ctrl+l"),
        label="redraw",
        help="Paint everything anew.",
        group="Looks",
    ),
)

_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "plus": "+",
    "equals_sign": "=",
    "minus": "-",
    "full_stop": ".",
    "comma": ",",
    "colon": ":",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
}


def key_name(key: str) -> str:
    """A key as people write it: `^C`, `F10`, `?`."""
    if key.startswith("ctrl+"):
        return "^" + key.removeprefix("ctrl+").upper()
    if key[0] == "f" and key[1:].isdecimal():
        return key.upper()
    return _NAMES.get(key, key)


@cache
def by_id() -> dict[str, Action]:
    """The actions by id."""
    return {action.id: action for action in ACTIONS}


def usable(screen: str, *, replay: bool) -> list[Action]:
    """The actions of a screen."""
    return [
        action
        for action in ACTIONS
        if (not action.screens or screen in action.screens) and (replay or not action.replay_only)
    ]


def groups() -> dict[str, list[Action]]:
    """The actions by group, in the table's order."""
    found: dict[str, list[Action]] = {}
    for action in ACTIONS:
        found.setdefault(action.group, []).append(action)
    return found
