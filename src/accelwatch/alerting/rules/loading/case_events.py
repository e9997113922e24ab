"""Events of a rule's own tests: one that no rule can match would be a test that cannot fail."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from accelwatch.alerting.rules.document import CaseDocument
from accelwatch.alerting.rules.loading.checks import Section
from accelwatch.alerting.rules.rule import Rule
from accelwatch.base.durations import seconds
from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest, unknown_key
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.event_match import depends_on, kind_of, matcher
from accelwatch.expr.rule import RuleExpression
from accelwatch.expr.vocabulary.events import EVENT_KINDS
from accelwatch.schema.event import Category, ErrorEvent

EVENT_KEYS = frozenset({"at", "age", "code", "category", "text", "trusted", "subject"})
# Fields that predicates read and an event of a test leaves out; `source` cannot be given.
_OPTIONAL = frozenset({"category", "text", "subject"})
_BOOT = "boot"


def check_events(
    tests: Iterable[CaseDocument], expressions: Iterable[RuleExpression], section: Section
) -> None:
    """Complain of each event of a rule's tests that is misshapen or that no rule can match."""
    kinds = {pattern.kind for pattern in _patterns(expressions)}
    for at, case in enumerate(tests):
        for entry_at, entry in enumerate(case.given):
            events = entry.get("events", [])
            written = section.at("tests", at, "given", entry_at)
            if not isinstance(events, list):
                written.complain("events", "a list is expected, such as [{at: 30s, code: xid_79}]")
                continue
            for event_at, event in enumerate(events):
                _check(event, kinds, written.at("events"), event_at)


def _check(event: object, kinds: Collection[str], events: Section, at: int) -> None:
    if not isinstance(event, dict):
        events.complain(at, "a mapping is expected, such as {at: 30s, code: xid_79}")
        return
    section = events.at(at)
    for key in event:
        if key not in EVENT_KEYS:
            section.complain(key, unknown_key(str(key), EVENT_KEYS))
    if event.get("code") == _BOOT:
        section.complain(
            "code",
            "no rule matches an event of a boot, which is read from the uptime; remove it and write "
            'the uptime of the node: values: {host_uptime_seconds: "9000+10 x30, 0+10 x30"}',
        )
        return
    if "at" not in event:
        section.complain("at", "is missing; write at: 30s for one reported 30 s from the start")
    if "code" not in event:
        section.complain("code", "is missing; write for example code: xid_79")
    elif why := _why_unmatched(str(event["code"]), kinds):
        section.complain("code", why)
    _check_values(event, section)


def _check_values(event: Mapping[str, Any], section: Section) -> None:
    for key in ("at", "age"):
        try:
            seconds(str(event.get(key, 0)))
        except UsageError as error:
            section.complain(key, str(error))
    if event.get("category", Category.OTHER) not in list(Category):
        section.complain("category", f"is one of {', '.join(Category)}")


def _why_unmatched(code: str, kinds: Collection[str]) -> str:
    """Why no event(...) of a rule with these kinds can match the code; empty if one can."""
    kind = kind_of(code)
    if kind is not None and kind.numbered and not code.rpartition("_")[2].isdecimal():
        return f"{code[:60]!r} has no number; write for example {kind.name}_79"
    if kind is None and "any" not in kinds:
        prefixes = [prefix for each in EVENT_KINDS.values() for prefix in each.codes]
        close = nearest(code.lower(), prefixes)
        hint = f"did you mean {close}?" if close else f"codes begin with {', '.join(prefixes)}"
        return f"no kind of event has the code {code[:60]!r}; {hint}"
    return ""


def incomplete_events(rule: Rule) -> Iterator[str]:
    """A line for each event of a test that matches nothing for want of a field that the rule reads."""
    patterns = _patterns(rule.expressions)
    for case in rule.tests:
        for entry_at, entry in enumerate(case.given):
            for event_at, written in enumerate(entry.get("events", [])):
                if lacking := _lacking(written, patterns):
                    where = f"tests[{case.name!r}].given[{entry_at}].events[{event_at}]"
                    yield (
                        f"{where}: {written['code']} matches nothing without {' and '.join(lacking)}, "
                        f"which the rule reads; add {lacking[0]}"
                    )


def _lacking(written: Mapping[str, Any], patterns: Collection[EventPattern]) -> list[str]:
    """The fields without which an event matches no pattern, where it would by what it gives."""
    event = ErrorEvent(
        code=str(written["code"]),
        category=Category(written.get("category", Category.OTHER)),
        time=0.0,
        text=str(written.get("text", written["code"])),
        source="kernel_log",
        subject=str(written.get("subject", "")),
        trusted=bool(written.get("trusted", True)),
    )
    if any(matcher(pattern)(event) for pattern in patterns):
        return []
    left_out = _OPTIONAL - written.keys()
    return sorted({key for pattern in patterns for key in depends_on(pattern, event, left_out)})


def _patterns(expressions: Iterable[RuleExpression]) -> frozenset[EventPattern]:
    return frozenset(need.pattern for each in expressions for need in each.needs.events)
