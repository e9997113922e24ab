"""What a condition can come to while some series are told by nobody and some events were not heard."""

import pytest

from accelwatch.expr.checking.tree import Event
from accelwatch.expr.outcomes import ANY, Facts, Outcomes, outcomes, pruned
from accelwatch.expr.rule import compile_rule
from accelwatch.expr.vocabulary.kleene import UNKNOWN

NEVER, ALWAYS, UNSURE = frozenset({False}), frozenset({True}), frozenset({UNKNOWN})
NEVER_TRUE, NEVER_FALSE = frozenset({False, UNKNOWN}), frozenset({True, UNKNOWN})


def is_quiet(event: Event) -> bool:
    return event.pattern.kind == "xid"


FACTS = Facts(
    absent={("memory_used_bytes",), ("performance_state",), ("partitioning_enabled",)},
    has_no_event=is_quiet,
    values={"vendor": {"nvidia"}},
)


def of(when: str) -> Outcomes:
    return outcomes(compile_rule(when).tree, FACTS)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("power_watts > 5", ANY),
        ("ecc_enabled", ANY),
        ("partitioning_enabled", UNSURE),
        ("memory_used_bytes > 0.5", UNSURE),
        ("memory_used_bytes == power_watts", UNSURE),
        ("not memory_used_bytes > 0.5", UNSURE),
        ('avg(memory_used_bytes, "5m") > 0.5', UNSURE),
        ("power_watts > 5 and memory_used_bytes > 0.5", NEVER_TRUE),
        ("power_watts > 5 or memory_used_bytes > 0.5", NEVER_FALSE),
        ("memory_used_bytes > 0.5 or performance_state > 2", UNSURE),
        ("missing(memory_used_bytes)", ALWAYS),
        ("present(memory_used_bytes)", NEVER),
        ("missing(power_watts)", ANY),
        ("missing(model)", ANY),
        ("present(memory_used_bytes) and power_watts > 5", NEVER),
        ("missing(memory_used_bytes) and power_watts > 5", ANY),
        ("missing(memory_used_bytes) or power_watts > 5", ALWAYS),
        ("not missing(memory_used_bytes)", NEVER),
        ("1 < power_watts < memory_used_bytes", NEVER_TRUE),
        ("1 < 2", ALWAYS),
        ("2 <= 2", ALWAYS),
        ("2 < 2", NEVER),
        ("2 > 2", NEVER),
        ("2 >= 2", ALWAYS),
        ("3 >= 2", ALWAYS),
        ("3 <= 2", NEVER),
        ('event("xid")', NEVER),
        ('event("ras")', ANY),
        ('count("xid", within="1h") > 0', NEVER),
        ('count("xid", within="1h") >= 0', ALWAYS),
        ('count("ras", within="1h") > 0', ANY),
        ('since("xid") > 5', UNSURE),
        ('vendor == "amd"', NEVER_TRUE),
        ('vendor == "nvidia"', ANY),
        ('vendor != "amd"', NEVER_FALSE),
        ('model == "amd"', ANY),
        ('vendor in ("amd", "intel")', NEVER_TRUE),
        ('vendor not in ("amd", "intel")', NEVER_FALSE),
        ('vendor in ("amd", "nvidia")', ANY),
        ("power_watts in (1, 2)", ANY),
        ("memory_used_bytes in (1, 2)", UNSURE),
        ("node.any(missing(power_watts))", ANY),
        ("node.any(memory_used_bytes > 0.5)", NEVER_TRUE),
        ("node.all(memory_used_bytes > 0.5)", NEVER_TRUE),
        ("node.count(memory_used_bytes > 0.5) > 0", NEVER_TRUE),
        ("node.count(power_watts > 5) > 0", ANY),
        ("node.share(memory_used_bytes > 0.5) >= 0", NEVER_FALSE),
        ("node.share(power_watts > 5) < 0", NEVER_TRUE),
        ("node.count() > 0", ANY),
        ('power_watts > peer_median(memory_used_bytes, by="node")', UNSURE),
        ('power_watts > peer_median(power_watts, by="node")', ANY),
        ("power_watts + 1 > 5", ANY),
    ],
)
def test_what_a_condition_can_come_to(when: str, expected: Outcomes) -> None:
    assert of(when) == expected


@pytest.mark.parametrize(
    ("when", "less"),
    [
        ("power_watts > 5 and missing(memory_used_bytes)", "power_watts > 5"),
        ("missing(memory_used_bytes) or index > 1", "missing(memory_used_bytes) or index > 1"),
        ("present(memory_used_bytes) or power_watts > 5", "power_watts > 5"),
        ("event('xid') or power_watts > 5 or index > 1", "power_watts > 5 or index > 1"),
        ("power_watts > 5 or (index > 1 and 1 < 2)", "power_watts > 5 or index > 1"),
        ("event('xid') or present(memory_used_bytes)", "event('xid') or present(memory_used_bytes)"),
        ("event('xid') and power_watts > 5", "event('xid') and power_watts > 5"),
    ],
)  # fmt: skip
def test_what_changes_nothing_is_left_out(when: str, less: str) -> None:
    assert pruned(compile_rule(when).tree, FACTS) == compile_rule(less).tree
