"""Actions on the whole program: quit, help, commands, appearance."""

from accelwatch.tui.state.action import Action

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

OF_PROGRAM: tuple[Action, ...] = (
    QUIT,
    SUSPEND,
    BACK,
    HELP,
    PALETTE,
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
