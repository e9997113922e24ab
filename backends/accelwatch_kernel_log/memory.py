"""What is remembered from record to record, never more than a bounded number of entries."""

from collections import OrderedDict
from typing import Generic, TypeVar

_MAX_KEYS = 4096
V = TypeVar("V")


class Memory(Generic[V]):
    """A mapping that holds a bounded number of entries and forgets the oldest."""

    def __init__(self) -> None:
        # Bounded: the keys come from the kernel log, which anybody on the node can write into.
        self._entries: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        """The entry, or None."""
        return self._entries.get(key)

    def store(self, key: str, value: V) -> None:
        """Set an entry and make it the newest."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > _MAX_KEYS:
            self._entries.popitem(last=False)

    def pop(self, key: str) -> V | None:
        """Remove and return an entry, or None."""
        return self._entries.pop(key, None)
