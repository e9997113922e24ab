"""Rules over the whole fleet at once: columns say where a condition holds, and only there time is kept.

The condition and the selection of every rule are worked out for all devices in arrays; `confirm`,
`clear` and the evidence only for those few on which a rule has begun, one by one by the scalar code.
Whether the fleet is a live one or that of an archive, only its ground knows.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from time import thread_time_ns
from typing import NamedTuple

import numpy as np

from accelwatch.alerting.incidents.incident import Incident
from accelwatch.alerting.rules.budget import Budgets
from accelwatch.alerting.rules.document import Mode, Scope
from accelwatch.alerting.rules.provenance import grounds_of
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.spells import Spells
from accelwatch.alerting.rules.timing import Truths
from accelwatch.alerting.rules.verdict import Entity, Grounds, VerdictChange
from accelwatch.base.slices import LongWork
from accelwatch.expr.needs import Needs, window_bytes
from accelwatch.expr.vocabulary.kleene import UNKNOWN, Truth
from accelwatch.fleet.rules.dormancy import Dormancy, may_hold, never_told, without
from accelwatch.fleet.rules.ground import Ground
from accelwatch.fleet.rules.program import Program
from accelwatch.fleet.rules.row import Row
from accelwatch.fleet.rules.suspects import suspects
from accelwatch.fleet.rules.truths import Truths as Columns
from accelwatch.fleet.table.belief import Bools
from accelwatch.fleet.table.windows import WindowsError
from accelwatch.schema.metrics import Series

_SHOWN = 3
_AT_ONCE = 8
"""Entities of a rule that are judged without a rest."""
_OVER = Truths(when=False, clear=True)


class _Part(NamedTuple):
    """A condition of the program."""

    rule: str
    selects: bool


class FleetJudge:
    """The verdicts of a set of rules on a fleet; the loop's thread only."""

    def __init__(
        self,
        ground: Ground,
        rules: Mapping[str, Rule],
        spells: Spells | None = None,
        budgets: Budgets | None = None,
        clock_ns: Callable[[], int] = thread_time_ns,
        *,
        others: Needs | None = None,
    ) -> None:
        """`clock_ns` is what the costs of rules are counted by, `others` what is asked besides rules.

        Raises WindowsError when the windows of the rules take too much memory.
        """
        self._ground, self._clock_ns = ground, clock_ns
        self.rules = {id_: rule for id_, rule in rules.items() if rule.mode is not Mode.OFF}
        self.spells = Spells(self.rules) if spells is None else spells
        self.spells.set_rules(self.rules)
        self.budgets = budgets or Budgets()
        """What they may cost."""
        needs = needs_of(self.rules.values())
        self._absent = ground.absent(needs.series)
        self.unjudged = never_true(self.rules, self._absent)
        """Rules that ask for what nobody will ever tell."""
        judged = [rule for id_, rule in self.rules.items() if id_ not in self.unjudged]
        try:
            wanted = needs_of(judged) if others is None else needs_of(judged) | others
            self.columns = ground.columns(wanted, self._fires)
        except WindowsError as error:
            raise WindowsError(f"{error}; those who ask for most: {_dearest(judged)}") from error
        self._asked_for = sorted(needs_of(judged).rules)
        """Rules whose firing others ask for."""
        self._dormancy = Dormancy({rule.id: rule for rule in judged}, self._absent)
        self._now = self._wall = 0.0
        """Monotonic and Unix seconds of this tick."""
        self._fired: dict[str, Bools] = {}
        self._off: frozenset[str] = frozenset()
        self._asked: list[_Part] = []
        self._stamp: object = None
        """Of what they follow from."""
        self._program = self._compiled()

    def _compiled(self) -> Program[_Part]:
        parts = {}
        self._off = frozenset(self.budgets.switched_off)
        for id_, rule in self.rules.items():
            if id_ not in self._off and id_ not in self.unjudged:
                if rule.select is not None:
                    parts[_Part(id_, True)] = without(rule.select, self._absent)
                parts[_Part(id_, False)] = without(rule.when, self._absent)
        return Program(parts, self._clock_ns)

    def close(self) -> None:
        """Let go of the windows."""
        self.columns.close()

    async def tick(self, work: LongWork) -> list[VerdictChange]:
        """What has changed since the tick before."""
        if self._off != self.budgets.switched_off.keys():
            self._program, self._stamp = self._compiled(), None
        await self.columns.bring(work)
        self._now, self._wall = self._ground.monotonic(), self._ground.wall()
        self._fired = {id_: self._rows_of(id_) for id_ in self._asked_for}
        changes: list[VerdictChange] = []
        selected: Columns | None = None
        asked = self._parts_asked()

        def among(part: _Part) -> Bools | None:
            """Of a rule that has begun on nobody it is enough to know where it is true."""
            if self.spells.of(part.rule):
                return None
            return self.columns.here if selected is None else self.columns.here & selected.true

        spent_ns, begun = 0, self._clock_ns()
        for part, truths in self._program.run(self.columns, asked, among):
            spent_ns += self._clock_ns() - begun
            if part.selects:
                selected, begun = truths, self._clock_ns()
                continue
            # What it costs to tell of those on which it fires is no fault of the rule.
            self.budgets.spent(part.rule, spent_ns)
            if np.count_nonzero(truths.true) or self.spells.of(part.rule):
                changes += await self._judge(self.rules[part.rule], selected, truths, work)
            selected = None
            await work.rest()
            spent_ns, begun = 0, self._clock_ns()
        return changes

    def _parts_asked(self) -> list[_Part]:
        """Conditions of rules that may hold, or have begun on somebody."""
        awake, begun = self._dormancy.awake(self.columns), self.spells.begun
        stamp = self._dormancy.version, begun
        if stamp != self._stamp:
            parts = self._program.names
            self._asked = [one for one in parts if awake[one.rule] or one.rule in begun]
            self._stamp = stamp
        return self._asked

    async def _judge(
        self, rule: Rule, selected: Columns | None, when: Columns, work: LongWork
    ) -> list[VerdictChange]:
        """The changes of one rule; where it has begun on many, others have their turn between them."""
        meant = when.true if selected is None else when.true & selected.true
        rows = np.flatnonzero(meant & self.columns.here)
        judged: dict[Entity, Truths] = {}
        places: dict[Entity, int] = {}
        concerned = itertools.chain(self._begun(rule), self._ground.entities(rule.scope, rows))
        for count, (entity, row) in enumerate(concerned):
            if entity not in places:
                places[entity] = row
                judged[entity] = self._truths(rule, selected, when, row)
            await self._pause(count, work)
        judged.update(dict.fromkeys(self._ended(rule), _OVER))

        def witness(entity: Entity) -> Grounds:
            return grounds_of(rule, Row(self.columns, places[entity]))

        changes: list[VerdictChange] = []
        steps = self.spells.steps(rule, judged, self._now, self._wall, witness)
        for count, change in enumerate(steps):
            if change is not None:
                changes.append(change)
            await self._pause(count, work)
        return changes

    @staticmethod
    async def _pause(count: int, work: LongWork) -> None:
        if count % _AT_ONCE == _AT_ONCE - 1:
            await work.rest()

    def _truths(self, rule: Rule, selected: Columns | None, when: Columns, row: int) -> Truths:
        meant = True if selected is None else _at(selected, row)
        if meant is False:
            # Who is no longer meant is over; whether one is meant that cannot be told is unknown.
            return _OVER
        environment = Row(self.columns, row)
        return Truths(
            when=_at(when, row) if meant is True else UNKNOWN,
            confirm=True if rule.confirm is None else rule.confirm.evaluate(environment),
            clear=None if rule.clear is None else rule.clear.evaluate(environment),
        )

    def _begun(self, rule: Rule) -> Iterator[tuple[Entity, int]]:
        """Entities on which a rule has begun and that are there, each with a row."""
        for entity in tuple(self.spells.of(rule.id)):
            row = self.row_of(entity)
            if row is not None and row < self.columns.size and self.columns.here[row]:
                yield entity, row

    def _ended(self, rule: Rule) -> Iterator[Entity]:
        """Jobs that are known to be over: nothing of them goes on."""
        if rule.scope is Scope.JOB:
            yield from (one for one in self.spells.of(rule.id) if self._ground.has_ended(one.job))

    def row_of(self, entity: Entity) -> int | None:
        """The row that answers for an entity: of several the first."""
        return self._ground.row_of(entity, self.columns.here)

    def suspects(self, incident: Incident) -> Sequence[str]:
        """Nodes that may be to blame for what has befallen a job."""
        return suspects(self._ground, self.columns, incident)

    def device_id(self, node: str, name: str) -> str | None:
        """The id of a device by its name or id; None where there is none."""
        return self._ground.device_id(node, name)

    def _rows_of(self, rule: str) -> Bools:
        rows = np.zeros(self.columns.size, dtype=np.bool_)
        for entity in self.spells.firing(rule):
            row = self.row_of(entity)
            if row is not None and row < len(rows):
                rows[row] = True
        return rows

    def _fires(self, rule: str) -> Bools | None:
        """Where a rule fired when the tick began; None where there is no such rule."""
        if rule not in self.rules:
            return None
        fired = self._fired.get(rule)
        return np.zeros(self.columns.size, dtype=np.bool_) if fired is None else fired


def _dearest(rules: Iterable[Rule]) -> str:
    """The rules whose windows take most, with their places."""
    sizes = {rule.id: window_bytes(needs_of([rule]).windows, 1) for rule in rules}
    most = sorted(rules, key=lambda rule: (-sizes[rule.id], rule.id))[:_SHOWN]
    return ", ".join(f"{rule.id} ({rule.origin})" for rule in most)


def never_true(rules: Mapping[str, Rule], absent: Collection[Series]) -> tuple[str, ...]:
    """Those of the rules that ask for what nobody will ever tell."""
    facts = never_told(absent)
    return tuple(id_ for id_, rule in rules.items() if not may_hold(rule, facts))


def needs_of(rules: Iterable[Rule]) -> Needs:
    """What all of these look at."""
    found = Needs()
    for rule in rules:
        for expression in rule.expressions:
            found |= expression.needs
    return found


def _at(truths: Columns, row: int) -> Truth:
    if truths.true[row]:
        return True
    return False if truths.false[row] else UNKNOWN
