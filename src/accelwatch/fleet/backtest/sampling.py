"""What samples hide that lie far apart, and how groups are made all the same. Pure.

What begins on many nodes at one moment is seen on each at its next sample, so up to one interval apart.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from accelwatch.alerting.rules.rule import Rule

_MOST_NAMED = 6
RACK = "rack"
# What members of a group can have in common that an archive knows.
_SUPPORTED = frozenset({"node", "job", "model", "stage", "fleet", "labels.stage"})


def as_sampled(rules: Mapping[str, Rule], step_s: float) -> dict[str, Rule]:
    """The rules with the time within which many are one longer by an interval, in seconds."""
    return {id_: _as_sampled(rule, step_s) for id_, rule in rules.items()}


def _as_sampled(rule: Rule, step_s: float) -> Rule:
    if rule.group is None:
        return rule
    return replace(rule, group=replace(rule.group, within_s=rule.group.within_s + step_s))


def unseen(
    rules: Mapping[str, Rule], unjudged: Collection[str], step_s: float, *, has_events: bool
) -> Iterator[str]:
    """What the judged ones of these rules cannot see in an archive, a sentence each."""
    evaluated = {id_: rule for id_, rule in rules.items() if id_ not in unjudged}
    logged = [id_ for id_, rule in evaluated.items() if _reads_logs(rule)]
    but = ", unless the log has a line of them" if logged and has_events else ""
    yield f"a sample every {step_s:g} s: faults shorter than {step_s:g} s are not in this archive{but}"
    if logged and not has_events:
        yield (
            f"the archive has no events: what {_rules(logged)} would have found in logs is not seen"
        )
    racks = [
        id_ for id_, rule in evaluated.items() if rule.group is not None and rule.group.by == RACK
    ]
    if racks:
        yield (
            f"the archive has no racks: incidents of {_rules(racks)} are grouped as if all nodes "
            "were in one, and a storm in one rack needs ten nodes"
        )
    strange: dict[str, list[str]] = {}
    for id_, rule in evaluated.items():
        if rule.group is not None and rule.group.by not in (*_SUPPORTED, RACK):
            strange.setdefault(rule.group.by, []).append(id_)
    for by, ids in strange.items():
        yield f"the archive does not know {by}: incidents of {_rules(ids)} are not grouped by it"


def _reads_logs(rule: Rule) -> bool:
    return any(expression.needs.events for expression in rule.expressions)


def _rules(ids: Collection[str]) -> str:
    """`1 rule (a)`, `8 rules (a, b, c, d, e, f and 2 more)`."""
    named = ", ".join(list(ids)[:_MOST_NAMED])
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{len(ids)} rule{'' if len(ids) == 1 else 's'} ({named}{more})"
