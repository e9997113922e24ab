"""A node at one moment: what is kept of its devices, who belongs together, and what is not known."""

from collections.abc import Mapping
from functools import reduce
from operator import or_

import pytest

from accelwatch.expr.evaluation_context import Device, EvaluationContext
from accelwatch.expr.needs import Needs
from accelwatch.expr.rule import compile_rule
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.expr.vocabulary.kleene import MISSING, Key, Lookup, Missing, Value
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series

POWER: Series = ("power_watts",)
LOAD: Series = ("host_blocked_processes",)
RULES = ('avg(power_watts, "1m") > 5', 'max(host_blocked_processes, "1m") > 5', 'event("xid")')
EVENT = ErrorEvent(
    code="xid_79", category=Category.BUS, time=90.0, text="", source="nvml", device_id="a"
)


def needs(*rules: str) -> Needs:
    return reduce(or_, [compile_rule(one).needs for one in rules])


def lookup_of(**values: Value) -> Lookup:
    known: Mapping[Key, Value] = {
        ((name,) if name.endswith(("watts", "processes")) else name): value
        for name, value in values.items()
    }

    def lookup(key: Key) -> Value | Missing:
        return known.get(key, MISSING)

    return lookup


def fed(keeper: RuleHistory, device: str = "a", times: int = 60, **values: Value) -> RuleHistory:
    for at in range(times):
        keeper.sample(float(at), device, lookup_of(**values))
    return keeper


def context(keeper: RuleHistory, at: float = 59.0, **more: object) -> EvaluationContext:
    lookups = {
        HOST: lookup_of(host_blocked_processes=3),
        "a": lookup_of(power_watts=100, vendor="nvidia", model="H100"),
        "b": lookup_of(power_watts=200, vendor="nvidia", model="H100"),
        "c": lookup_of(vendor="nvidia", model="A100"),
    }
    return EvaluationContext(keeper, lookups, at=at, now=100.0, **more)  # type: ignore[arg-type]


def average(of: EvaluationContext, device: str = "a") -> float | None:
    return Device(of, device).window("avg", POWER, 60, None)


def test_a_device_keeps_its_own_series_and_the_host_its_own() -> None:
    keeper = RuleHistory(needs(*RULES), 1.0)
    fed(keeper, "a", power_watts=100, host_blocked_processes=7)
    fed(keeper, HOST, power_watts=100, host_blocked_processes=7)
    assert keeper.series_history("a", POWER) is not None
    assert keeper.series_history("b", POWER) is None
    assert keeper.series_history(HOST, POWER) is None
    assert keeper.series_history("a", LOAD) is keeper.series_history(HOST, LOAD) is not None
    assert Device(context(keeper), "b").window("max", LOAD, 60, None) == 7.0


def test_another_device_in_the_same_slot_starts_with_nothing() -> None:
    keeper = fed(fed(RuleHistory(needs(*RULES), 1.0), power_watts=100), "b", power_watts=200)
    keeper.events.add(EVENT, 100.0)
    pattern = next(iter(needs(*RULES).events)).pattern
    assert Device(context(keeper), "a").last(pattern) == 90.0
    keeper.forget("a")
    now = context(keeper)
    assert (average(now, "a"), average(now, "b")) == (None, 200.0)
    assert Device(now, "a").latest(pattern) is None


@pytest.mark.parametrize(
    ("rules", "interval_s", "kept"),
    [
        (RULES, 1.0, True),
        ((*RULES, 'avg(host_blocked_processes, "5m") > 5'), 1.0, True),
        ((*RULES, 'avg(power_watts, "5m") > 5'), 1.0, False),
        (RULES[1:], 1.0, False),
        (RULES, 2.0, False),
    ],
)
def test_what_is_kept_goes_on_under_other_rules_that_need_the_same_of_it(
    rules: tuple[str, ...], interval_s: float, kept: bool
) -> None:
    before = fed(RuleHistory(needs(*RULES), 1.0), power_watts=100)
    keeper = RuleHistory(needs(*rules), interval_s)
    keeper.adopt(before)
    assert (keeper.series_history("a", POWER) is before.series_history("a", POWER)) is kept
    assert (average(context(keeper)) == 100.0) is kept


def test_a_window_is_worked_out_once() -> None:
    keeper = fed(RuleHistory(needs(*RULES), 1.0), power_watts=100)
    now = context(keeper)
    assert average(now) == 100.0
    keeper.sample(59.5, "a", lookup_of(power_watts=9000))
    assert average(now) == 100.0
    assert average(context(keeper, at=59.5)) != 100.0


def test_coverage_is_the_share_of_the_samples_that_there_are() -> None:
    keeper = fed(RuleHistory(needs(*RULES), 1.0), times=30, power_watts=100)
    assert Device(context(keeper, at=59.0), "a").coverage(POWER, 60) == pytest.approx(0.5, abs=0.1)
    assert Device(context(keeper), "c").coverage(POWER, 60) is None


def test_devices_of_a_node_and_of_a_model_belong_together() -> None:
    now = context(RuleHistory(needs(*RULES), 1.0))
    a, b, c = now.members
    node, model = a.group("node"), a.group("model")
    assert node is not None
    assert model is not None
    assert (node.members, node.own) == ((a, b, c), 0)
    assert (model.members, model.own) == ((a, b), 0)
    assert b.group("model") is not model
    other = c.group("model")
    assert other is not None
    assert (other.members, other.own) == ((c,), 0)
    last = c.group("node")
    assert last is not None
    assert last.own == 2
    assert a.group("node") is node
    assert a.group("job") is None


def test_the_node_itself_looks_at_all_its_devices_and_is_of_no_model() -> None:
    now = context(RuleHistory(needs(*RULES), 1.0))
    host = Device(now, HOST)
    whole = host.group("node")
    assert whole is not None
    assert (whole.members, whole.own) == (now.members, -1)
    assert host.group("model") is None
    assert host.lookup(LOAD) == 3
    assert now.members[0].lookup(LOAD) == 3


def test_a_device_that_is_not_there_belongs_to_nobody() -> None:
    gone = Device(context(RuleHistory(needs(*RULES), 1.0)), "z")
    assert gone.group("node") is None
    assert gone.lookup("model") is MISSING


def test_what_nobody_listened_to_is_not_known() -> None:
    keeper = RuleHistory(needs(*RULES, 'count("xid", within="1h") > 3'), 1.0)
    pattern = next(iter(needs(*RULES).events)).pattern
    deaf, listening = context(keeper, listened=False), context(keeper)
    assert Device(listening, "a").last(pattern) == float("-inf")
    assert Device(deaf, "a").last(pattern) is None
    assert Device(listening, "a").occurrences(pattern, 3600) == 0
    assert Device(deaf, "a").occurrences(pattern, 3600) is None
    keeper.events.add(EVENT, 100.0)
    assert Device(deaf, "a").last(pattern) == 90.0
    assert Device(listening, "a").occurrences(pattern, 10) == 1
    assert Device(listening, "a").occurrences(pattern, 9) == 0
    assert Device(listening, "b").latest(pattern) is None
    assert Device(listening, "a").latest(pattern) == EVENT


def test_another_rule_and_reasons_are_requested_with_the_device() -> None:
    keeper = RuleHistory(needs(*RULES), 1.0)
    assert Device(context(keeper), "a").firing("r") is None
    assert Device(context(keeper), "a").absence(POWER) == ""
    now = context(
        keeper, firing=lambda rule, device: (rule, device) == ("r", "a"), absence=_text_of
    )
    assert Device(now, "a").firing("r") is True
    assert Device(now, "b").firing("r") is False
    assert Device(now, "a").absence(POWER) == "a: ('power_watts',)"
    assert Device(now, "a").absence(LOAD) == ": ('host_blocked_processes',)"
    assert Device(now, "a").absence("model") == "a: model"


def _text_of(device: str, key: Key) -> str:
    return f"{device}: {key}"


def test_a_closed_context_lets_go_of_everything() -> None:
    now = context(RuleHistory(needs(*RULES), 1.0))
    assert now.members[0].group("node") is not None
    one = now.members[0]
    now.close()
    assert now.members == ()
    assert one.group("node") is None
