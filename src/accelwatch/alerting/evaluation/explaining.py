"""Why a rule fires on an entity, or does not: every part of it with what it is now."""

import math
from collections.abc import Iterable

from accelwatch.alerting.evaluation.explanation import Explanation, ExplanationRow
from accelwatch.alerting.rules.alert_states import AlertStates
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.evidence import worded
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.timing import Phase
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.base.errors import UnmetError
from accelwatch.base.names.nearest import nearest
from accelwatch.expr.environment import Environment
from accelwatch.expr.explain import Component, explain
from accelwatch.expr.vocabulary.kleene import MISSING, UNKNOWN, Truth

_MOST_OF_ID = 100
_EXAMPLES = {
    Scope.DEVICE: "n12/nvidia3",
    Scope.NODE: "n12",
    Scope.JOB: "job:4711",
    Scope.RACK: "rack:r7",
}
_TRUTHS = {True: "true", False: "false", None: ""}


def explained(
    rule: Rule, entity: Entity, alert_states: AlertStates, environment: Environment
) -> Explanation:
    """Every part of a rule on an entity."""
    state = alert_states.of(rule.id).get(entity)
    conditions = {
        "select": rule.select,
        "when": rule.when,
        "confirm": rule.confirm,
        "clear": rule.clear,
    }
    return Explanation(
        rule=rule.id,
        entity=str(entity),
        phase="idle" if state is None else state.phase.value,
        phase_s=None if state is None or state.phase is Phase.FIRING else state.phase_s,
        mode=rule.mode.value,
        confidence=rule.confidence.value,
        act_on=rule.act_on.value,
        components=tuple(
            _row(key, component)
            for key, expression in conditions.items()
            if expression is not None
            for component in explain(expression.text, expression.tree, environment)
        ),
    )


def no_such_rule(id_: str, existing: Iterable[str]) -> UnmetError:
    """That no rule of this id is in force, and which one may be meant."""
    close = nearest(id_[:_MOST_OF_ID], list(existing))
    hint = f"; did you mean {close}?" if close else ""
    return UnmetError(f"no rule {id_[:_MOST_OF_ID]!r} is in force{hint}")


def wrong_scope(rule: Rule, entity: Entity) -> UnmetError:
    """That a rule is not about such an entity, and how to name one that it is about."""
    return UnmetError(
        f"{rule.id} has no {entity.scope} to evaluate: it is about a {rule.scope}, "
        f"such as {_EXAMPLES[rule.scope]}"
    )


def _row(key: str, component: Component) -> ExplanationRow:
    return ExplanationRow(
        key=key,
        depth=component.depth,
        text=component.text,
        value=None if component.value is MISSING else component.value,
        truth=_truth_text(component.truth),
        reason=component.reason,
        shown=_shown(component),
    )


def _shown(component: Component) -> str:
    """`412 W`, `0.95 (95%)`: in base units, which the rule is written in, and as people see it."""
    value = component.value
    if isinstance(value, bool) or not isinstance(value, int | float) or component.truth is not None:
        return ""
    plain, shown = f"{value:.6g}", worded(component.node, value)
    if "%" in shown:
        return f"{plain} ({shown})"
    number, _, unit = shown.partition(" ")
    if not unit or number == plain:
        return shown if unit else plain
    same = math.isclose(float(number), value, rel_tol=0.05) if _is_number(number) else False
    return f"{plain} {unit}" if same else f"{plain} ({shown})"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _truth_text(truth: Truth | None) -> str:
    return "unknown" if truth is UNKNOWN else _TRUTHS[truth]
