"""The keys, signs and flags in words, from the table of actions: for the help screen and the docs."""

from accelwatch.schema.status.device_status import state_label
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, wrapped
from accelwatch.tui.state.action import OF_FLEET, ONLY_FLEET, Action
from accelwatch.tui.state.actions import ACTIONS, groups
from accelwatch.tui.state.key_names import key_name

SIGNS = (
    ("ok", "it answers, and nothing is wrong"),
    (
        "degraded",
        "it answers, but reports a problem, or part of it is unreadable",
    ),
    ("lost", "it was there and is gone"),
    ("unresponsive", "a driver call has not returned"),
    ("suspended", "asleep, and left asleep"),
    ("excluded", "not for this user, or not listed by its exporter"),
)
NODE_SIGNS = (
    ("up", "a node that answers"),
    ("slow", "answers late"),
    ("stale", "silent; its values are the last received"),
    ("down", "silent for long, or its connection failed"),
    ("never", "has never answered"),
)
FLAGS = (
    ("E", "uncorrected memory errors"),
    ("X", "error events (Xid, RAS, resets)"),
    ("L", "links that are down"),
    ("M", "a repair waits for a reset, failed, or is not possible"),
    ("R", "the driver asks for a reset"),
)


def keys_of(action: Action) -> str:
    """`q ^C F10`."""
    return " ".join(key_name(key) for key in action.keys)


def lines(
    width: int,
    glyphs: Glyphs,
    *,
    replay: bool,
    archive: bool = False,
    fleet: bool = True,
    has_incidents: bool = False,
    signals: bool = True,
    terminal: bool = True,
    screen: str = "",
) -> list[Line]:
    """All of it, in two columns where there is room; `has_incidents` where one machine has incidents.

    What can be done on `screen` and not everywhere comes first.
    """
    half = width if width < 110 else width // 2

    def shown(action: Action) -> bool:
        if not fleet:
            left_out = ONLY_FLEET if has_incidents else OF_FLEET
            if action.acts or (action.screens and not action.screens - left_out):
                return False
        return (
            (replay or not action.replay_only)
            and (archive or not action.archive_only)
            and (signals or not action.sends)
            and (terminal or not action.leaves)
        )

    blocks: list[list[Line]] = []
    for title, actions in _topics(screen).items():
        keys: list[Line] = []
        for action in filter(shown, actions):
            keys += _entry(keys_of(action), action.help, half, "key")
        if keys:
            blocks.append([[(f" {title}", "title")], *keys, []])
    blocks.append([*_signs(half, glyphs), []])
    if fleet:
        blocks.append([*_fleet_signs(half, glyphs), []])
    flags: list[Line] = [[(" Flags", "title")]]
    for flag, meaning in FLAGS:
        flags += _entry(flag, meaning, half, "bad")
    blocks.append([*flags, []])
    if half == width:
        return [line for block in blocks for line in block]
    return _side_by_side(blocks, half)


def _topics(screen: str) -> dict[str, list[Action]]:
    """What is for some screens only, this one among them; then the rest by group."""
    here = [action for action in ACTIONS if screen in action.screens]
    topics = {f"On this screen: {screen}": here}
    for title, actions in groups().items():
        topics[title] = [action for action in actions if action not in here]
    return topics


def _signs(width: int, glyphs: Glyphs) -> list[Line]:
    signs: list[Line] = [[(" Signs", "title")]]
    for state, meaning in SIGNS:
        sign = next(glyph for name, glyph in glyphs.states.items() if name == state)
        signs += _entry(f"{sign} {state_label(state)}", meaning, width, "text")
    signs += _entry(f"{glyphs.hot} hot", "near its own temperature limit", width, "text")
    signs += _entry(f"{glyphs.stale} stale", "no data from it for three intervals", width, "text")
    return signs


def _fleet_signs(width: int, glyphs: Glyphs) -> list[Line]:
    """Signs of nodes, and of devices that only a fleet has."""
    block: list[Line] = [[(" Signs of a fleet", "title")]]
    for state, meaning in NODE_SIGNS:
        block += _entry(f"{glyphs.nodes[state]} {state}", meaning, width, "text")
    for sign, label, meaning in (
        (glyphs.failed, "failed", "a device that answers and is broken"),
        (glyphs.missing, "missing", "a device that its node does not list any more"),
        (glyphs.unreachable, "unreachable", "a device of a node that is down"),
    ):
        block += _entry(f"{sign} {label}", meaning, width, "text")
    return block


def _entry(head: str, text: str, width: int, role: str) -> list[Line]:
    rows = wrapped(text, max(width - 18, 12))
    return [
        clipped([(f"  {fit(head if not n else '', 15)}", role), (row, "text")], width)
        for n, row in enumerate(rows)
    ]


def _side_by_side(blocks: list[list[Line]], half: int) -> list[Line]:
    """The blocks in two columns of nearly the same length."""
    total = sum(len(block) for block in blocks)
    left: list[Line] = []
    right: list[Line] = []
    for block in blocks:
        (left if len(left) + len(block) // 2 <= total // 2 else right).extend(block)
    rows = max(len(left), len(right))
    pad: list[Line] = [[]]
    left += pad * (rows - len(left))
    right += pad * (rows - len(right))
    return [[*clipped(line, half), *other] for line, other in zip(left, right, strict=True)]


def markdown() -> str:
    """The keys as tables for docs/dashboard.md."""
    rows: list[str] = []
    for title, actions in groups().items():
        rows += [f"### {title}", "", "| keys | what they do | where |", "|---|---|---|"]
        for action in actions:
            keys = " ".join(f"`{key_name(key)}`" for key in action.keys)
            where = ", ".join(sorted(action.screens)) or "everywhere"
            where = "in a recording" if action.replay_only else where
            where = "in a fleet's archive" if action.archive_only else where
            where += "; only of this machine" if action.sends else ""
            where += "; not in a browser" if action.leaves else ""
            rows.append(f"| {keys} | {action.help} | {where} |")
        rows.append("")
    return "\n".join(rows)
