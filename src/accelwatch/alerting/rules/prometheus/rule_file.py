"""The rule file of Prometheus: a group for each of our files; what is not in it stands as a comment."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from accelwatch.alerting.rules.prometheus.alerting_rules import AlertingRule, Untranslated
from accelwatch.expr.promql.query import duration

_HEAD = """\
# Written by accelwatch rules export. What is not known is no series in Prometheus: an alert ends when
# its data end, while accelwatch keeps what it knows until it sees again.
"""


def rule_file(rules: Iterable[AlertingRule | Untranslated], *, keep: bool = True) -> str:
    """The YAML; without `keep` for servers before 2.42, which do not know `keep_firing_for`."""
    by_file: dict[Path, list[AlertingRule | Untranslated]] = {}
    for rule in rules:
        by_file.setdefault(rule.file, []).append(rule)
    lines = [_HEAD, "groups:\n"]
    names: set[str] = set()
    for file, group in by_file.items():
        lines += _group(_unused(file.stem, names), group, keep)
    if len(lines) == 2:
        lines[1] = "groups: []\n"
    return "".join(lines)


def _unused(stem: str, names: set[str]) -> str:
    name, number = f"accelwatch {stem}", 1
    while name in names:
        number += 1
        name = f"accelwatch {stem} {number}"
    names.add(name)
    return name


def _group(name: str, group: list[AlertingRule | Untranslated], keep: bool) -> Iterator[str]:
    yield f"- name: {_quoted(name)}\n"
    alerting = [entry for entry in group if isinstance(entry, AlertingRule)]
    yield "  rules:\n" if alerting else "  rules: []\n"
    for rule in group:
        yield from (
            _rule(rule, keep)
            if isinstance(rule, AlertingRule)
            else _comment(f"{rule.rule} is not here: {rule.reason}")
        )


def _rule(rule: AlertingRule, keep: bool) -> Iterator[str]:
    for note in rule.notes:
        yield from _comment(note)
    yield f"  - alert: {_quoted(rule.alert)}\n    expr: |-\n"
    yield "".join(f"      {line}\n" for line in rule.expr.splitlines())
    if rule.for_s:
        yield f"    for: {duration(rule.for_s)}\n"
    if rule.keep_firing_for_s and keep:
        yield f"    keep_firing_for: {duration(rule.keep_firing_for_s)}\n"
    yield from _mapping("labels", rule.labels)
    yield from _mapping("annotations", rule.annotations)


def _mapping(name: str, values: Mapping[str, str]) -> Iterator[str]:
    yield f"    {name}:\n"
    for key, value in values.items():
        yield f"      {key}: {_quoted(value)}\n"


def _comment(text: str) -> Iterator[str]:
    yield "".join(f"  # {line}\n" for line in text.splitlines())


def _quoted(text: str) -> str:
    """A string of JSON, which is one of YAML too."""
    return json.dumps(text, ensure_ascii=False)
