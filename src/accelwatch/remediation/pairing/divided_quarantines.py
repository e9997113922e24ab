"""Our holds by the journal, for each scheduler of a pair: those of its own steps, by its own names."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from accelwatch.action.contract import Action, ReceivesQuarantines
from accelwatch.action.intent import OwnerAnnotation
from accelwatch.remediation.pairing.prefixes import has_prefix
from accelwatch.remediation.pairing.shared_nodes import SharedNodes


@runtime_checkable
class Divisible(Protocol):
    """Holds of which is known by which steps they were set."""

    def narrowed(self, is_of: Callable[[str], bool]) -> Mapping[str, OwnerAnnotation]:
        """Those that steps of one scheduler have set; `is_of` gets a step's kind."""
        ...


class SecondQuarantines(Mapping[str, OwnerAnnotation]):
    """By the second scheduler's names of the nodes, as of each question."""

    def __init__(
        self, quarantines: Mapping[str, OwnerAnnotation], shared: Callable[[], SharedNodes]
    ) -> None:
        """`quarantines` by the first's names; `shared` is what the latest polls have shown."""
        self._quarantines = quarantines
        self._shared = shared

    def __getitem__(self, node: str) -> OwnerAnnotation:
        return self._quarantines[self._shared().first_names.get(node, node)]

    def __iter__(self) -> Iterator[str]:
        names = self._shared().names
        return (names.get(node, node) for node in self._quarantines)

    def __len__(self) -> int:
        return len(self._quarantines)


def divide(
    quarantines: Mapping[str, OwnerAnnotation],
    first: Action,
    second: tuple[str, Action],
    shared: Callable[[], SharedNodes],
) -> None:
    """Give each action its own holds.

    A node that only one of the two holds for us may be a person's on the other: what the other's steps
    have set says nothing of it.
    """
    name, other = second
    ours = theirs = quarantines
    if isinstance(quarantines, Divisible):
        ours = quarantines.narrowed(lambda key: not has_prefix(name, key))
        theirs = quarantines.narrowed(lambda key: has_prefix(name, key))
    if isinstance(first, ReceivesQuarantines):
        first.set_quarantines(ours)
    if isinstance(other, ReceivesQuarantines):
        other.set_quarantines(SecondQuarantines(theirs, shared))
