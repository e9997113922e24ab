"""A set of rules over columns: one after the other, what they share worked out once, in small steps."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from time import thread_time_ns
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from accelwatch.base.slices import LongWork
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.names import Type
from accelwatch.fleet.rules.columns.columns import Columns
from accelwatch.fleet.rules.vectors.narrowing import Narrowing, narrowing
from accelwatch.fleet.rules.vectors.tick import Condition, Number, Tick
from accelwatch.fleet.rules.vectors.truths import Truths, compared
from accelwatch.fleet.rules.vectors.vector import Generator
from accelwatch.fleet.table.belief import Bools, Floats

Name = TypeVar("Name", bound=Hashable)


class Verdicts(NamedTuple, Generic[Name]):
    """A condition over all rows."""

    name: Name
    truths: Truths


class _Ready(NamedTuple):
    """A condition that can be worked out."""

    rule: RuleExpression
    condition: Condition
    narrowing: Narrowing

    def truths(self, tick: Tick) -> Truths:
        """By row."""
        with np.errstate(all="ignore"):
            return tick.rows(self.condition(tick))

    def true(self, tick: Tick, among: Bools) -> Bools:
        """Where it is true among some rows."""
        if not np.count_nonzero(among):
            return among
        with np.errstate(all="ignore"):
            return self.narrowing(tick, among)


class Program(Generic[Name]):
    """Conditions under names; equal parts of them are worked out once a tick."""

    def __init__(
        self,
        rules: Mapping[Name, RuleExpression],
        clock_ns: Callable[[], int] = thread_time_ns,
    ) -> None:
        """`clock_ns` is what costs are counted by: processor time of this thread."""
        generator = Generator()
        self._clock_ns = clock_ns
        self._rules = {name: _ready(generator, rule) for name, rule in rules.items()}

    @property
    def names(self) -> Iterable[Name]:
        """Of its conditions, in their order."""
        return self._rules.keys()

    def run(
        self,
        columns: Columns,
        requested: Iterable[Name] | None = None,
        among: Callable[[Name], Bools | None] = lambda _: None,
    ) -> Iterator[Verdicts[Name]]:
        """The rules that are `requested`, or all, one after the other; the cost of each is counted.

        For a rule for which `among` gives rows, the verdicts say where among them it is true, and not
        where it is false, which costs much less where it is true of none.
        Between two of them others may go on, as long as the rows stay what they are.
        """
        tick, nowhere = Tick(columns, {}, {}), np.zeros(columns.size, dtype=np.bool_)
        for name in self._rules if requested is None else requested:
            ready = self._rules[name]
            started_ns = self._clock_ns()
            rows = among(name)
            truths = ready.truths(tick) if rows is None else Truths(ready.true(tick, rows), nowhere)
            ready.rule.cost.add(self._clock_ns() - started_ns, columns.size)
            yield Verdicts(name, truths)

    async def tick(self, columns: Columns, work: LongWork) -> list[Verdicts[Name]]:
        """All of them, with rests."""
        verdicts: list[Verdicts[Name]] = []
        for verdict in self.run(columns):
            verdicts.append(verdict)
            await work.yield_control()
        return verdicts


def _ready(generator: Generator, rule: RuleExpression) -> _Ready:
    condition = _condition(generator, rule)
    return _Ready(rule, condition, narrowing(generator, rule.tree, condition))


def _condition(generator: Generator, rule: RuleExpression) -> Condition:
    if rule.type is Type.FLAG:
        number = generator.number(rule.tree)
        return lambda tick: compared("!=", number(tick), np.zeros(()))
    return generator.condition(rule.tree)


def column_of(rule: RuleExpression, columns: Columns) -> Floats:
    """The numbers of an expression by row, such as evidence that is shown; NaN where missing."""
    number: Number = Generator().number(rule.tree)
    with np.errstate(all="ignore"):
        return np.broadcast_to(number(Tick(columns, {}, {})), columns.size)
