"""What a rule asks for, what its windows cost, and when they cost too much."""

import pytest

from accelwatch.base.errors import ExpressionError
from accelwatch.expr.checking.tree import EventPattern
from accelwatch.expr.needs import EventNeed, WindowNeed, refuse_costly, window_bytes
from accelwatch.expr.rule import compile_rule
from accelwatch.expr.vocabulary.windows import WindowKind

POWER, GPU, JUNCTION = (
    ("power_watts",),
    ("temperature_celsius", "gpu"),
    ("temperature_celsius", "junction"),
)


def test_what_a_rule_needs() -> None:
    needs = compile_rule(
        'min(temperature_celsius, "90s") > 80 and labels.pool == "a" and vendor == "nvidia"'
        ' and node.any(event("xid", code == 79)) and count("nfs", within="1d") > 2'
        ' and peer_z(power_watts, by="job") > 3 and peers_affected("a.b", by="rack") > 1'
    ).needs
    assert needs.series == {POWER, GPU, JUNCTION}
    assert needs.fields == {"vendor"}
    assert needs.labels == {"pool"}
    assert needs.windows == {
        WindowNeed("min", GPU, 90, of_job=True),
        WindowNeed("min", JUNCTION, 90, of_job=True),
    }
    assert needs.events == {
        EventNeed(EventPattern("xid", "(code == 79)"), 600),
        EventNeed(EventPattern("nfs", ""), 86400),
    }
    assert needs.groups == {"node", "job", "rack"}
    assert needs.rules == {"a.b"}


def test_an_event_that_only_a_boot_ends_needs_the_uptime() -> None:
    uptime = ("host_uptime_seconds",)
    needs = compile_rule('node.any(event("xid", until="boot"))').needs
    assert needs.series == {uptime}
    assert needs.windows == {WindowNeed("age", uptime, 0)}
    assert needs.events == {EventNeed(EventPattern("xid", ""), 30 * 86400)}


@pytest.mark.parametrize("text", ['last("boot") > 1', 'since("boot") > 1', 'event("boot")'])
def test_a_boot_needs_the_uptime_and_no_event(text: str) -> None:
    needs = compile_rule(f"node.any({text})").needs
    assert needs.series == {("host_uptime_seconds",)}
    assert not needs.events


def test_how_a_window_reads() -> None:
    assert str(WindowNeed("avg", POWER, 90)) == "avg of power_watts over 90s"
    assert str(WindowNeed("age", GPU, 0)) == "age of temperature_celsius.gpu"
    of_job = WindowNeed("avg", POWER, 90, of_job=True)
    assert str(of_job) == "avg of power_watts over 90s since its job began"


@pytest.mark.parametrize(
    ("text", "of_job"),
    [
        ('avg(power_watts, "5m") > 1', False),
        ('node.any(avg(power_watts, "5m") > 1)', False),
        ('avg(power_watts, "5m") < peer_median(power_watts, by="model")', False),
        ('job.any(avg(power_watts, "5m") > 1)', True),
        ('avg(power_watts, "5m") > 1 and job.count() > 2', True),
        ('avg(power_watts, "5m") < peer_median(power_watts, by="stage_model")', True),
        ('avg(power_watts, "5m") > 1 and peers_affected("a.b", by="job") > 1', True),
        ('job.any(avg(host_memory_available_bytes, "5m") > 1)', False),
        ("job.any(age(power_watts) > 1)", False),
    ],
)
def test_a_rule_that_looks_at_a_job_has_windows_of_the_job(text: str, of_job: bool) -> None:
    (window,) = compile_rule(text).needs.windows
    assert window.of_job is of_job


def test_needs_of_several_rules_are_joined() -> None:
    one = compile_rule("power_watts > 1").needs
    two = compile_rule('avg(power_watts, "5m") > 1 and job.any(vendor == "a")').needs
    both = one | two
    assert both.series == {POWER}
    assert both.windows == two.windows
    assert both.groups == {"job"}
    assert both.fields == {"vendor"}


def test_windows_of_a_series_share_what_is_kept() -> None:
    short, long = WindowNeed("avg", POWER, 60), WindowNeed("avg", POWER, 900)
    assert window_bytes([short, long], 8000, 1000) == window_bytes([long], 8000, 1000)
    # 90 closed steps of a single-precision sum and a byte of a count, what is open, the last sample
    assert window_bytes([long], 8000, 1000) == 8000 * (90 * (4 + 1) + 2 * 16 + 16)
    assert window_bytes([WindowNeed("age", POWER, 0)], 10, 2) == 160


@pytest.mark.parametrize(("devices", "nodes"), [(8000, 1000), (8000, 8000), (7, 7), (7, 1)])
def test_windows_over_a_host_are_kept_once_for_each_node(devices: int, nodes: int) -> None:
    host = WindowNeed("avg", ("host_memory_available_bytes",), 900)
    device = WindowNeed("avg", POWER, 900)
    each = window_bytes([device], 1, 1)
    assert window_bytes([host], devices, nodes) == nodes * each
    assert window_bytes([host, device], devices, nodes) == (nodes + devices) * each


def test_a_counter_that_changed_needs_its_growth_only() -> None:
    energy = ("energy_joules_total",)
    changed = WindowNeed(WindowKind.CHANGED, energy, 3600)
    assert changed.components == WindowNeed(WindowKind.INCREASE, energy, 3600).components
    assert len(WindowNeed(WindowKind.CHANGED, POWER, 3600).components) == 3


def test_windows_that_take_too_much_are_refused_by_name() -> None:
    rules = {
        "a.dear": compile_rule('quantile(power_watts, 0.9, "1d") > 1').needs,
        "b.small": compile_rule('avg(power_watts, "5m") > 1 and max(index, 3) > 1').needs,
        "c.dear": compile_rule('quantile(power_watts, 0.9, "1d") > 2').needs,
    }
    refuse_costly(rules, 100, 100)
    with pytest.raises(ExpressionError) as caught:
        refuse_costly(rules, 8000, 1000)
    message = str(caught.value)
    assert (
        "the windows of these rules take 330 MiB for 8000 devices on 1000 nodes, "
        "and the most is 256 MiB" in message
    )
    assert "  quantile of power_watts over 1d (330 MiB): a.dear, c.dear\n" in message
    assert message.index("a.dear") < message.index("b.small")
