"""How far each rule has come on each entity, whoever judges them: one by one, or in columns."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Phase, Spell, Transition, Truths, advance
from accelwatch.alerting.rules.verdict import Entity, Grounds, VerdictChange
from accelwatch.expr.vocabulary.kleene import UNKNOWN

Witness = Callable[[Entity], Grounds]
"""What a rule that fires rests on."""

_UNSEEN = Truths(when=UNKNOWN)
_GONE_S = 86_400.0
"""So long is waited for somebody who has gone, unless `unknown_after` is longer."""


class Spells:
    """The spells of a set of rules."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._digests = {id_: rule.digest for id_, rule in rules.items()}
        self._spells: dict[str, dict[Entity, Spell]] = {}

    def set_rules(self, rules: Mapping[str, Rule]) -> None:
        """Other rules from now on; what has begun by a rule that says the same still goes on."""
        digests = {id_: rule.digest for id_, rule in rules.items()}
        for id_ in list(self._spells):
            if digests.get(id_) != self._digests.get(id_):
                del self._spells[id_]
        self._digests = digests

    def of(self, rule: str) -> Mapping[Entity, Spell]:
        """Where a rule has begun."""
        return self._spells.get(rule, {})

    @property
    def begun(self) -> frozenset[str]:
        """Rules that have begun on anybody."""
        return frozenset([id_ for id_, spells in self._spells.items() if spells])

    def is_firing(self, rule: str, entity: Entity) -> bool | None:
        """Whether a rule fires on an entity; None where there is no such rule."""
        if rule not in self._digests:
            return None
        spell = self.of(rule).get(entity)
        return spell is not None and spell.phase is not Phase.PENDING

    def firing(self, rule: str) -> Iterable[Entity]:
        """Where a rule fires."""
        return (one for one, spell in self.of(rule).items() if spell.phase is not Phase.PENDING)

    def blind(self, rule: Rule) -> int:
        """On how many entities nothing has been known of a rule that has begun for too long."""
        limit_s = rule.timing.unknown_after_s
        return sum(spell.unknown_s > limit_s for spell in self.of(rule.id).values())

    def restore(self, rule: str, entity: Entity, since: float) -> None:
        """A rule fired on an entity before this process began; `since` in monotonic seconds."""
        if rule in self._digests:
            spell = Spell(phase=Phase.FIRING, since=since, last=since)
            self._spells.setdefault(rule, {})[entity] = spell

    def advance(
        self, rule: Rule, judged: Mapping[Entity, Truths], now: float, wall: float, witness: Witness
    ) -> list[VerdictChange]:
        """What a tick has changed of one rule; `now` in monotonic seconds, `wall` in Unix seconds.

        `judged` has all entities whose condition holds or that have a spell; who has a spell and is not
        in it is not there, which is unknown and not healthy.
        """
        steps = self.steps(rule, judged, now, wall, witness)
        return [change for change in steps if change is not None]

    def steps(
        self, rule: Rule, judged: Mapping[Entity, Truths], now: float, wall: float, witness: Witness
    ) -> Iterator[VerdictChange | None]:
        """The same an entity at a time, whether something has changed of it or not."""
        told: set[Entity] = set()
        spells = self._spells.setdefault(rule.id, {})
        for entity in itertools.chain(judged, tuple(spells)):
            if entity in told:
                yield None  # of ten thousand this is long work too
                continue
            told.add(entity)
            had = spells.get(entity)
            spell, transition = advance(had, judged.get(entity, _UNSEEN), now, rule.timing)
            gone = entity not in judged and spell is not None and _is_over(spell, rule)
            if spell is not None and not gone:
                spells[entity] = spell
            elif had is not None:
                del spells[entity]
            if transition is None:
                yield None
                continue
            began = next(one.since for one in (had, spell) if one is not None)
            grounds = witness(entity) if transition is Transition.FIRED else Grounds()
            yield VerdictChange(
                rule=rule.id,
                entity=entity,
                transition=transition,
                time=wall,
                since=wall - (now - began),
                evidence=grounds.evidence,
                provenance=grounds.provenance,
            )


def _is_over(spell: Spell, rule: Rule) -> bool:
    """Whether what has only begun, on somebody who is not there, begins anew if he ever comes back."""
    wait_s = max(_GONE_S, rule.timing.unknown_after_s)
    return spell.phase is Phase.PENDING and spell.unknown_s > wait_s
