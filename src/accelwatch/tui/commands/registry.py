"""Which handlers an action has: the rows of each class of commands, and their order."""

from collections.abc import Callable, Iterator, Mapping

from accelwatch.tui.state.action import Action

# Handles a key; False where the present screen has no use for it.
Handler = Callable[[], bool | None]
# A row an action: its id, keys and texts, and what does it.
Handlers = Mapping[Action, Handler]


class Registry:
    """The handlers of all commands; of one action, those that were added last are tried first."""

    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {}

    def add(self, handlers: Handlers) -> None:
        """Put these before all that are there."""
        for action, handler in handlers.items():
            self._handlers.setdefault(action.id, []).insert(0, handler)

    def perform(self, action_id: str) -> bool:
        """Have the first do it that can; False when there is no such command now."""
        return any(handler() is not False for handler in self._handlers.get(action_id, ()))

    def __contains__(self, action_id: str) -> bool:
        return action_id in self._handlers

    def __iter__(self) -> Iterator[str]:
        return iter(self._handlers)
