"""What the server needs of the store and of an exposition format; runtime puts the real ones in."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Snapshot

Own = Mapping[tuple[str, ...], Number]
Histograms = Mapping[str, tuple[tuple[int, ...], float]]


class Feed(Protocol):
    """The store, as its readers see it."""

    @property
    def version(self) -> int:
        """Grows with every change."""
        ...

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after changes worth telling; returns its end."""
        ...


class Exposition(Protocol):
    """Makes one exposition."""

    def __call__(
        self,
        snapshot: Snapshot,
        *,
        profile: str,
        groups: Iterable[str],
        backends: Iterable[str],
        inventory: bool,
        openmetrics: bool,
        own: Own,
        own_histograms: Histograms,
    ) -> str:
        """The text. Raises UsageError for an unknown profile or group."""
        ...
