"""The table of actions: no key means two things, and documents come from it."""

from collections import Counter

import pytest

from accelwatch.tui.app import Dashboard
from accelwatch.tui.commands.dispatch import Commands
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.drawing.lines import width_of
from accelwatch.tui.opening import OPENINGS
from accelwatch.tui.state.action import SCREEN, Action
from accelwatch.tui.state.actions import ACTIONS, by_id, meant, usable
from accelwatch.tui.state.key_names import key_name
from accelwatch.tui.views import help_lines
from accelwatch.tui.widgets.footer import footer_line
from support.dashboards.fleets import FedFleet, fleet_view
from support.dashboards.local import Stage, board_of, on, texts
from support.machines.samples import FIXTURES

DOCS = FIXTURES.parent / "docs" / "dashboard.md"
PROMISED = {
    "quit": {"q", "ctrl+c", "f10"},
    "help": {"question_mark", "f1"},
    "up": {"up", "k"},
    "down": {"down", "j"},
    "first": {"home", "g"},
    "last": {"end", "G"},
    "page_up": {"pageup"},
    "page_down": {"pagedown"},
    "filter": {"slash"},
    "sort": {"s", "f6"},
    "sort_left": {"less_than_sign"},
    "sort_right": {"greater_than_sign"},
    "reverse": {"r"},
    "tree": {"t"},
    "enter": {"enter"},
    "environment": {"e"},
    "tag": {"space"},
    "signal": {"f9", "K"},
    "pause": {"p"},
    "faster": {"plus"},
    "slower": {"minus"},
    "redraw": {"f5", "ctrl+l"},
    "settings": {"f2"},
    "next_screen": {"tab"},
    "density": {"c"},
    "theme": {"T"},
    "copy": {"y"},
    "back": {"escape"},
}


def test_every_action_has_an_id_of_its_own() -> None:
    assert len(by_id()) == len(ACTIONS)


# What a screen itself does, with its own lists.
MOVES = {"up", "down", "left", "right", "page_up", "page_down", "first", "last"}


@pytest.fixture(scope="module")
def commands() -> Commands:
    """All there are: of a machine, of a fleet and of its remedies."""
    return Dashboard(board_of(), None, fleet=FedFleet(fleet_view(2))).commands


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_handler(action: Action, commands: Commands) -> None:
    opens = action.id.startswith(SCREEN) and action.id.removeprefix(SCREEN) in OPENINGS
    assert opens or action.id in commands.registry or action.id in MOVES


def test_every_handler_is_of_an_action(commands: Commands) -> None:
    assert set(commands.registry) <= {action.id for action in ACTIONS} - MOVES


@pytest.mark.parametrize("key", ["1", "4"])
def test_a_screen_moves_its_own_lists(key: str) -> None:
    async def check(stage: Stage) -> None:
        await stage.press(key)
        view = stage.app.view
        assert view is not None
        assert {action for action in MOVES if view.perform(action)} == MOVES

    on(check)


def test_no_key_has_two_meanings_on_a_screen() -> None:
    everywhere = frozenset().union(*(action.screens for action in ACTIONS))
    counted = Counter(
        (key, screen)
        for action in ACTIONS
        for key in action.keys
        for screen in action.screens or everywhere
    )
    assert [position for position, number in counted.items() if number > 1] == []


def test_a_key_that_two_actions_share_means_the_one_of_the_screen() -> None:
    assert meant("blackbox|breaker", "local") == "blackbox"
    assert meant("blackbox|breaker", "incidents") == "breaker"
    assert meant("blackbox|breaker", "doctor") == "blackbox"
    assert meant("screen_9", "local") == "screen_9"


def test_the_promised_keys_are_there() -> None:
    for name, keys in PROMISED.items():
        assert keys <= set(by_id()[name].keys), name


def test_destructive_keys_are_upper_case_or_function_keys() -> None:
    assert all(key.isupper() or key[0] == "f" for key in by_id()["signal"].keys)


def test_every_function_key_has_another_key() -> None:
    alone = {
        action.id
        for action in ACTIONS
        if all(k[0] == "f" and k[1:].isdecimal() for k in action.keys)
    }
    assert alone == {"settings"}


def test_ctrl_q_is_not_needed_and_escape_does_not_quit() -> None:
    assert "ctrl+q" not in {key for action in ACTIONS for key in action.keys}
    assert "escape" not in by_id()["quit"].keys


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_footer_fits_and_starts_with_quit_and_help(width: int) -> None:
    shown = [action for action in usable("local", replay=False) if action.footer]
    shown.sort(key=lambda action: action.id not in ("quit", "help"))
    line, regions = footer_line(shown, width)
    assert [name for *_, name in regions][:2] == ["quit", "help"]
    assert max(last for _, last, _ in regions) <= width
    assert width_of(line) <= width + 3


@pytest.mark.parametrize("width", [40, 80, 140])
def test_help_names_every_key(width: int) -> None:
    text = texts(help_lines.lines(width, UNICODE, replay=True, archive=True))
    for action in ACTIONS:
        for key in action.keys:
            assert key_name(key) in text
    assert texts(help_lines.lines(width, ASCII, replay=True)).isascii()


@pytest.mark.parametrize("width", [80, 140])
def test_help_starts_with_the_screen_one_comes_from(width: int) -> None:
    whole = help_lines.lines(width, UNICODE, replay=False, screen="incidents")
    first = texts(whole).split("\n\n")[0]
    assert first.lstrip().startswith("On this screen: incidents")
    text = texts(whole)
    deny = by_id()["deny"].help[:30]
    assert text.count(deny) == 1
    assert text.index(deny) < text.index(by_id()["quit"].help[:30])


def test_help_names_no_screen_that_has_no_keys_of_its_own() -> None:
    assert "On this screen" not in texts(help_lines.lines(80, UNICODE, replay=False, screen="help"))
    assert "On this screen" not in texts(help_lines.lines(80, UNICODE, replay=False))


def test_replay_keys_are_shown_only_with_a_recording() -> None:
    assert "loop" not in {action.id for action in usable("local", replay=False)}
    assert "loop" in {action.id for action in usable("local", replay=True)}


def test_the_docs_page_is_current() -> None:
    """`python docs/build_dashboard.py` writes it anew."""
    assert help_lines.markdown().strip() in DOCS.read_text()


def test_a_hung_device_has_the_word_of_the_other_screens() -> None:
    text = texts(help_lines.lines(100, UNICODE, replay=False))
    assert "◌ hung " in text
    assert "unresponsive" not in text
