"""Texts on their way to the terminal's clipboard."""

from accelwatch.tui.context import DashboardContext


def copy_text(app: DashboardContext, text: str) -> None:
    """Put a text on the clipboard, and say so; an empty one leaves it as it is."""
    if text:
        app.copy_to_clipboard(text)
        app.show_message(f"copied {text if len(text) < 50 else f'{len(text)} characters'}")
