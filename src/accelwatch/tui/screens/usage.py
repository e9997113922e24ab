"""Who uses the devices: `t` changes between users and jobs, `h` between the last hour and all."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from accelwatch.node.usage.ledger import By
from accelwatch.node.usage.queries import SINCE_DEFAULT
from accelwatch.node.usage.report import SINCE_JOB
from accelwatch.tui.drawing.lines import Line
from accelwatch.tui.screens.page import PageScreen
from accelwatch.tui.state.action import USAGE
from accelwatch.tui.state.board import Board
from accelwatch.tui.views import usage_lines

if TYPE_CHECKING:
    from accelwatch.node.usage.report import UsageReport


def usage_screen(
    board: Board,
    now: Callable[[], float],
    read_usage: "Callable[[By, str], tuple[UsageReport | None, str]]",
) -> PageScreen:
    """`read_usage` gives the newest report of the query, and why there is no newer one."""
    chosen = {"by": By.USER.value, "since": SINCE_DEFAULT}

    def write(width: int) -> list[Line]:
        report, problem = read_usage(By(chosen["by"]), chosen["since"])
        return usage_lines.lines(
            report,
            problem,
            width,
            board.paint.glyphs,
            ages=chosen["since"] == SINCE_JOB,
        )

    def handle(action: str) -> bool:
        if action == "tree":
            chosen["by"] = By.JOB.value if chosen["by"] == By.USER.value else By.USER.value
        elif action == "span":
            chosen["since"] = SINCE_JOB if chosen["since"] == SINCE_DEFAULT else SINCE_DEFAULT
        else:
            return False
        return True

    return PageScreen(board, USAGE, write, now, handle=handle)
