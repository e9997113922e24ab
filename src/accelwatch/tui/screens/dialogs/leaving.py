"""How a dialog is left: once, however many keys that would leave it have come together."""

from typing import TypeVar

from textual.screen import Screen

Result = TypeVar("Result")


def leave(dialog: Screen[Result], result: Result) -> None:
    """Give the result; nothing where the dialog has been left, or another one covers it."""
    if on_top(dialog):
        dialog.dismiss(result)


def on_top(dialog: Screen[Result]) -> bool:
    """Whether keys are for the dialog now."""
    stack = dialog.app.screen_stack
    return bool(stack) and stack[-1] is dialog
