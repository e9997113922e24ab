"""Rules on one snapshot: which hold now, and which need more than one. It keeps no state."""

import msgspec

from accelwatch.agent.rules.rule_evaluator import NodeRuleEvaluator
from accelwatch.alerting.rules.document import Scope, Severity
from accelwatch.alerting.rules.engine import Subject, is_meant, truths_of
from accelwatch.alerting.rules.evidence import evidence_of
from accelwatch.alerting.rules.loading.file_loader import Concerned
from accelwatch.alerting.rules.rule import Rule, RuleSet
from accelwatch.expr.evaluation_context import Device
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.rule_history import HOST
from accelwatch.expr.vocabulary.kleene import UNKNOWN
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.health import SIGNALS, Health
from accelwatch.schema.metrics import Kind, Series
from accelwatch.schema.snapshot import Snapshot


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong now."""

    severity: Severity
    # Its name; empty for the node.
    device: str = ""
    title: str
    # What it rests on.
    text: str = ""
    rule: str = ""
    what_to_do: str = ""


class SnapshotCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result of rules on one snapshot."""

    findings: tuple[Finding, ...] = ()
    # Rules on numbers that hold now and count only when they have held for a while.
    pending: tuple[str, ...] = ()
    # Rules with windows or events that one snapshot cannot decide.
    unknown: tuple[str, ...] = ()


def check_snapshot(snapshot: Snapshot, loaded: RuleSet, *, listened: bool) -> SnapshotCheck:
    """Judge a snapshot once; who has `listened` knows the events of before."""
    evaluator = NodeRuleEvaluator(loaded.rules, 1.0, listened=listened, patience_s=0.0)
    subjects = evaluator.subjects(evaluator.context(snapshot, snapshot.time))
    names = {view.device.id: view.device.name for view in snapshot.devices}
    failed = {view.device.id for view in snapshot.devices if view.health is Health.FAILED}
    findings: list[Finding] = []
    pending: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for rule in evaluator.rules.values():
        for subject in subjects.get(rule.scope, ()):
            truths = truths_of(rule, subject.environment, is_meant(rule, subject.environment))
            if truths.when is True and truths.confirm is True:
                if rule.timing.for_s <= 0:
                    findings.append(_finding(rule, subject, names, Severity.CRITICAL))
                elif _is_latched(rule):
                    most = _most(subject.entity.device in failed)
                    findings.append(_finding(rule, subject, names, most))
                else:
                    pending[rule.id] = None
            elif UNKNOWN in (truths.when, truths.confirm) and _needs_history(rule):
                unknown[rule.id] = None
    return SnapshotCheck(findings=tuple(findings), pending=tuple(pending), unknown=tuple(unknown))


def concerned(snapshot: Snapshot) -> Concerned:
    """Whether somebody may be meant by a rule's selection: the node, or a device of it."""
    context = NodeRuleEvaluator({}, 1.0, patience_s=0.0).context(snapshot, snapshot.time)
    here = {Scope.DEVICE: context.members, Scope.NODE: (Device(context, HOST),)}

    def meant(scope: Scope, select: RuleExpression | None) -> bool:
        who = here.get(scope, ())
        return any(select is None or select.evaluate(candidate) is not False for candidate in who)

    return meant


def _needs_history(rule: Rule) -> bool:
    expressions = (rule.when, rule.confirm)
    return any(
        expression is not None and (expression.needs.windows or expression.needs.events)
        for expression in expressions
    )


def _is_latched(rule: Rule) -> bool:
    """Whether a rule reads only states that a device or driver latches, not numbers.

    No second snapshot could confirm them, so they count although the rule sets a time.
    What a rule says of `health` alone, the device itself says in more words (`own_health`).
    """
    needs = rule.when.needs
    if needs.windows or needs.events or needs.groups or needs.rules:
        return False
    states = all(series in _SIGNALS or _is_state(series) for series in needs.series)
    return states and bool(needs.series)


def _is_state(series: Series) -> bool:
    row = by_key().get(series[0])
    return row is not None and row.kind in (Kind.INFO, Kind.STATE)


_SIGNALS = frozenset(series for series, _, _ in SIGNALS)


def _most(has_failed: bool) -> Severity:
    """How severe a rule may be before its time is over: such a state may pass, but for a failure."""
    return Severity.CRITICAL if has_failed else Severity.WARNING


def _finding(rule: Rule, subject: Subject, names: dict[str, str], most: Severity) -> Finding:
    evidence = evidence_of(rule, subject.environment)
    trusted = not evidence or any(line.trusted for line in evidence)
    device = subject.entity.device if rule.scope is Scope.DEVICE else HOST
    severity = min(rule.severity, most, key=lambda level: level.weight)
    return Finding(
        severity=severity if trusted else Severity.INFO,
        device=names.get(device, device),
        title=rule.title,
        text=evidence[0].text if evidence else "",
        rule=rule.id,
        what_to_do=rule.what_to_do,
    )
