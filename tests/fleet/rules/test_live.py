"""Rules over the hub's own table: current values, windows, hosts, events and groups of a real fleet."""

import asyncio
import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from accelwatch.base.absence import Absence
from accelwatch.base.slices import LongWork
from accelwatch.expr import MISSING, UNKNOWN, Key, Missing, Type, Value
from accelwatch.expr.evaluation_context import EvaluationContext
from accelwatch.expr.explain import explain
from accelwatch.expr.needs import Needs
from accelwatch.expr.rule import RuleExpression, compile_rule, compile_rule_value
from accelwatch.expr.rule_history import HOST, RuleHistory
from accelwatch.fleet.rules.columns.live import FleetColumns
from accelwatch.fleet.rules.row import RowEnvironment
from accelwatch.fleet.rules.vectors.program import Program, column_of
from accelwatch.fleet.state.fleet_status import refresh_nodes
from accelwatch.fleet.table import windows as windows_module
from accelwatch.fleet.table.belief import Bools
from accelwatch.fleet.table.windows import WindowsError
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import Owner
from accelwatch.schema.stream.context import Event
from support.fleet.two_nodes import TwoNodes, host, view
from support.machines import composed as machines

POWER, ENERGY = ("power_watts",), ("energy_joules_total", "hardware")


class Hub(TwoNodes):
    """A fleet of polled nodes and the columns of some rules."""

    def __init__(self, *texts: str, firing: Callable[[str], Bools | None] | None = None) -> None:
        super().__init__()
        self.rules: dict[str, RuleExpression] = {text: compile_rule_value(text) for text in texts}
        needs = Needs()
        for rule in self.rules.values():
            needs |= rule.needs
        self.needs = needs
        self.columns = FleetColumns(self.fleet, needs, firing)
        conditions = {text: rule for text, rule in self.rules.items() if rule.type == Type.BOOL}
        self.program = Program(conditions)

    def bring(self) -> None:
        asyncio.run(self.columns.refresh(LongWork()))

    def row(self, node: str, index: int) -> int:
        found = self.fleet.table.rows.get((node, machines.device(index).id))
        assert found is not None
        return found

    def truth(self, text: str, node: str = "a", index: int = 0) -> object:
        for one in self.program.run(self.columns):
            if one.name == text:
                row = self.row(node, index)
                true, false = bool(one.truths.true[row]), bool(one.truths.false[row])
                scalar = self.rules[text].evaluate(RowEnvironment(self.columns, row))
                assert scalar is (True if true else False if false else UNKNOWN)
                return scalar
        raise AssertionError(text)

    def value(self, text: str, node: str = "a", index: int = 0) -> float:
        return float(column_of(self.rules[text], self.columns)[self.row(node, index)])


CURRENT = {
    "power_watts > 642": True,
    "temperature_celsius == 61": True,
    'vendor == "nvidia" and matches(model, "H100") and driver_version != "1"': True,
    'labels.pool == "train" and labels.rack == "r1" and node == "a"': True,
    "missing(labels.zone) and missing(job) and missing(user)": False,
    'user == "trainer"': True,
    'state == "ok" and health == "ok" and node_state == "up" and health.ok and device_up': True,
    "index == 0 and numa_node == 0 and sample_age_s < 5": True,
    "node.count() == 2 and rack.count() == 4 and model.count() == 4": True,
    'model.any(node == "b") and not node.any(node == "b")': True,
    "job.count() > 0": UNKNOWN,
    "host_blocked_processes > 3": True,
    "missing(host_load_average[1])": True,
    "host_blocked_processes + power_watts > 600 and missing(fan_speed_ratio[0])": True,
}


def test_what_stands_in_the_table_now() -> None:
    hub = Hub(*CURRENT)
    hub.report("a", view(0), view(1), host(host_blocked_processes=5))
    hub.report("b", view(0), view(1))
    hub.bring()
    assert {text: hub.truth(text) for text in CURRENT} == CURRENT
    assert hub.truth("host_blocked_processes > 3", "b") is UNKNOWN
    assert hub.columns.here.sum() == 4
    assert hub.columns.size == hub.fleet.table.rows.size


def test_numbers_of_a_silent_node_are_missing() -> None:
    texts = ("power_watts > 1", 'state == "unreachable"', 'node_state == "down"', "device_up")
    hub = Hub(*texts, "host_blocked_processes > 3", 'vendor == "nvidia"', "age(power_watts) > 40")
    hub.report("a", view(0), host(host_blocked_processes=5))
    hub.bring()
    assert [hub.truth(text) for text in texts[:3]] == [True, False, False]
    hub.clock.advance(60)
    hub.report("b", view(1))
    hub.bring()
    assert [hub.truth(text) for text in texts[:3]] == [UNKNOWN, True, True]
    assert hub.truth("host_blocked_processes > 3") is UNKNOWN
    assert hub.truth('vendor == "nvidia"') is True
    assert hub.truth("age(power_watts) > 40") is True
    assert hub.truth("age(power_watts) > 40", "b", 1) is False


WINDOWS = (
    'avg(power_watts, "1m")',
    'min(power_watts, "1m")',
    'max(power_watts, "30s")',
    'delta(power_watts, "1m")',
    'quantile(power_watts, 0.9, "1m")',
    'changed(power_watts, "1m")',
    'duty(throttle_active.power, "1m")',
    "age(power_watts)",
    'rate(energy_joules_total, "1m")',
    'delta(energy_joules_total, "1m")',
    'changed(energy_joules_total, "1m")',
    'avg(host_blocked_processes, "1m")',
    'changed(utilization_ratio, "1m")',
)


@pytest.mark.parametrize("text", WINDOWS)
def test_a_hub_and_an_agent_mean_the_same_by_a_window(text: str) -> None:
    hub = Hub(text)
    rule = hub.rules[text]
    keeper = RuleHistory(rule.needs, 1.0)
    reported: dict[Key, Value] = {}

    def lookup(key: Key) -> Value | Missing:
        return reported.get(key, MISSING)

    for second in range(130):
        power = None if second % 7 == 3 or second > 125 else 600.0 + second % 40
        values: dict[Series, Number | None] = {
            POWER: power,
            ENERGY: 5000.0 + second * 3 if second < 100 else second * 2.0,
            ("throttle_active", "power"): int(second % 3 == 0),
        }
        hub.report("a", view(0, values), host(host_blocked_processes=second % 5))
        hub.bring()
        reported.clear()
        reported.update({key: value for key, value in values.items() if value is not None})
        reported["host_blocked_processes",] = second % 5
        reported["utilization_ratio",] = 0.97
        at = hub.clock.monotonic()
        keeper.sample(at, "gpu", lookup)
        keeper.sample(at, HOST, lookup)
        (device,) = EvaluationContext(keeper, {HOST: lookup, "gpu": lookup}, at=at, now=0.0).members
        expected, found = rule.value(device), hub.value(text)
        if expected is MISSING:
            assert math.isnan(found), second
        else:
            assert found == pytest.approx(expected, rel=1e-6), second
        hub.clock.advance(1)


def test_a_device_that_was_exchanged_has_no_past_and_no_sample() -> None:
    texts = (
        'avg(power_watts, "1m") > 1',
        'event("xid")',
        'count("xid", within="1h") == 0',
        "age(power_watts) >= 0",
    )
    hub = Hub(*texts)
    for _ in range(60):
        hub.report("a", view(0))
        hub.bring()
        hub.clock.advance(1)
    note(hub, "a", 0, "xid_79")
    hub.bring()
    assert [hub.truth(text) for text in texts] == [True, True, False, True]
    hub.report(
        "a",
        view(0, {POWER: None}, device=machines.device(0, serial="another")),
    )
    hub.bring()
    assert [hub.truth(text) for text in texts] == [UNKNOWN, False, True, UNKNOWN]


def note(hub: Hub, node: str, index: int | None, code: str, ago_s: float = 0.0) -> None:
    """An event that a node reported."""
    event = ErrorEvent(
        code=code,
        category=Category.BUS,
        time=hub.clock.wall() - ago_s,
        text="",
        source="kernel_log",
        device_id="" if index is None else machines.device(index).id,
    )
    number = len(hub.fleet.events) + 1
    hub.fleet.events.record(
        node,
        "test",
        [Event(sequence=number, event=event)],
        ours=lambda time: time,
        name=lambda device: device,
        again=False,
    )


def test_events_of_devices_and_nodes() -> None:
    texts = (
        'event("xid", code == 79, within="1m")',
        'event("nfs")',
        'since("xid") >= 30',
        'count("xid", within="1h") == 2',
        'last("boot") > 0',
        'event("pcie")',
    )
    hub = Hub(*texts)
    hub.report("a", view(0), view(1))
    hub.report("b", view(0))
    hub.bring()
    note(hub, "a", 0, "xid_79", 30)
    note(hub, "a", 0, "xid_63", 300)
    note(hub, "a", None, "nfs_not_responding", 30)
    note(hub, "gone", 0, "pcie_contained")
    hub.bring()
    assert [hub.truth(text) for text in texts] == [True, True, True, True, UNKNOWN, False]
    assert [hub.truth(text, "a", 1) for text in texts[:4]] == [False, True, UNKNOWN, False]
    assert [hub.truth(text, "b", 0) for text in texts[:2]] == [False, False]
    hub.clock.advance(60)
    hub.report("a", view(0), view(1))
    hub.bring()
    assert hub.truth(texts[0]) is False
    assert hub.truth(texts[2]) is True


def test_an_event_that_counts_until_a_boot() -> None:
    text = 'event("xid", code == 151, until="boot")'
    hub = Hub(text)
    hub.report("a", view(0), host(host_uptime_seconds=9000))
    hub.bring()
    note(hub, "a", 0, "xid_151", 10)
    hub.bring()
    assert hub.truth(text) is True
    hub.clock.advance(2400)
    hub.bring()
    assert hub.truth(text) is UNKNOWN  # the node is silent: perhaps it boots
    hub.report("a", view(0), host(host_uptime_seconds=11400))
    hub.bring()
    assert hub.truth(text) is True
    hub.report("a", view(0), host(host_uptime_seconds=300))
    hub.bring()
    assert hub.truth(text) is False


def test_an_event_that_counts_until_the_boot_that_an_agent_without_its_host_reports() -> None:
    text = 'event("xid", code == 151, until="boot")'
    hub = Hub(text)
    hub.report("a", view(0))
    (source,) = hub.fleet.nodes["a"].sources.values()
    source.boot_time = hub.clock.wall() - 9000
    hub.bring()
    note(hub, "a", 0, "xid_151", 1200)
    hub.bring()
    assert hub.truth(text) is True
    source.boot_time = hub.clock.wall() - 300
    hub.report("a", view(0))
    hub.bring()
    assert hub.truth(text) is False


def test_an_event_that_counts_until_a_boot_that_nobody_reports() -> None:
    text = 'event("xid", code == 151, until="boot")'
    hub = Hub(text)
    hub.report("a", view(0))
    hub.bring()
    note(hub, "a", 0, "xid_151", 10)
    hub.bring()
    assert hub.truth(text) is True
    hub.clock.advance(600)
    hub.report("a", view(0))
    hub.bring()
    assert hub.truth(text) is False


def test_when_a_node_was_booted_is_known_by_its_uptime() -> None:
    texts = (
        'since("boot") > 800',
        'since("boot") < since("xid")',
        'last("boot") > last("xid")',
        'missing(since("boot"))',
        'event("boot", within="20m")',
    )
    hub = Hub(*texts)
    hub.report("a", view(0), host(host_uptime_seconds=9000))
    hub.report("b", view(0))
    hub.bring()
    note(hub, "a", 0, "xid_151", 1200)
    hub.bring()
    assert [hub.truth(text) for text in texts] == [True, False, False, False, False]
    unknown = [UNKNOWN, UNKNOWN, UNKNOWN, True, UNKNOWN]
    assert [hub.truth(text, "b") for text in texts] == unknown
    hub.report("a", view(0), host(host_uptime_seconds=900))
    hub.bring()
    assert [hub.truth(text) for text in texts] == [True, True, True, False, True]
    hub.report("a", view(0), host(host_uptime_seconds=800))
    hub.bring()
    assert hub.truth(texts[0]) is False
    hub.clock.advance(600)
    hub.bring()
    assert [hub.truth(text) for text in texts] == unknown  # the node is silent


def test_a_boot_is_known_of_an_agent_without_its_host() -> None:
    text = 'since("boot") >= 300 and since("boot") < 310'
    hub = Hub(text)
    hub.report("a", view(0))
    (source,) = hub.fleet.nodes["a"].sources.values()
    source.boot_time = hub.clock.wall() - 300
    hub.bring()
    assert hub.truth(text) is True
    source.boot_time = hub.clock.wall() - 310
    hub.bring()
    assert hub.truth(text) is False


def test_groups_follow_jobs() -> None:
    text = 'job.count() == 3 and peer_median(power_watts, by="job") > 1'
    counted = "job.count() == 3"
    hub = Hub(text, counted)
    seven = (Owner(kind="job", job_id="7"),)
    hub.report("a", view(0, owners=seven), view(1, owners=seven))
    hub.report("b", view(0, owners=seven), view(1))
    hub.bring()
    assert hub.truth(counted) is True
    assert hub.truth(counted, "b", 1) is UNKNOWN
    assert hub.truth(text) is UNKNOWN  # two peers are too few
    groups = hub.columns.groups("job")
    hub.bring()
    assert hub.columns.groups("job") is groups
    hub.report("b", view(0), view(1))
    hub.bring()
    assert hub.truth(counted) is False


def test_a_rule_about_a_job_reads_no_samples_of_the_job_before() -> None:
    of_job, of_device = 'job.any(max(power_watts, "1m") > 650)', 'max(power_watts, "1m") > 650'
    growth = 'job.any(rate(energy_joules_total, "1m") > 5)'
    own = 'job.count() == 1 and max(power_watts, "1m") > 650'
    hub = Hub(of_job, of_device, growth, own)

    def work(job: str | None, watts: float, start: int, joules: float) -> None:
        owners = () if job is None else (Owner(kind="job", job_id=job),)
        for second in range(start, start + 60):
            reported: dict[Series, Number | None] = {POWER: watts, ENERGY: second * joules}
            hub.report("a", view(0, reported, owners=owners))
            hub.bring()
            hub.clock.advance(1)

    work("7", 700.0, 0, 10.0)
    assert [hub.truth(one) for one in (of_job, of_device, growth)] == [True, True, True]
    hub.report("a", view(0, {POWER: 300.0, ENERGY: 400.0}, owners=(Owner(kind="job", job_id="8"),)))
    hub.bring()
    assert [hub.truth(one) for one in (of_job, of_device, growth)] == [UNKNOWN, True, UNKNOWN]
    assert hub.truth(own) is UNKNOWN
    parts = explain(own, hub.rules[own].tree, RowEnvironment(hub.columns, hub.row("a", 0)))
    reason = "power_watts max 1m has 0% of its samples since the job began"
    assert reason in [one.reason for one in parts]
    hub.clock.advance(1)
    work("8", 300.0, 400, 1.0)
    assert [hub.truth(one) for one in (of_job, growth)] == [False, False]
    work(None, 300.0, 460, 1.0)
    work("8", 300.0, 520, 1.0)  # nothing was reported of the job for a while, and it went on
    assert hub.truth(of_job) is False


def test_a_rule_about_a_job_goes_on_when_rules_are_loaded_again() -> None:
    text = 'job.any(max(power_watts, "1m") > 650)'
    hub = Hub(text)
    seven = (Owner(kind="job", job_id="7"),)
    for _ in range(60):
        hub.report("a", view(0, {POWER: 700.0}, owners=seven))
        hub.bring()
        hub.clock.advance(1)
    before, hub.columns = hub.columns, FleetColumns(hub.fleet, hub.needs)
    before.close()
    hub.report("a", view(0, {POWER: 700.0}, owners=seven))
    hub.bring()
    assert hub.truth(text) is True


def test_text_is_the_same_object_until_it_changes() -> None:
    hub = Hub('vendor == "nvidia" and state == "ok"')
    hub.report("a", view(0))
    hub.bring()
    before = hub.columns.text("vendor"), hub.columns.text("state")
    hub.clock.advance(1)
    hub.report("a", view(0))
    hub.bring()
    assert hub.columns.text("vendor") is before[0]
    assert hub.columns.text("state") is before[1]
    hub.report("a", view(0, state=DeviceState.LOST, device=machines.device(0, vendor="amd")))
    hub.bring()
    assert hub.columns.text("vendor") is not before[0]
    assert hub.truth('vendor == "nvidia" and state == "ok"') is False


def test_other_rules_that_fire() -> None:
    text, other = 'peers_affected("a.b", by="node") == 2', 'peers_affected("no", by="node") > 0'
    hub = Hub(
        text, other, firing=lambda rule: np.ones(64, dtype=np.bool_) if rule == "a.b" else None
    )
    hub.report("a", view(0), view(1))
    hub.bring()
    assert hub.truth(text) is True
    assert hub.truth(other) is UNKNOWN


def test_windows_are_let_go_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'avg(power_watts, "1h") > 1 and changed(temperature_celsius, "1h")'
    hub = Hub(text)
    windows = hub.fleet.table.windows
    assert windows.series
    hub.columns.close()
    assert windows.series == ()
    monkeypatch.setattr(windows_module, "MOST_BYTES", 3000)
    with pytest.raises(WindowsError, match="power_watts|temperature_celsius"):
        FleetColumns(hub.fleet, compile_rule(text).needs)
    assert windows.series == ()


def test_explain_says_how_much_of_a_window_there_is() -> None:
    text = 'avg(power_watts, "5m") > 1'
    hub = Hub(text)
    for _ in range(100):
        hub.report("a", view(0))
        hub.bring()
        hub.clock.advance(1)
    parts = explain(text, hub.rules[text].tree, RowEnvironment(hub.columns, hub.row("a", 0)))
    assert parts[1].reason == "power_watts avg 5m has 32% of its samples"


def reasons(hub: Hub, text: str) -> list[str]:
    parts = explain(text, hub.rules[text].tree, RowEnvironment(hub.columns, hub.row("a", 0)))
    return [one.reason for one in parts if one.text in text.partition(" ")[0]]


def test_explain_says_why_there_is_no_value() -> None:
    now, past = "power_watts > 1", 'avg(power_watts,"5m") > 1'
    of_host, not_reported = "host_blocked_processes > 1", "energy_joules_total.hardware > 1"
    hub = Hub(now, past, of_host, not_reported)
    whole = view(0, {POWER: None, ENERGY: None})
    absent = {POWER: Absence.STALE, ("energy_joules_total",): Absence.NOT_COLLECTED}
    reading = msgspec.structs.replace(whole.reading, absent=absent)
    hub.report("a", msgspec.structs.replace(whole, reading=reading))
    hub.bring()
    stale = "stale (the last value is too old)"
    assert reasons(hub, now) == [f"power_watts has no value: {stale}"]
    assert reasons(hub, past) == [f"power_watts avg 5m: there never was a value, {stale}"]
    assert "not_collected (not requested" in reasons(hub, not_reported)[0]
    assert reasons(hub, of_host)[0].endswith(": its node reports nothing about the host")
    hub.report("a", view(0), host())
    hub.bring()
    assert reasons(hub, now) == [""]
    assert reasons(hub, of_host) == ["host_blocked_processes has no value"]
    hub.report("a", view(1))
    hub.bring()
    assert reasons(hub, now) == ["power_watts has no value: the device is missing"]
    hub.clock.advance(60)
    hub.bring()
    assert reasons(hub, now) == ["power_watts has no value: its node is down"]


def test_what_an_agent_says_of_itself_is_seen_on_its_node() -> None:
    text = "collector_up.nvidia == 0"
    hub = Hub(text, 'max(collector_vanished_quantities.nvidia, "1m")')
    hub.report("a", view(0))
    hub.report("b", view(0))
    hub.bring()
    assert hub.truth(text) is UNKNOWN
    (source,) = hub.fleet.nodes["a"].sources.values()
    source.own = {("collector_up", "nvidia"): 0, ("collector_vanished_quantities", "nvidia"): 3}
    hub.bring()
    assert hub.truth(text) is True
    assert hub.truth(text, node="b") is UNKNOWN
    hub.report("a", view(0), host(collector_up=1))
    hub.bring()
    assert hub.truth(text) is True
    source.own = {("collector_up", "nvidia"): math.inf}
    hub.bring()
    assert hub.truth(text) is UNKNOWN


GROWING = (
    *CURRENT,
    'event("xid", code == 79)',
    'count("xid", code == 79, within="1h") > 0',
    'avg(power_watts, "1m") > 642',
    'avg(host_blocked_processes, "1m") > 3',
    'power_watts > peer_median(power_watts, by="rack")',
    'peers_affected("a.b", by="node") == 2',
)


@pytest.mark.parametrize("text", GROWING)
def test_devices_that_come_while_rules_are_judged_wait_for_the_next_tick(text: str) -> None:
    """Others have their turn within a tick: nodes report, pages bring the table, rows become more."""
    hub = Hub(text, firing=lambda _: np.ones(64, dtype=np.bool_))
    hub.report("a", view(0), view(1), host(host_blocked_processes=5))
    hub.report("b", view(0), view(1))
    hub.bring()
    size = hub.columns.size
    more = targets_of([f"m{at}" for at in range(10)], {"rack": "r1"})
    hub.fleet.set_targets([*hub.targets, *more])
    for one in more:
        uuids = [f"{one.node}-{at}" for at in range(8)]
        views = [view(at, device=machines.device(at, uuid=uuid)) for at, uuid in enumerate(uuids)]
        views.append(host(host_blocked_processes=1))
        hub.fleet.read(one.key, views, hub.clock.wall(), 1.0)
    asyncio.run(refresh_nodes(hub.fleet, {POWER, ENERGY}, LongWork().yield_control))
    assert hub.fleet.table.rows.size > size
    assert hub.columns.size == size
    still = Hub(text, firing=lambda _: np.ones(64, dtype=np.bool_))
    still.report("a", view(0), view(1), host(host_blocked_processes=5))
    still.report("b", view(0), view(1))
    still.bring()
    assert hub.truth(text) is still.truth(text)
