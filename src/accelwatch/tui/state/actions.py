"""The one table of actions: bindings, footer, help screen and docs/dashboard.md all come from it."""

from functools import cache

from accelwatch.tui.state.action import INCIDENTS, OF_FLEET, SCREEN, Action
from accelwatch.tui.state.cursor_actions import OF_CURSOR
from accelwatch.tui.state.fleet_actions import OF_A_FLEET
from accelwatch.tui.state.program_actions import OF_APPEARANCE, OF_PROGRAM
from accelwatch.tui.state.row_actions import OF_ROWS
from accelwatch.tui.state.screen_actions import OF_SCREENS
from accelwatch.tui.state.time_actions import OF_TIME

EITHER = "|"
ACTIONS: tuple[Action, ...] = (
    *OF_PROGRAM,
    *OF_SCREENS,
    *OF_CURSOR,
    *OF_ROWS,
    *OF_A_FLEET,
    *OF_TIME,
    *OF_APPEARANCE,
)


# Called for each key; the table of actions is constant.
@cache
def by_id() -> dict[str, Action]:
    """The actions by id."""
    return {action.id: action for action in ACTIONS}


def meant(ids: str, screen: str) -> str:
    """The action that a key means on a screen, of those that share it, joined by `EITHER`."""
    candidates = [by_id()[id_] for id_ in ids.split(EITHER) if id_ in by_id()]
    here = [action.id for action in candidates if not action.screens or screen in action.screens]
    return here[0] if here else ids.partition(EITHER)[0]


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


# Called at each repaint of the header; the table of actions is constant.
@cache
def numbered_screens(*, fleet: bool, has_incidents: bool = False) -> tuple[tuple[str, str], ...]:
    """(key, name) of the screens that have a number, in their order; those of a fleet only with one.

    One machine has the incidents' screen where its agent may be polled for them (`has_incidents`).
    """
    return tuple(
        (action.keys[0], action.id.removeprefix(SCREEN))
        for action in ACTIONS
        if action.id.startswith(SCREEN)
        and (fleet or _without_fleet(action.id.removeprefix(SCREEN), has_incidents=has_incidents))
    )


# Called at each repaint of the header; the table of actions is constant.
@cache
def further_screens(*, topology: bool) -> tuple[tuple[str, str], ...]:
    """(key, id) of the actions that open screens without a number; `topology` where it can be read."""
    ids = ("topology", "usage") if topology else ("usage",)
    return tuple((action.keys[0], action.id) for action in ACTIONS if action.id in ids)


def _without_fleet(name: str, *, has_incidents: bool) -> bool:
    return has_incidents if name == INCIDENTS else name not in OF_FLEET


def groups() -> dict[str, list[Action]]:
    """The actions by group, in the table's order."""
    by_group: dict[str, list[Action]] = {}
    for action in ACTIONS:
        by_group.setdefault(action.group, []).append(action)
    return by_group
