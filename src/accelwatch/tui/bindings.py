"""The keys of the dashboard as Textual takes them."""

from string import digits

from textual.binding import Binding, BindingType

from accelwatch.tui.state.action import SCREEN
from accelwatch.tui.state.actions import ACTIONS


def bindings() -> list[BindingType]:
    """Every key of the table, and the digits that open no screen, to say so."""
    bound = [
        Binding(
            key,
            f"do('{action.id}')",
            action.label,
            show=False,
            priority=action.priority and key.startswith("ctrl"),
        )
        for action in ACTIONS
        for key in action.keys
    ]
    left = set(digits) - {binding.key for binding in bound}
    return [*bound, *(Binding(key, f"do('{SCREEN}{key}')", show=False) for key in sorted(left))]
