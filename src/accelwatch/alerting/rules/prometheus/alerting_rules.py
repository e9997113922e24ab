"""Rules as alerting rules of Prometheus, each with why it differs from ours, or why it cannot be one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from accelwatch.alerting.rules.document import Mode
from accelwatch.alerting.rules.rule import Rule
from accelwatch.expr.promql import Assumed, PromqlError, condition


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertingRule:
    """One alerting rule; durations in seconds."""

    # The id of our rule.
    alert: str
    expr: str
    for_s: float
    keep_firing_for_s: float
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    # What differs from our rule, and what it needs.
    notes: tuple[str, ...]
    file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Untranslated:
    """A rule that Prometheus cannot judge."""

    rule: str
    reason: str
    file: Path


def exported(rules: Mapping[str, Rule], assumed: Assumed) -> Iterator[AlertingRule | Untranslated]:
    """All rules in their order."""
    for rule in rules.values():
        try:
            if rule.mode is Mode.OFF:
                raise PromqlError("its mode is off")
            yield _alerting(rule, assumed)
        except PromqlError as error:
            yield Untranslated(rule=rule.id, reason=str(error), file=rule.origin.file)


def _alerting(rule: Rule, assumed: Assumed) -> AlertingRule:
    expressions = [(rule.when.text, rule.when.tree)]
    notes: list[str] = []
    if rule.confirm is not None:
        expressions.append((rule.confirm.text, rule.confirm.tree))
        notes.append(
            "confirm must hold for as long as the condition, and when it ends the alert ends"
        )
    if rule.clear is not None:
        notes.append("clear is not exported: the alert resolves when the condition is false")
    select = None if rule.select is None else rule.select.tree
    generated = condition(rule.scope.value, select, expressions, assumed)
    annotations = {
        "summary": rule.title,
        "description": rule.what_to_do,
        "runbook_url": rule.runbook,
        "source": rule.source,
    }
    return AlertingRule(
        alert=rule.id,
        expr=generated.text,
        for_s=rule.timing.for_s,
        keep_firing_for_s=rule.timing.keep_s,
        labels={"severity": rule.severity.value, "rule": rule.id, "scope": rule.scope.value},
        annotations={name: _plain(text) for name, text in annotations.items() if text},
        notes=(*notes, *generated.notes),
        file=rule.origin.file,
    )


def _plain(text: str) -> str:
    """Text in which Prometheus sees no template."""
    return text.replace("{{", '{{ "{{" }}')
