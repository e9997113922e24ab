"""Which process judges which rules, where several do."""

from collections.abc import Collection, Mapping

from accelwatch.alerting.rules.rule import Rule
from accelwatch.schema.metrics import Series

# What a window and a group cost beside a condition, about.
_WINDOW, _GROUP = 10.0, 3.0
# A detector costs as much as half of the packs.
_DETECTOR = 400.0


def shares(
    rules: Mapping[str, Rule], unjudged: Collection[str], absent: Collection[Series], count: int
) -> list[list[str]]:
    """The ids of at most `count` shares that cost about the same; none is empty.

    Rules that read whether another one fires stay with it, and those that read the detector with each
    other. Those over the same series stay together, as far as may be, so that its windows are kept
    once. What is never true costs nothing, nor does a window over a series that is `absent`.
    """
    together = _together(rules)
    of = {id_: 0.0 if id_ in unjudged else _cost(rule, absent) for id_, rule in rules.items()}
    costs = [
        sum(of[id_] for id_ in ids) + _DETECTOR * any(rules[id_].needs_detector for id_ in ids)
        for ids in together
    ]
    result: list[list[str]] = [[]]
    each, filled = sum(costs) / count, 0.0
    for ids, cost in zip(together, costs, strict=True):
        # What would be more beyond the edge than before it begins the next share.
        if filled + cost / 2 > each * len(result) and result[-1] and len(result) < count:
            result.append([])
        result[-1] += ids
        filled += cost
    return [ids for ids in result if ids]


def _cost(rule: Rule, absent: Collection[Series]) -> float:
    needs = [expression.needs for expression in (rule.select, rule.when) if expression is not None]
    windows = sum(window.series not in absent for need in needs for window in need.windows)
    return len(needs) + _WINDOW * windows + _GROUP * sum(len(need.groups) for need in needs)


def _together(rules: Mapping[str, Rule]) -> list[list[str]]:
    """Rules that must not be parted, those over the same series next to each other."""
    of = {id_: [id_] for id_ in rules}
    detecting = next((id_ for id_, rule in rules.items() if rule.needs_detector), None)
    for id_, rule in rules.items():
        needs = {name for expression in rule.expressions for name in expression.needs.rules}
        if detecting is not None and rule.needs_detector:
            needs.add(detecting)
        for needed in needs & rules.keys():
            if of[needed] is not of[id_]:
                of[id_] += of[needed]
                of.update(dict.fromkeys(of[needed], of[id_]))
    groups = {id(ids): ids for ids in of.values()}
    return sorted(groups.values(), key=lambda ids: min(_sort_key(rules[id_]) for id_ in ids))


def _sort_key(rule: Rule) -> tuple[str, ...]:
    windows = [window.series for window in rule.when.needs.windows]
    return min(windows or [("",)])
