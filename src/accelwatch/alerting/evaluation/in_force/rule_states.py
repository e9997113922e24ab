"""How the rules in force stand: on whom they fire, where they are blind, which are switched off."""

from accelwatch.alerting.evaluation.evaluator import Evaluator
from accelwatch.alerting.evaluation.explanation import Explanation
from accelwatch.schema.reading import Number


class RuleStates:
    """For pages and metrics, as of the last tick; the loop's thread only."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def explain(self, rule: str, entity: str) -> Explanation:
        """A rule on an entity by its name, now. Raises UnmetError."""
        return self._evaluator.explain(rule, entity)

    def switched_off(self, rule: str) -> str:
        """Why a rule is not evaluated any more; empty if it is."""
        return self._evaluator.budgets.switched_off.get(rule, "")

    def blind(self) -> dict[str, int]:
        """On how many entities each active rule has no data any more, whether it fires or not."""
        states = self._evaluator.alert_states
        return {id_: states.blind(rule) for id_, rule in sorted(self._evaluator.rules.items())}

    def series(self) -> dict[tuple[str, ...], Number]:
        """On how many entities each rule fires, and on how many it is blind."""
        states = self._evaluator.alert_states
        firing: dict[tuple[str, ...], Number] = {
            ("rule_firing", id_, rule.severity.value): sum(1 for _ in states.firing(id_))
            for id_, rule in sorted(self._evaluator.rules.items())
        }
        return {**firing, **{("rule_blind", id_): count for id_, count in self.blind().items()}}
