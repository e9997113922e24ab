"""The prompt for a person's reason, before an incident or a node is changed."""

from collections.abc import Callable

from accelwatch.alerting.evaluation.silences.requests import reason_of
from accelwatch.base.errors import AccelwatchError
from accelwatch.tui.context import DialogContext
from accelwatch.tui.screens.dialogs.prompt import PromptScreen

_HINT = "kept in the audit log; Enter confirms, Esc cancels"


def prompt_for_reason(app: DialogContext, title: str, act: Callable[[str], None]) -> None:
    """Prompt under a title, and hand the reason to `act`; leaving the line does nothing."""

    def wrong(text: str) -> str:
        try:
            reason_of(text)
        except AccelwatchError as error:
            return str(error)
        return ""

    def answered(reason: str | None) -> None:
        if reason is not None:
            act(reason_of(reason))

    app.push_screen(PromptScreen(app.board, title, "", _HINT, wrong), answered)
