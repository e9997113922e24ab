"""How far each rule has come on each entity, whoever judges them: one by one, or in columns."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import AlertState, Phase, Transition, Truths, advance
from accelwatch.alerting.rules.verdict import Entity, Justification, VerdictChange
from accelwatch.expr.vocabulary.kleene import UNKNOWN

# What a rule that fires rests on.
Witness = Callable[[Entity], Justification]

_UNSEEN = Truths(when=UNKNOWN)
# So long is waited for somebody who has gone, unless `unknown_after` is longer.
_ABSENT_S = 86_400.0


class AlertStates:
    """The alert states of a set of rules."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._digests = {id_: rule.digest for id_, rule in rules.items()}
        self._states: dict[str, dict[Entity, AlertState]] = {}

    def set_rules(self, rules: Mapping[str, Rule]) -> None:
        """Replace the rules; alert states of rules with the same digest go on."""
        digests = {id_: rule.digest for id_, rule in rules.items()}
        for id_ in list(self._states):
            # By digest, not by id: an edited rule starts over, a file that was only moved or
            # reformatted does not.
            if digests.get(id_) != self._digests.get(id_):
                del self._states[id_]
        self._digests = digests

    def of(self, rule: str) -> Mapping[Entity, AlertState]:
        """The alert states of a rule, by entity."""
        return self._states.get(rule, {})

    @property
    def active_rules(self) -> frozenset[str]:
        """Rules that are pending, firing or clearing on any entity."""
        return frozenset([id_ for id_, states in self._states.items() if states])

    def is_firing(self, rule: str, entity: Entity) -> bool | None:
        """Whether a rule fires on an entity; None where there is no such rule."""
        if rule not in self._digests:
            return None
        state = self.of(rule).get(entity)
        return state is not None and state.phase is not Phase.PENDING

    def firing(self, rule: str) -> Iterable[Entity]:
        """Where a rule fires."""
        return (
            entity for entity, state in self.of(rule).items() if state.phase is not Phase.PENDING
        )

    def blind(self, rule: Rule) -> int:
        """On how many entities an active rule has been unknown for too long."""
        limit_s = rule.timing.unknown_after_s
        return sum(state.unknown_s > limit_s for state in self.of(rule.id).values())

    def restore(self, rule: str, entity: Entity, since: float) -> None:
        """A rule fired on an entity before this process began; `since` in monotonic seconds."""
        if rule in self._digests:
            # FIRING, not PENDING: the incident is open, and a restart must not close it or open it
            # twice.
            state = AlertState(phase=Phase.FIRING, since=since, last=since)
            self._states.setdefault(rule, {})[entity] = state

    def advance(
        self,
        rule: Rule,
        evaluated: Mapping[Entity, Truths],
        now: float,
        wall: float,
        witness: Witness,
    ) -> list[VerdictChange]:
        """What a tick has changed of one rule; `now` in monotonic seconds, `wall` in Unix seconds.

        `evaluated` has all entities whose condition holds or that have a state; one that has a state and
        is not in it is not there, which is unknown and not healthy.
        """
        steps = self.steps(rule, evaluated, now, wall, witness)
        return [change for change in steps if change is not None]

    def steps(
        self,
        rule: Rule,
        evaluated: Mapping[Entity, Truths],
        now: float,
        wall: float,
        witness: Witness,
    ) -> Iterator[VerdictChange | None]:
        """The same an entity at a time, whether something has changed of it or not."""
        visited: set[Entity] = set()
        states = self._states.setdefault(rule.id, {})
        # Entities with a state first appear in `evaluated` or, if they are gone, in `states` only.
        # A copy, because the loop deletes from `states`.
        for entity in itertools.chain(evaluated, tuple(states)):
            if entity in visited:
                yield None  # of ten thousand this is long work too
                continue
            visited.add(entity)
            had = states.get(entity)
            state, transition = advance(had, evaluated.get(entity, _UNSEEN), now, rule.timing)
            is_forgotten = entity not in evaluated and state is not None and _is_over(state, rule)
            if state is not None and not is_forgotten:
                states[entity] = state
            elif had is not None:
                del states[entity]
            if transition is None:
                yield None
                continue
            started = next(candidate.since for candidate in (had, state) if candidate is not None)
            justification = witness(entity) if transition is Transition.FIRED else Justification()
            yield VerdictChange(
                rule=rule.id,
                entity=entity,
                transition=transition,
                time=wall,
                since=wall - (now - started),
                evidence=justification.evidence,
                provenance=justification.provenance,
            )


def _is_over(state: AlertState, rule: Rule) -> bool:
    """Whether a pending state on an absent entity is dropped; if it returns, it starts over."""
    wait_s = max(_ABSENT_S, rule.timing.unknown_after_s)
    return state.phase is Phase.PENDING and state.unknown_s > wait_s
