"""What an agent keeps of the past for its rules: steps, windows, events, and the devices of one node."""

import math
from collections.abc import Iterable

import pytest

from accelwatch.expr import MISSING, UNKNOWN, Key, Missing, Value
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.environment import Group
from accelwatch.expr.evaluation_context import Device, EvaluationContext
from accelwatch.expr.event_history import MOST_REMEMBERED, EventHistory
from accelwatch.expr.needs import EventNeed, WindowNeed
from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.expr.series_history import SeriesHistory, quantile
from accelwatch.expr.vocabulary.kleene import Lookup
from accelwatch.schema.event import Category, ErrorEvent

POWER, ENERGY = ("power_watts",), ("energy_joules_total",)
UPTIME = ("host_uptime_seconds",)
NOW = 1_800_000_000.0


def gauge(kind: str, seconds: int = 60, share: float | None = None) -> WindowNeed:
    return WindowNeed(kind, POWER, seconds, share)


def counter(kind: str, seconds: int = 60) -> WindowNeed:
    return WindowNeed(kind, ENERGY, seconds)


def past(need: WindowNeed, samples: Iterable[tuple[float, float]]) -> SeriesHistory:
    kept = SeriesHistory([need])
    for at, value in samples:
        kept.add(at, value, 1.0)
    return kept


def ask(
    need: WindowNeed, samples: list[tuple[float, float]], at: float | None = None
) -> float | None:
    return past(need, samples).window(samples[-1][0] if at is None else at, need, 1.0)


# A sample a second, as high as the second.
RAMP = [(float(at), float(at)) for at in range(200)]


@pytest.mark.parametrize(
    ("need", "expected"),
    [
        # At 199 s the open step began at 190; six closed ones before it begin at 130.
        (gauge("avg"), (130 + 199) / 2),
        (gauge("min"), 130.0),
        (gauge("max"), 199.0),
        (gauge("share"), 1.0),
        (gauge("changed"), 1.0),
        (gauge("delta"), (190 + 199) / 2 - (130 + 139) / 2),
        (gauge("quantile", share=0.5), (154.5 + 164.5) / 2 + 0.0),
        (gauge("quantile", share=1.0), 184.5),
        (counter("increase"), 70.0),
        (counter("rate"), 1.0),
        (counter("changed"), 1.0),
    ],
)
def test_a_window_is_the_open_step_and_the_closed_ones(need: WindowNeed, expected: float) -> None:
    assert ask(need, RAMP) == pytest.approx(expected)


def test_a_window_with_less_than_half_of_its_samples_is_missing() -> None:
    need = gauge("avg")
    samples = [(float(at), 1.0) for at in range(130, 163)]
    # The window of 199 begins at 130 and expects 69 samples.
    assert ask(need, samples[:33], at=199.0) is None
    assert ask(need, [*samples, (163.0, 1.0), (164.0, 1.0)], at=199.0) == 1.0
    kept = past(need, samples)
    assert kept.coverage(199.0, 60, 1.0) == pytest.approx(33 / 69)


def test_a_scrape_a_minute_fills_a_window() -> None:
    need = gauge("avg", 300)
    kept = SeriesHistory([need])
    for at in range(0, 600, 60):
        kept.add(float(at), float(at), 60.0)
    assert kept.window(545.0, need, 60.0) == (240 + 300 + 360 + 420 + 480 + 540) / 6


@pytest.mark.parametrize("after", [5.0, 0.0, 499.0])
def test_a_reset_is_no_growth(after: float) -> None:
    before = [(float(at), 400.0 + at) for at in range(100, 150)]
    again = [(float(at), after + at - 150) for at in range(150, 200)]
    found = ask(counter("increase"), before + again)
    assert found == pytest.approx(20 + 49)  # to 149 s, and from 151 s
    assert ask(counter("rate"), before + again) == pytest.approx(1.0)


def test_a_counter_that_stands_still_has_not_changed() -> None:
    assert ask(counter("changed"), [(float(at), 7.0) for at in range(100)]) == 0.0
    assert ask(gauge("changed"), [(float(at), 7.0) for at in range(100)]) == 0.0


def test_a_counter_that_grew_by_less_than_one_has_changed() -> None:
    assert ask(counter("changed"), [(float(at), at / 100) for at in range(100)]) == 1.0


def test_what_grew_in_a_long_gap_is_not_counted() -> None:
    before = [(float(at), float(at)) for at in range(10)]
    near = [(float(at), float(at)) for at in range(300, 400)]
    far = [(float(at), float(at)) for at in range(400, 500)]
    assert ask(counter("increase", 500), before + near) is None
    whole = [(float(at), float(at)) for at in range(0, 400)]
    assert ask(counter("increase", 500), before + near + [(400.0, 400.0)], at=401.0) is None
    assert ask(counter("increase", 300), [*whole, (399.5, 399.5)]) == pytest.approx(310.5)
    assert ask(counter("increase", 100), before + far) == pytest.approx(99.0)


def test_a_gap_leaves_steps_empty() -> None:
    samples = [(float(at), 5.0) for at in range(60)] + [(1000.0, 9.0)]
    kept = past(gauge("max"), samples)
    assert kept.window(1000.0, gauge("max"), 1.0) is None
    for at in range(1001, 1035):
        kept.add(float(at), 9.0, 1.0)
    assert kept.window(1034.0, gauge("max"), 1.0) == 9.0
    assert past(gauge("min"), samples).coverage(1000.0, 60, 1.0) == pytest.approx(1 / 60)


def test_the_age_of_a_value() -> None:
    need = WindowNeed("age", POWER, 0)
    kept = SeriesHistory([need])
    assert kept.window(5.0, need, 1.0) is None
    kept.add(10.0, 1.0, 1.0)
    assert kept.window(10.0, need, 1.0) == 0.0
    assert kept.window(17.5, need, 1.0) == 7.5


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 2.5), (1.0, 4.0), (0.1, 1.3)])
def test_a_quantile_lies_between_its_neighbours(share: float, expected: float) -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], share) == pytest.approx(expected)


def xid(code: int, time: float, device: str = "gpu0", *, trusted: bool = True) -> ErrorEvent:
    return ErrorEvent(
        code=f"xid_{code}",
        category=Category.BUS,
        time=time,
        text="",
        source="nvml",
        device_id=device,
        trusted=trusted,
    )


def pattern(text: str) -> EventPattern:
    (need,) = compile_rule(text).needs.events
    return need.pattern


def test_events_by_code_and_device() -> None:
    fatal, any_one = pattern('event("xid", code in [48, 79])'), pattern('event("xid")')
    history = EventHistory([EventNeed(fatal, 60), EventNeed(any_one, 0)])
    history.add(xid(79, NOW - 5), NOW)
    history.add(xid(63, NOW - 3), NOW)
    history.add(xid(48, NOW - 1, ""), NOW)
    assert history.last("gpu0", fatal) == NOW - 1
    assert history.last("gpu1", fatal) == NOW - 1  # of the node, so of all its devices
    assert history.last("gpu0", any_one) == NOW - 1
    assert history.occurrences("gpu0", fatal, NOW - 60) == 2
    assert history.occurrences("gpu1", fatal, NOW - 60) == 1
    assert history.occurrences("gpu0", fatal, NOW - 4) == 1
    history.forget("gpu0")
    assert history.occurrences("gpu0", fatal, NOW - 60) == 1


def test_an_event_reported_again_is_no_other_event() -> None:
    each = pattern('count("xid", within="1h") > 1')
    history = EventHistory([EventNeed(each, 3600)])
    for _ in range(3):
        history.add(xid(79, NOW - 5), NOW)
    assert history.occurrences("gpu0", each, NOW - 3600) == 1
    for at in range(MOST_REMEMBERED + 10):
        history.add(xid(79, NOW - 5 - at / 1000), NOW)
    assert history.occurrences("gpu0", each, NOW - 3600) == MOST_REMEMBERED


def test_an_event_of_the_future_happened_now() -> None:
    each = pattern('event("xid")')
    history = EventHistory([EventNeed(each, 0)])
    history.add(xid(79, NOW + 3600), NOW)
    history.add(xid(79, math.nan), NOW)
    assert history.last("gpu0", each) == NOW


def test_records_of_user_space_count_only_when_they_are_requested() -> None:
    plain, forged = pattern('event("xid")'), pattern('event("xid", trusted == False)')
    history = EventHistory([EventNeed(plain, 0), EventNeed(forged, 0)])
    history.add(xid(79, NOW, trusted=False), NOW)
    assert history.last("gpu0", plain) == -math.inf
    assert history.last("gpu0", forged) == NOW


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ('event("nfs")', "nfs_not_responding", True),
        ('event("nfs", code == "nfs_not_responding")', "nfs_not_responding", True),
        ('event("nfs", code == "nfs_ok")', "nfs_not_responding", False),
        ('event("any", severity == "critical")', "anything_at_all", True),
        ('event("any", category == "link")', "anything_at_all", False),
        ('event("any", matches(code, "^hung"))', "hung_task", True),
        ('event("kernel")', "hung_task", True),
        ('event("xid")', "sxid_3", False),
        ('event("xid", code == 79)', "xid_odd", False),
        ('event("node")', "node", True),
        ('event("node")', "nodeless", False),
    ],
)
def test_which_events_are_meant(text: str, code: str, expected: bool) -> None:
    each = pattern(text)
    history = EventHistory([EventNeed(each, 0)])
    event = ErrorEvent(code=code, category=Category.HANG, time=NOW, text="", source="kernel_log")
    history.add(event, NOW)
    assert (history.last("gpu0", each) == NOW) is expected


@pytest.mark.parametrize(
    ("ago_s", "uptime_s", "known_before", "expected"),
    [
        (3600, 9000.0, True, True),
        (3600, 3596.0, True, True),
        (3600, 3595.0, True, False),
        (4, 0.0, True, True),
        (30 * 86400, 9e6, True, True),
        (30 * 86400 + 1, 9e6, True, False),
        (600, None, True, True),
        (601, None, True, UNKNOWN),
        (600, None, False, True),
        (601, None, False, False),
        (math.inf, None, True, False),
    ],
)
def test_an_event_that_only_a_boot_ends(
    ago_s: float, uptime_s: float | None, known_before: bool, expected: object
) -> None:
    rule = compile_rule('event("xid", code == 151, until="boot")')
    keeper = RuleHistory(rule.needs, 1.0)
    if known_before:
        keeper.sample(100.0, HOST, lookup({UPTIME: 50.0}))
    if math.isfinite(ago_s):
        keeper.events.add(xid(151, NOW - ago_s), NOW)
    host = lookup({} if uptime_s is None else {UPTIME: uptime_s})
    context = EvaluationContext(keeper, {HOST: host, "gpu0": lookup({})}, at=199.0, now=NOW)
    assert rule.evaluate(context.members[0]) is expected


@pytest.mark.parametrize(
    ("text", "uptime_s", "expected"),
    [
        ('since("boot") == 50', 50.0, True),
        ('since("boot") == 50', 51.0, False),
        ('since("boot") == 50', None, UNKNOWN),
        (f'last("boot") == {NOW - 50}', 50.0, True),
        (f'last("boot") == {NOW - 50}', 51.0, False),
        (f'last("boot") == {NOW - 50}', None, UNKNOWN),
        ('missing(since("boot"))', 50.0, False),
        ('missing(since("boot"))', None, True),
        ('since("xid") < since("boot")', 101.0, True),
        ('since("xid") < since("boot")', 100.0, False),
        ('last("xid") > last("boot")', 101.0, True),
        ('last("xid") > last("boot")', 100.0, False),
        ('event("boot")', 600.0, True),
        ('event("boot")', 601.0, False),
        ('event("boot", within="1h")', 3600.0, True),
        ('event("boot", within="1h")', 3601.0, False),
        ('event("boot")', None, UNKNOWN),
    ],
)
def test_a_boot_is_known_by_the_uptime(text: str, uptime_s: float | None, expected: object) -> None:
    rule = compile_rule(text)
    assert UPTIME in rule.needs.series
    history = RuleHistory(rule.needs, 1.0)
    history.events.add(xid(151, NOW - 100), NOW)
    host = lookup({} if uptime_s is None else {UPTIME: uptime_s})
    context = EvaluationContext(history, {HOST: host, "gpu0": lookup({})}, at=199.0, now=NOW)
    assert rule.evaluate(context.members[0]) is expected


def lookup(values: dict[Key, Value]) -> Lookup:
    def value(key: Key) -> Value | Missing:
        return values.get(key, MISSING)

    return value


def node_of(
    rule: RuleExpression, powers: list[float | None], host: dict[Key, Value]
) -> EvaluationContext:
    """A node whose devices have had the same powers for 100 s."""
    keeper = RuleHistory(rule.needs, 1.0)
    lookups = {HOST: lookup(host)}
    for index, power in enumerate(powers):
        values: dict[Key, Value] = {"vendor": "nvidia", "model": "H100"}
        if power is not None:
            values[POWER] = power
        lookups[f"gpu{index}"] = lookup(values)
    for at in range(100, 200):
        for device, one in lookups.items():
            keeper.sample(float(at), device, one)
    return EvaluationContext(
        keeper, lookups, at=199.0, now=NOW, firing=lambda rule, device: device == "gpu0"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('avg(power_watts, "1m") == 700', [True, True, True, True, UNKNOWN]),
        ('quantile(power_watts, 0.9, "1m") == 700', [True, True, True, True, UNKNOWN]),
        ('peer_median(power_watts, by="node") >= 700', [True, True, True, True, True]),
        ('peer_median(power_watts, by="model") >= 700', [True, True, True, True, True]),
        ('peer_median(power_watts, by="job") >= 700', [UNKNOWN] * 5),
        ("node.any(missing(power_watts))", [True] * 5),
        ("node.share(power_watts > 1) == 1", [True] * 5),
        ("node.count() == 5", [True] * 5),
        ("rack.any(True)", [UNKNOWN] * 5),
        ("host_blocked_processes > 3", [True] * 5),
        ('max(host_blocked_processes, "1m") > 3', [True] * 5),
        ("age(power_watts) == 0", [True] * 4 + [UNKNOWN]),
        ('peers_affected("a", by="node") == 1', [True] * 5),
        ('event("xid")', [False] * 5),
    ],
)
def test_rules_over_a_node(text: str, expected: list[object]) -> None:
    rule = compile_rule(text)
    context = node_of(rule, [700.0, 700.0, 700.0, 700.0, None], {("host_blocked_processes",): 5})
    assert [rule.evaluate(one) for one in context.members] == expected


def test_events_reach_the_rules_of_a_device() -> None:
    rule = compile_rule('event("xid", code == 79, within="10s") and since("xid") < 6')
    context = node_of(rule, [1.0, 2.0], {})
    context.history.events.add(xid(79, NOW - 5), NOW)
    assert [rule.evaluate(one) for one in context.members] == [True, False]
    later = EvaluationContext(context.history, context.lookups, at=1.0, now=NOW + 6)
    assert [rule.evaluate(one) for one in later.members] == [False, False]


@pytest.mark.parametrize(("share", "expected"), [("0", 134.5), ("0.5", 159.5), ("1", 184.5)])
def test_a_rule_needs_the_quantile_that_it_names(share: str, expected: float) -> None:
    rule = compile_rule_value(f'quantile(power_watts, {share}, "1m")')
    keeper = RuleHistory(rule.needs, 1.0)
    for at, power in RAMP:
        keeper.sample(at, "gpu0", lookup({POWER: power}))
    context = EvaluationContext(keeper, {HOST: lookup({}), "gpu0": lookup({})}, at=199.0, now=NOW)
    assert rule.value(context.members[0]) == expected


def test_another_device_has_no_past() -> None:
    rule = compile_rule('avg(power_watts, "1m") == 700')
    context = node_of(rule, [700.0], {})
    context.history.forget("gpu0")
    assert rule.evaluate(context.members[0]) is UNKNOWN


class Node:
    """A node asks about its devices, of which it is none."""

    def __init__(self, context: EvaluationContext) -> None:
        self._host = Device(context, HOST)
        self.now = self._host.now
        self.lookup = self._host.lookup
        self.window = self._host.window
        self.last = self._host.last
        self.occurrences = self._host.occurrences
        self.firing = self._host.firing
        self._members = context.members

    def group(self, by: str) -> Group:
        return Group(self._members, -1)


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("node.all(power_watts > 1)", True, UNKNOWN),
        ("node.any(power_watts > 1)", True, UNKNOWN),
        ("node.share(power_watts > 1) == 1", True, UNKNOWN),
        ("node.count() == 4", True, UNKNOWN),
        ('peer_median(power_watts, by="node") == 2.5', True, UNKNOWN),
        ('peer_z(power_watts, by="node") > 0', UNKNOWN, UNKNOWN),
        ('peers_affected("a", by="node") == 1', True, UNKNOWN),
    ],
)
def test_one_that_is_no_member_may_use_a_group(text: str, some: object, none: object) -> None:
    rule = compile_rule(text)
    assert rule.evaluate(Node(node_of(rule, [2.0, 3.0, 2.0, 3.0], {}))) is some
    assert rule.evaluate(Node(node_of(rule, [], {}))) is none
