"""Actions that move the cursor."""

from accelwatch.tui.state.action import DEVICE, FLEET, LOCAL, Action

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

OF_CURSOR: tuple[Action, ...] = (
    UP,
    DOWN,
    LEFT,
    RIGHT,
    NEXT_PROBLEM,
    PAGE_UP,
    PAGE_DOWN,
    FIRST,
    LAST,
)
