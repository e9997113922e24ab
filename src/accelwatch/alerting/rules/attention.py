"""Which rules must be worked out again at a tick: those that read something that has changed.

A rule that was not true, and of which nothing that it reads has changed, says the same as before.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.expr.checking.tree import (
    Affected,
    Event,
    Fold,
    Node,
    Peers,
    Reading,
    Window,
    children,
)
from accelwatch.expr.environment import Environment
from accelwatch.expr.needs import WindowNeed
from accelwatch.expr.vocabulary.events import EventUse
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

# The one field that is another at every moment.
_CHANGING = "sample_age_s"
_NEVER = float("-inf")

Atom = Series | WindowNeed
SeriesValues = Mapping[Series, Number]


class Reads(NamedTuple):
    """What the condition and the selection of a rule look at."""

    # Series whose current value is read, and windows.
    atoms: frozenset[Atom]
    events: tuple[Event, ...]
    # Whether what another device says matters too.
    everywhere: bool
    # Whether it may say something else at any moment.
    always: bool
    # Whether its selection asks for nothing but who somebody is.
    by_identity: bool


class ChangeSet:
    """What has changed since the tick before."""

    def __init__(self, attention: "Attention") -> None:
        self.attention = attention
        # Whether everything must be worked out.
        self.is_full = False
        # Who is somebody else than before, or has gone.
        self.moved: set[Entity] = set()
        # Rules that are due for everybody.
        self.everyone: set[str] = set()
        # For whom a rule is due.
        self.whom: dict[str, set[Entity]] = {}

    def change(self, atom: Atom, entity: Entity) -> None:
        """A value or a window of an entity is another."""
        for id_, everywhere in self.attention.readers.get(atom, ()):
            if everywhere:
                self.everyone.add(id_)
            else:
                self.whom.setdefault(id_, set()).add(entity)

    def note_events(self) -> None:
        """Events have been heard."""
        self.everyone |= self.attention.listeners


class Attention:
    """Who reads what, of a set of rules; the values of before by entity."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.reads = {id_: reads_of(rule) for id_, rule in rules.items()}
        # Rules that read an atom, each with whether it is then due for everybody.
        self.readers: dict[Atom, list[tuple[str, bool]]] = {}
        for id_, reads in self.reads.items():
            for atom in reads.atoms:
                everywhere = reads.everywhere or of_host(_series(atom))
                self.readers.setdefault(atom, []).append((id_, everywhere))
        self.listeners = frozenset(id_ for id_, reads in self.reads.items() if reads.events)
        series = [key for key in self.readers if isinstance(key, tuple)]
        self._of_host = [key for key in series if of_host(key)]
        self._of_device = [key for key in series if not of_host(key)]
        self._values: dict[Entity, list[Number | None]] = {}
        self._who: dict[Entity, object] = {}

    def compare(
        self,
        changed: ChangeSet,
        entity: Entity,
        who: object,
        value_maps: Sequence[SeriesValues],
        *,
        host: bool = False,
    ) -> None:
        """Compare an entity with before: who it is, and its values, the first that `value_maps` have."""
        if self._who.get(entity) != who:
            self._who[entity] = who
            changed.moved.add(entity)
        series = self._of_host if host else self._of_device
        first, *others = value_maps
        values = list(map(first.get, series))
        for other in others:
            values = [
                other.get(key) if value is None else value
                for key, value in zip(series, values, strict=True)
            ]
        before = self._values.get(entity)
        if before is None:
            changed.moved.add(entity)
        elif before != values:
            for key, old, new in zip(series, before, values, strict=True):
                if old != new:
                    changed.change(key, entity)
        self._values[entity] = values

    def forget(self, changed: ChangeSet, entity: Entity) -> None:
        """It is not there any more."""
        self._who.pop(entity, None)
        self._values.pop(entity, None)
        changed.moved.add(entity)


def reads_of(rule: Rule) -> Reads:
    """What a rule looks at."""
    nodes = list(_subtree(rule.when.tree))
    selecting = [] if rule.select is None else list(_subtree(rule.select.tree))
    all_nodes = [*nodes, *selecting]
    readings = [key for node in all_nodes if isinstance(node, Reading) for key in node.keys]
    windows = [
        WindowNeed(node.kind, key, node.seconds, node.quantile, node.of_job)
        for node in all_nodes
        if isinstance(node, Window)
        for key in node.reading.keys
        if isinstance(key, tuple)
    ]
    return Reads(
        atoms=frozenset([*(key for key in readings if isinstance(key, tuple)), *windows]),
        events=tuple(node for node in all_nodes if isinstance(node, Event)),
        everywhere=any(isinstance(node, Peers | Fold) for node in all_nodes),
        always=_CHANGING in readings or any(isinstance(node, Affected) for node in all_nodes),
        by_identity=not any(
            isinstance(node, Event | Window | Peers | Fold | Affected)
            or (isinstance(node, Reading) and not _is_identity(node))
            for node in selecting
        ),
    )


def _is_identity(reading: Reading) -> bool:
    return all(isinstance(key, str) and key != _CHANGING for key in reading.keys)


def _subtree(node: Node) -> Iterator[Node]:
    """A node and all its parts, without what a window is over."""
    yield node
    if not isinstance(node, Window):
        for child in children(node):
            yield from _subtree(child)


def _series(atom: Atom) -> Series:
    return atom if isinstance(atom, tuple) else atom.series


def may_change_by_itself(reads: Reads, environment: Environment) -> bool:
    """Whether what a rule says may be another later though nothing has happened."""
    if reads.always or not reads.events:
        return reads.always
    return any(_runs(event, environment) for event in reads.events)


def _runs(event: Event, environment: Environment) -> bool:
    """Whether an event is on its way from new to old."""
    if event.kind == EventUse.LAST:
        return False
    if event.kind == EventUse.COUNT:
        return bool(environment.occurrences(event.pattern, event.seconds))
    last = environment.last(event.pattern)
    if last is None or last == _NEVER:
        return False
    return event.kind != EventUse.HAPPENED or environment.now - last <= event.seconds
