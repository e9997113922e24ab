"""The keys of the dashboard as Textual takes them."""

from string import digits

from textual.binding import Binding, BindingType

from accelwatch.tui.state.action import SCREEN, Action
from accelwatch.tui.state.actions import ACTIONS, EITHER


def bindings() -> list[BindingType]:
    """Every key of the table, and the digits that open no screen, to say so."""
    by_key: dict[str, list[Action]] = {}
    for action in ACTIONS:
        for key in action.keys:
            by_key.setdefault(key, []).append(action)
    bound = [
        Binding(
            key,
            f"do('{EITHER.join(action.id for action in shared)}')",
            shared[0].label,
            show=False,
            priority=shared[0].priority and key.startswith("ctrl"),
        )
        for key, shared in by_key.items()
    ]
    left = set(digits) - {binding.key for binding in bound}
    return [*bound, *(Binding(key, f"do('{SCREEN}{key}')", show=False) for key in sorted(left))]
