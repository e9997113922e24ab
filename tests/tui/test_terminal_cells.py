"""What is sent of a painting: a terminal that gets only what differs shows what was painted."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import get_character_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from accelwatch.tui.terminal.cells import TerminalCells

WIDTH = 24
CONSOLE = Console(
    file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False
)
STYLES = {
    "": None,
    "plain": Style(),
    "warn": Style.parse("bold #ffaa00 on #101010"),
    "calm": Style.parse("#010203 on #101010"),
    "load": Style.parse("#00ff00 on #101010"),
}
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([HBCGdm])|(.)", re.DOTALL)
BLANK = " ", ""


class Screen:
    """As much of a terminal as is needed: places, colours, wide characters, no wrapping.

    `wide` takes two cells for each of these signs, as terminals of some languages do.
    """

    def __init__(self, wide: str = "") -> None:
        self.cells: dict[tuple[int, int], tuple[str, str]] = {}
        self.wide = wide

    def take(self, text: str) -> None:
        y = x = 0
        look = ""
        for words, kind, sign in SEQUENCE.findall(text):
            if kind == "H":
                y, x = (int(word) - 1 for word in words.split(";"))
            elif kind == "m":
                look = looks(look, words)
            elif kind or sign in "\b\v":
                assert x < WIDTH, "behind the last column the place is not certain"
                y, x = moved(y, x, kind or sign, int(words or 1))
            else:
                self.cells[y, x] = sign, look
                if get_character_cell_size(sign) == 2:
                    self.cells[y, x + 1] = "", look
                x += 2 if sign in self.wide else get_character_cell_size(sign)

    def line(self, y: int) -> list[tuple[str, str]]:
        return [self.cells.get((y, x), BLANK) for x in range(WIDTH)]


def moved(y: int, x: int, kind: str, number: int) -> tuple[int, int]:
    """Where the cursor is after ECMA-48's CUD, CUF, CHA, VPA, backspace and vertical tab."""
    return {
        "B": (y + number, x),
        "C": (y, x + number),
        "G": (y, number - 1),
        "d": (number - 1, x),
        "\b": (y, x - 1),
        "\v": (y + 1, x),
    }[kind]


def looks(before: str, words: str) -> str:
    """The parameters in force: of each kind the last; kinds are foreground, background and others."""
    given = dict(part.split("=") for part in before.split()) if before else {}
    numbers = words.split(";")
    while numbers:
        code = numbers.pop(0)
        kind = {"3": "fore", "4": "back"}.get(code[0], code) if len(code) == 2 else code
        if code in ("38", "48"):
            length = 4 if numbers[0] == "2" else 2
            code, numbers = ";".join([code, *numbers[:length]]), numbers[length:]
        if code in ("", "0"):
            given.clear()
        else:
            given[kind] = code
    plain = {"fore": "39", "back": "49"}
    return " ".join(
        f"{kind}={code}" for kind, code in sorted(given.items()) if plain.get(kind) != code
    )


def strip(*spans: tuple[str, str]) -> Strip:
    return Strip([Segment(text, STYLES[role]) for text, role in spans]).adjust_cell_length(
        WIDTH, Style()
    )


def whole(*strips: Strip) -> LayoutUpdate:
    return LayoutUpdate([[each] for each in strips], Region(0, 0, WIDTH, len(strips)))


def part(y: int, chops: dict[int, Strip | None]) -> ChopsUpdate:
    lines: list[dict[int, Strip | None]] = [{} for _ in range(y)]
    return ChopsUpdate([*lines, chops], [(y, 0, WIDTH)], [[] for _ in range(y + 1)])


def sent(cells: TerminalCells, update: CompositorUpdate) -> str:
    given = cells.changes(update)
    if given is None:
        return ""
    assert isinstance(given, CompositorUpdate)
    return given.render_segments(CONSOLE)


def test_what_is_the_same_is_not_sent() -> None:
    cells = TerminalCells()
    sent(cells, whole(strip(("busy 50 %", "load"))))
    assert not sent(cells, whole(strip(("busy 50 %", "load"))))


def test_of_a_line_only_the_cells_that_differ_are_sent() -> None:
    cells = TerminalCells()
    sent(cells, whole(strip(("busy 50 %  power 300 W", "load"))))
    assert sent(cells, whole(strip(("busy 50 %  power 310 W", "load")))) == (
        "\x1b[1;19H\x1b[38;2;0;255;0;48;2;16;16;16m1\x1b[m"
    )


def test_another_colour_is_a_difference() -> None:
    cells = TerminalCells()
    sent(cells, whole(strip(("91 C", "load"))))
    assert "91 C" in sent(cells, whole(strip(("91 C", "warn"))))


def test_of_colours_only_those_that_change_are_set() -> None:
    cells = TerminalCells()
    sent(cells, whole(strip(("1", "warn"), ("2       ", "load"), ("3", "load"))))
    assert sent(cells, whole(strip(("a", "warn"), ("b       ", "load"), ("c", "load")))) == (
        "\x1b[1;1H\x1b[0;1;38;2;255;170;0;48;2;16;16;16ma\x1b[0;38;2;0;255;0;48;2;16;16;16mb"
        "\x1b[7Cc\x1b[m"
    )
    sent(cells, whole(strip(("1", "calm"), ("2", "load"))))
    assert sent(cells, whole(strip(("a", "calm"), ("b", "load")))) == (
        "\x1b[1;1H\x1b[38;2;1;2;3;48;2;16;16;16ma\x1b[38;2;0;255;0mb\x1b[m"
    )


def test_changes_near_each_other_go_together_and_distant_ones_alone() -> None:
    cells = TerminalCells()
    sent(cells, whole(strip(("1234567890123456", "plain"))))
    near = sent(cells, whole(strip(("x23456x890123456", "plain"))))
    assert moves(near) == 1
    far = sent(cells, whole(strip(("123456789012345x", "plain"))))
    assert moves(far) == 2


def moves(text: str) -> int:
    return sum(kind in "HBCGd" for _, kind, _ in SEQUENCE.findall(text) if kind)


def test_cells_below_each_other_need_no_position_and_no_colour_of_their_own() -> None:
    cells = TerminalCells()
    before = strip(("12345⣀        ", "load"), ("⣀", "calm"))
    sent(cells, whole(*[before] * 12))
    after = strip(("12345⣿        ", "load"), ("⣿", "calm"))
    column = "⣿" + "\v\b⣿" * 11
    assert sent(cells, whole(*[after] * 12)) == (
        f"\x1b[1;6H\x1b[38;2;0;255;0;48;2;16;16;16m{column}\x1b[1;15H\x1b[38;2;1;2;3m{column}\x1b[m"
    )


def test_a_jump_goes_the_shortest_way() -> None:
    cells = TerminalCells()
    empty = strip((" " * WIDTH, "plain"))
    sent(cells, whole(*[empty] * 5))
    first = strip(("a" + " " * 9 + "b", "plain"))
    third = strip((" " * 11 + "c", "plain"))
    assert sent(cells, whole(first, empty, third, empty, empty)) == "\x1b[1;1Ha\x1b[9Cb\v\vc"


def test_where_the_cursor_is_not_certain_the_full_position_is_written() -> None:
    cells = TerminalCells()
    sent(cells, whole(*[strip((" " * WIDTH, "plain"))] * 2))
    at_the_edge = strip((" " * (WIDTH - 1) + "a", "plain"))
    assert sent(cells, whole(at_the_edge, at_the_edge)) == f"\x1b[1;{WIDTH}Ha\x1b[2;{WIDTH}Ha"
    screen = Screen(wide="●")
    for sign in ("●", "a"):
        screen.take(sent(cells, whole(strip((f"{sign}        z", "plain")), strip(("y", "plain")))))
    assert (screen.line(0)[9][0], screen.line(1)[0][0]) == ("z", "y")


def test_what_was_forgotten_is_sent_anew() -> None:
    cells = TerminalCells()
    sent(cells, whole(strip(("busy 50 %", "load"))))
    cells.forget()
    assert "busy 50 %" in sent(cells, whole(strip(("busy 50 %", "load"))))


def test_a_terminal_of_another_size_gets_everything() -> None:
    cells = TerminalCells()
    line = strip(("busy 50 %", "load"))
    sent(cells, whole(line))
    assert sent(cells, whole(line, line)).count("busy 50 %") == 2


def test_a_dialog_over_a_line_and_its_end() -> None:
    cells, screen = TerminalCells(), Screen()
    line = strip(("0123456789" * 2, "plain"))
    screen.take(sent(cells, whole(line)))
    dialog = Strip([Segment("sure", STYLES["warn"])])
    under = {0: line.crop(0, 6), 6: dialog, 10: line.crop(10, WIDTH)}
    screen.take(sent(cells, part(0, {0: None, 6: dialog, 10: None})))
    assert "".join(sign for sign, _ in screen.line(0)).startswith("012345sure0123456789")
    assert not sent(cells, part(0, {**under, 0: None, 10: None}))
    screen.take(sent(cells, whole(line)))
    assert "".join(sign for sign, _ in screen.line(0)).startswith("01234567890123456789")


def test_what_is_no_update_of_the_screen_goes_on_as_it_is() -> None:
    cells = TerminalCells()
    assert cells.changes(None) is None
    assert cells.changes("text") == "text"


spans = st.lists(
    st.tuples(st.text("ab █⣿°本字\u0301", max_size=8), st.sampled_from(sorted(STYLES))), max_size=4
)


@given(st.lists(st.lists(spans, min_size=3, max_size=3), max_size=6))
def test_after_any_paintings_the_terminal_shows_the_last(
    paintings: list[list[list[tuple[str, str]]]],
) -> None:
    cells, screen, plain = TerminalCells(), Screen(), Screen()
    for painting in paintings:
        strips = [strip(*line) for line in painting]
        screen.take(sent(cells, whole(*strips)))
        for y, line in enumerate(strips):
            plain.take(f"\x1b[{y + 1};1H{Strip(list(line)).render(CONSOLE)}")
    assert [screen.line(y) for y in range(3)] == [plain.line(y) for y in range(3)]
