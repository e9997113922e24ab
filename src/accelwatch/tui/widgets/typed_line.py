"""A line to type in that handles each key before it reads the next one.

Textual's own has its keys done by the application, to which they travel: letters that arrive together
with Backspace would be there before it.
"""

from textual import events
from textual.binding import Binding
from textual.widgets import Input

# What a key does in a line; what it does in any widget, such as to scroll, is the dialog's to say.
_ACTIONS = {
    key: binding.action
    for binding in Input.BINDINGS
    if isinstance(binding, Binding)
    for key in binding.key.split(",")
}


class TypedLine(Input):
    """The line of a dialog."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text, select_on_focus=False, id="line")

    async def on_key(self, event: events.Key) -> None:
        """Do what the line itself does; other keys are the dialog's."""
        if not event.is_printable and event.key in _ACTIONS:
            event.stop()
            await self.run_action(_ACTIONS[event.key])
