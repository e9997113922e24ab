"""Why a rule fires on an entity, or does not: every part of it with what it is now."""

from accelwatch.expr.environment import Environment
from accelwatch.expr.explain import Part, explain
from accelwatch.expr.kleene import MISSING, UNKNOWN, Truth
from accelwatch.judging.explanation import Explanation, PartRow
from accelwatch.rules.rule import Rule
from accelwatch.rules.spells import Spells
from accelwatch.rules.timing import Phase
from accelwatch.rules.verdict import Entity

_TRUTHS = {True: "true", False: "false", None: ""}


def explained(rule: Rule, entity: Entity, spells: Spells, environment: Environment) -> Explanation:
    """Every part of a rule on an entity."""
    spell = spells.of(rule.id).get(entity)
    wanted = {
        "select": rule.select,
        "when": rule.when,
        "confirm": rule.confirm,
        "clear": rule.clear,
    }
    return Explanation(
        rule=rule.id,
        entity=str(entity),
        phase="idle" if spell is None else spell.phase.value,
        held_s=None if spell is None or spell.phase is Phase.FIRING else spell.held_s,
        parts=tuple(
            _part(key, part)
            for key, expression in wanted.items()
            if expression is not None
            for part in explain(expression.text, expression.tree, environment)
        ),
    )


def _part(key: str, part: Part) -> PartRow:
    return PartRow(
        key=key,
        depth=part.depth,
        text=part.text,
        value=None if part.value is MISSING else part.value,
        truth=_word(part.truth),
        reason=part.reason,
    )


def _word(truth: Truth | None) -> str:
    return "unknown" if truth is UNKNOWN else _TRUTHS[truth]
