"""The one table of actions: bindings, footer, help screen and docs/dashboard.md all come from it."""

from functools import cache

import msgspec

SCREEN = "screen_"
"""Begins the id of an action that opens a numbered screen; the screen's name follows."""
LOCAL, DEVICE, PROCESSES, DOCTOR = "local", "device", "processes", "doctor"
FLEET = "fleet"
TABLES = frozenset({LOCAL, PROCESSES})
LISTS = TABLES | {FLEET}
INCIDENTS, INCIDENT = "incidents", "incident"
ON_INCIDENTS = frozenset({INCIDENTS, INCIDENT})
SORTED = LISTS | {INCIDENTS}
ONLY_FLEET = frozenset({FLEET})
OF_FLEET = frozenset({FLEET, INCIDENTS, INCIDENT})
"""Screens that there are with a fleet only."""


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
    archive_only: bool = False
    """Only where a whole fleet is played."""
    sends: bool = False
    """Sends a signal, which only this machine's processes can get."""
    leaves: bool = False
    """Gives the terminal back, which a browser has not."""
    acts: bool = False
    """Says a person's word to a hub that acts."""


def _action(
    group: str,
    id: str,
    keys: str,
    label: str,
    help: str,
    *,
    screens: frozenset[str] = frozenset(),
    footer: bool = False,
    priority: bool = False,
    replay_only: bool = False,
    archive_only: bool = False,
    sends: bool = False,
    leaves: bool = False,
    acts: bool = False,
) -> Action:
    return Action(
        id=id,
        keys=tuple(keys.split()),
        label=label,
        help=help,
        group=group,
        screens=screens,
        footer=footer,
        priority=priority,
        replay_only=replay_only,
        archive_only=archive_only,
        sends=sends,
        leaves=leaves,
        acts=acts,
    )


ACTIONS: tuple[Action, ...] = (
    _action(
        "Program", "quit", "q ctrl+c f10", "quit", "Quit.", footer=True, priority=True, leaves=True
    ),
    _action(
        "Program",
        "suspend",
        "ctrl+z",
        "suspend",
        "Stop the program and give the terminal back; the shell's `fg` lets it go on.",
        priority=True,
        leaves=True,
    ),
    _action("Program", "back", "escape", "back", "Back, or clear the filter; never quits."),
    _action("Program", "help", "question_mark f1", "help", "This list of keys.", footer=True),
    _action(
        "Screens",
        "screen_local",
        "1",
        "local",
        "Local: devices, history of the selected one, processes.",
    ),
    _action(
        "Screens",
        "screen_fleet",
        "2",
        "fleet",
        "Fleet: all nodes, worst first; with `accelwatch fleet`.",
    ),
    _action(
        "Screens", "screen_device", "3", "device", "Device: every quantity of the selected device."
    ),
    _action("Screens", "screen_processes", "4", "processes", "Processes: all of them, in full."),
    _action(
        "Screens",
        "screen_incidents",
        "5",
        "incidents",
        "Incidents: what the rules of this machine's agent, or of a fleet's hub, have found.",
    ),
    _action(
        "Screens",
        "screen_doctor",
        "6",
        "doctor",
        "Doctor: what was looked for, found, and why something is missing.",
    ),
    _action("Screens", "next_screen", "tab", "next screen", "The next screen.", footer=True),
    _action("Screens", "previous_screen", "shift+tab", "previous screen", "The screen before."),
    _action("Screens", "settings", "f2", "settings", "Settings; written to a file on request."),
    _action("Moving", "up", "up k", "up", "One row up."),
    _action("Moving", "down", "down j", "down", "One row down."),
    _action(
        "Moving",
        "left",
        "left",
        "left",
        "A cell to the left in the heat grid; elsewhere the device or incident before.",
    ),
    _action(
        "Moving",
        "right",
        "right",
        "right",
        "A cell to the right in the heat grid; elsewhere the device or incident after.",
    ),
    _action("Moving", "page_up", "pageup", "page up", "One page up."),
    _action("Moving", "page_down", "pagedown", "page down", "One page down."),
    _action("Moving", "first", "home g", "first", "The first row."),
    _action("Moving", "last", "end G", "last", "The last row."),
    _action(
        "Looking",
        "enter",
        "enter",
        "detail",
        "Details of the selected device, process or incident; of a fleet, the node's Local view.",
        screens=SORTED | {INCIDENT},
        footer=True,
    ),
    _action(
        "Looking",
        "filter",
        "slash",
        "filter",
        "Filter by plain text or by an expression (docs/expressions.md).",
        screens=SORTED,
        footer=True,
    ),
    _action(
        "Looking",
        "sort",
        "s f6",
        "sort",
        "Choose the column that is sorted by.",
        screens=SORTED,
        footer=True,
    ),
    _action(
        "Looking",
        "sort_left",
        "less_than_sign",
        "sort left",
        "Sort by the column to the left; a click on a heading sorts too.",
        screens=SORTED,
    ),
    _action(
        "Looking",
        "sort_right",
        "greater_than_sign",
        "sort right",
        "Sort by the column to the right.",
        screens=SORTED,
    ),
    _action("Looking", "reverse", "r", "reverse", "Turn the order round.", screens=SORTED),
    _action(
        "Looking",
        "tree",
        "t",
        "group",
        "Group the processes by owner; a fleet by rack, partition, job, user, or not.",
        screens=LISTS,
        footer=True,
    ),
    _action(
        "Looking",
        "span",
        "h",
        "5/60 min",
        "History over five minutes or an hour.",
        screens=frozenset({LOCAL, DEVICE}),
    ),
    _action(
        "Looking", "copy", "y", "copy", "Copy the selected uuid or pid to the clipboard (OSC 52)."
    ),
    _action("Looking", "copy_row", "Y", "copy JSON", "Copy the selected row as JSON."),
    _action(
        "Processes",
        "tag",
        "space",
        "tag",
        "Tag the process for a signal; in a fleet, fold or unfold a group.",
        screens=SORTED,
    ),
    _action(
        "Processes",
        "signal",
        "K f9",
        "signal",
        "Signal the tagged processes, or the selected one; asks first.",
        screens=TABLES,
        footer=True,
        sends=True,
    ),
    _action(
        "Processes",
        "environment",
        "e",
        "environment",
        "Environment of the selected process: its names, once more the values that are in view.",
        screens=TABLES | {"process"},
    ),
    _action(
        "Fleet",
        "group_by",
        "b",
        "by",
        "Choose by what the fleet is grouped: an owner or any label.",
        screens=ONLY_FLEET,
    ),
    _action(
        "Fleet",
        "grid",
        "m",
        "map",
        "A light for each device, or a row for each node.",
        screens=ONLY_FLEET,
        footer=True,
    ),
    _action(
        "Fleet",
        "shade",
        "M",
        "shade",
        "What the lights show: load, memory or temperature.",
        screens=ONLY_FLEET,
    ),
    _action(
        "Fleet",
        "events",
        "E",
        "events",
        "Events of the whole fleet below the nodes, or not.",
        screens=ONLY_FLEET,
        footer=True,
    ),
    _action(
        "Fleet",
        "problems",
        "exclamation_mark",
        "problems",
        "What the hub itself cannot do, in full: find targets, keep its inventory, read its store.",
        screens=ONLY_FLEET | {INCIDENTS},
    ),
    _action(
        "Fleet",
        "over",
        "o",
        "over",
        "Incidents that are over lately too, or open ones only.",
        screens=frozenset({INCIDENTS}),
        footer=True,
    ),
    _action(
        "Fleet",
        "silence",
        "S",
        "silence",
        "Have nobody told of the incident, its node or its rule for a while, or end that; asks first.",
        screens=ON_INCIDENTS,
        footer=True,
    ),
    _action(
        "Fleet",
        "close_incident",
        "X",
        "close",
        "Close the incident by hand; asks why.",
        screens=ON_INCIDENTS,
        footer=True,
    ),
    _action(
        "Remedies",
        "approve",
        "P",
        "approve",
        "Say yes to the plan for the incident's node; shows what would be done, and asks why.",
        screens=ON_INCIDENTS,
        footer=True,
        acts=True,
    ),
    _action(
        "Remedies",
        "deny",
        "D",
        "deny",
        "Say no to the plan, for an hour or longer; asks first.",
        screens=ON_INCIDENTS,
        footer=True,
        acts=True,
    ),
    _action(
        "Remedies",
        "hold",
        "H",
        "hold",
        "Have nothing done to the incident's node, for a while or until it is taken back; asks first.",
        screens=ON_INCIDENTS,
        footer=True,
        acts=True,
    ),
    _action(
        "Remedies",
        "release",
        "R",
        "give back",
        "Give the node back, by force too; say that it is mended, or that what failed may go on.",
        screens=ON_INCIDENTS,
        footer=True,
        acts=True,
    ),
    _action(
        "Remedies",
        "quarantine",
        "Q",
        "take out",
        "Take the node out of the pool by hand; only a person gives it back. Asks first.",
        screens=ON_INCIDENTS,
        acts=True,
    ),
    _action(
        "Remedies",
        "breaker",
        "B",
        "breaker",
        "Close the breaker, which opens when more goes wrong than one node explains; asks first.",
        screens=ON_INCIDENTS | ONLY_FLEET,
        acts=True,
    ),
    _action(
        "Remedies",
        "stop",
        "Z",
        "STOP",
        "Begin nothing new on any node, or let everything go on again; the word has to be typed.",
        screens=ON_INCIDENTS | ONLY_FLEET,
        footer=True,
        acts=True,
    ),
    _action(
        "Fleet",
        "acknowledge",
        "A",
        "acknowledge",
        "Have the missing devices of a node, or a node that is gone, not expected; asks first.",
        screens=ONLY_FLEET,
    ),
    _action(
        "Time",
        "pause",
        "p",
        "pause",
        "Hold the picture; readings go on. A recording stops.",
        footer=True,
    ),
    _action(
        "Time", "faster", "plus equals_sign", "faster", "Read more often; play a recording faster."
    ),
    _action("Time", "slower", "minus", "slower", "Read less often; play a recording slower."),
    _action(
        "Time",
        "step",
        "full_stop",
        "step",
        "The next snapshot of a recording.",
        footer=True,
        replay_only=True,
    ),
    _action("Time", "step_back", "comma", "step back", "The snapshot before.", replay_only=True),
    _action(
        "Time",
        "seek",
        "right_square_bracket",
        "+1 min",
        "One minute forward in a recording.",
        footer=True,
        replay_only=True,
    ),
    _action(
        "Time", "seek_back", "left_square_bracket", "-1 min", "One minute back.", replay_only=True
    ),
    _action(
        "Time",
        "seek_to",
        "colon",
        "go to",
        "Go to a moment of a recording: 10:32, 2026-03-14, 2026-03-14 10:32, +5m, -2h or 50%.",
        replay_only=True,
    ),
    _action(
        "Time",
        "hour",
        "right_curly_bracket",
        "+1 h",
        "One hour forward in a fleet's archive.",
        archive_only=True,
    ),
    _action("Time", "hour_back", "left_curly_bracket", "-1 h", "One hour back.", archive_only=True),
    _action(
        "Time",
        "incident",
        "n",
        "incident",
        "To where the next incident of a fleet's archive was opened.",
        footer=True,
        archive_only=True,
    ),
    _action("Time", "incident_back", "N", "incident back", "The one before.", archive_only=True),
    _action(
        "Time",
        "event",
        "v",
        "event",
        "To the next event of a fleet's archive.",
        footer=True,
        archive_only=True,
    ),
    _action("Time", "event_back", "V", "event back", "The one before.", archive_only=True),
    _action("Time", "loop", "l", "loop", "Begin a recording again at its end.", replay_only=True),
    _action("Looks", "density", "c", "density", "Devices: automatic, a row each, or a block each."),
    _action("Looks", "theme", "T", "theme", "The next theme."),
    _action("Looks", "redraw", "f5 ctrl+l", "redraw", "Paint everything anew."),
)


@cache
def by_id() -> dict[str, Action]:
    """The actions by id."""
    return {action.id: action for action in ACTIONS}


def usable(
    screen: str,
    *,
    replay: bool,
    archive: bool = False,
    signals: bool = True,
    terminal: bool = True,
    acts: bool = False,
) -> list[Action]:
    """The actions of a screen: of a recording, where processes can be signalled, on a terminal, of a
    hub that acts."""
    return [
        action
        for action in ACTIONS
        if (not action.screens or screen in action.screens)
        and (replay or not action.replay_only)
        and (archive or not action.archive_only)
        and (signals or not action.sends)
        and (terminal or not action.leaves)
        and (acts or not action.acts)
    ]


@cache
def numbered_screens(*, fleet: bool, judged: bool = False) -> tuple[tuple[str, str], ...]:
    """(key, name) of the screens that have a number, in their order; those of a fleet only with one.

    The incidents of one machine are there where its agent may be asked for them (`judged`).
    """
    return tuple(
        (action.keys[0], action.id.removeprefix(SCREEN))
        for action in ACTIONS
        if action.id.startswith(SCREEN)
        and (fleet or _without_fleet(action.id.removeprefix(SCREEN), judged=judged))
    )


def _without_fleet(name: str, *, judged: bool) -> bool:
    return judged if name == INCIDENTS else name not in OF_FLEET


def groups() -> dict[str, list[Action]]:
    """The actions by group, in the table's order."""
    by_group: dict[str, list[Action]] = {}
    for action in ACTIONS:
        by_group.setdefault(action.group, []).append(action)
    return by_group
