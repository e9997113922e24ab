"""The keys of the dashboard in Textual's form.

All are matched before a widget gets the key, so that what a key does is done before the next key:
those that arrive together each meet the screen that the ones before have left behind.
"""

from string import digits

from textual.binding import Binding, BindingType

from accelwatch.tui.state.action import SCREEN, Action
from accelwatch.tui.state.actions import ACTIONS, EITHER

# Textual actions of a key: in a dialog it is the dialog's, or it does the same there.
ON_SCREENS, EVERYWHERE = "do", "do_everywhere"


def bindings() -> list[BindingType]:
    """Every key of the table, and the digits that open no screen, to say so."""
    by_key: dict[str, list[Action]] = {}
    for action in ACTIONS:
        for key in action.keys:
            by_key.setdefault(key, []).append(action)
    bound = [
        Binding(
            key,
            _call(
                EITHER.join(action.id for action in shared),
                everywhere=shared[0].priority and key.startswith("ctrl"),
            ),
            shared[0].label,
            show=False,
            priority=True,
        )
        for key, shared in by_key.items()
    ]
    left = set(digits) - {binding.key for binding in bound}
    unused = (
        Binding(key, _call(f"{SCREEN}{key}"), show=False, priority=True) for key in sorted(left)
    )
    return [*bound, *unused]


def _call(ids: str, *, everywhere: bool = False) -> str:
    return f"{EVERYWHERE if everywhere else ON_SCREENS}('{ids}')"
