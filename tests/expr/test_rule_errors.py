"""What is refused in a rule, and how the refusal reads; what only a rule may say."""

import pytest

from accelwatch.base.errors import ExpressionError
from accelwatch.expr import compile_condition, device_names
from accelwatch.expr.rule import compile_rule, compile_rule_value
from accelwatch.expr.vocabulary.kleene import UNKNOWN
from accelwatch.expr.vocabulary.rule_names import rule_names
from support.rules.rule_worlds import World


def refused(text: str) -> str:
    with pytest.raises(ExpressionError) as caught:
        compile_rule(text)
    return str(caught.value)


def test_a_refusal_has_a_caret_and_a_suggestion() -> None:
    assert refused('avg(power_watts, "5m") < 0.6 * peer_median(power_watts, by="jobs")') == (
        "unknown group 'jobs' (column 60)\n"
        '  avg(power_watts, "5m") < 0.6 * peer_median(power_watts, by="jobs")\n'
        "                                                             ^\n"
        "did you mean job?"
    )


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ('rat(power_watts, "5m") > 1', 1, "did you mean rate?"),
        ('avg(power_watts, "5x") > 1', 18, "has the unit x; there are s, m, h and d"),
        ('avg(power_watts, "5 minutes") > 1', 18, 'write "5m"'),
        ('avg(power_watts, "5M") > 1', 18, 'write "5m"'),
        ('avg(power_watts, "5") > 1', 18, "has no unit"),
        ('avg(power_watts, "soon") > 1', 18, "'soon' is not a valid duration"),
        ("avg(power_watts, 300) > 1", 18, "a duration is needed here"),
        ("avg(power_watts, index) > 1", 18, "a duration is needed here"),
        ('avg(power_watts, "1s") > 1', 18, "it is 10s to 1d"),
        ('avg(power_watts, "2d") > 1', 18, "it is 10s to 1d"),
        ('avg(power_watts, "10.5s") > 1', 18, "in whole seconds"),
        ("avg(power_watts) > 1", 1, 'write avg(gauge, "5m")'),
        ('avg(power_watts, "5m", by="job") > 1', 24, "avg has no keyword by"),
        ('avg(vendor, "5m") > 1', 5, "avg is over a quantity, but this is text"),
        ('changed(driver_version, "1h")', 9, "changed is over a quantity, but this is text"),
        ('avg(index, "5m") > 1', 5, "index is not a quantity"),
        ('avg(power_watts + 1, "5m") > 1', 5, "avg is over a quantity itself"),
        ('avg(1, "5m") > 1', 5, "avg is over a quantity itself"),
        ('avg(energy_joules_total, "5m") > 1', 5, 'write rate(energy_joules_total, "5m")'),
        (
            'avg(energy_joules_total, "5m") > 1',
            5,
            "avg is over a gauge, but energy_joules_total is a counter",
        ),
        ('rate(power_watts, "5m") > 1', 6, 'write delta(power_watts, "5m")'),
        ('rate(power_watts, "5m") > 1', 6, "rate is over a counter, but power_watts is a gauge"),
        ('duty(power_watts, "5m") > 1', 6, 'write avg(power_watts, "5m")'),
        ('quantile(power_watts, 95, "5m") > 1', 23, "a quantile is a number from 0 to 1"),
        ('quantile(power_watts, -0.1, "5m") > 1', 23, "a quantile is a number from 0 to 1"),
        ('quantile(power_watts, "5m") > 1', 1, 'write quantile(gauge, 0.95, "5m")'),
        ('age(power_watts, "5m") > 1', 1, "age takes 1 value, not 2"),
        ('avg(power_watts, "5m")', 1, "a condition is needed here, but this is a number"),
        ("rate > 1", 1, "write rate(...)"),
        ("peer_median(power_watts) > 1", 1, 'write peer_median(number, by="job")'),
        ('peer_median(by="job") > 1', 1, "peer_median takes one value"),
        ('peer_median(power_watts, of="job") > 1', 26, "peer_median has no keyword of"),
        ("peer_median(power_watts, by=job) > 1", 29, "group is text in quotes"),
        ('peer_z(vendor, by="job") > 1', 8, "a number is needed here, but this is text"),
        ('peers_affected(power_watts, by="job") > 1', 16, "takes the id of a rule in quotes"),
        ("node.any(job.any(power_watts > 1))", 10, "job.any cannot stand in node.any"),
        ('peer_z(node.share(power_watts > 1), by="job") > 1', 8, "cannot stand in peer_z"),
        ('peer_z(peer_z(power_watts, by="job"), by="job") > 1', 8, "cannot stand in peer_z"),
        ("nod.any(power_watts > 1)", 1, "did you mean node?"),
        ("node.some(power_watts > 1)", 1, "there are node.any, node.all, node.count, node.share"),
        ("node.al(power_watts > 1)", 1, "did you mean all?"),
        ("node.any(power_watts)", 10, "a condition is needed here"),
        ("node.any() and True", 1, "node.any takes one condition, not 0"),
        ("node.any() and True", 1, "write node.any(temperature_celsius > 85)"),
        ('peer_median(power_watts, bys="job") > 1', 26, "did you mean by?"),
        ('power_watts.gpu.avg("5m") > 1', 1, "only a function can be called"),
        ("device_info > 1", 1, "device_info does not describe a device"),
        ("node.count > 3", 1, "write node.count(...)"),
        ("node.any(power_watts > 1, by=1)", 27, "node.any has no keyword by"),
        ('event("xd")', 7, "did you mean xid?"),
        ('event("whatever")', 7, 'write "any", code == "whatever" for a code'),
        ('event("xid_79")', 7, 'write "xid", code == 79'),
        ('event("nfs_not_responding")', 7, 'write "nfs", code == "nfs_not_responding"'),
        ("event(vendor)", 7, "kind of event is text in quotes"),
        ("event()", 1, "event needs a kind of event"),
        ('event("xid", cod == 3)', 14, "did you mean code?"),
        ('event("xid", cod=3)', 14, "did you mean code?"),
        ('event("xid", code="a")', 19, "a number cannot be compared with text"),
        ('event("nfs", code > 3)', 21, "text cannot be compared with a number"),
        ('event("any", severity == "bad")', 26, "severity is never 'bad'"),
        ('event("xid", power_watts > 3)', 14, "unknown name power_watts"),
        ('event("xid", node.any(True))', 14, "can be used only in a rule"),
        ('event("xid", within=10)', 21, "a duration is needed here"),
        ('event("xid", within="90d")', 21, "it is 1s to 30d"),
        ('last("boot", within="3s") > 1', 14, "last looks back without an end"),
        ('event("xid", until="noon")', 20, "it is one of boot"),
        ('event("xid", until=boot)', 20, "end of an event is text in quotes"),
        ('event("xid", until="boot", within="1h")', 35, 'either within= or until="boot"'),
        ('last("xid", until="boot") > 1', 19, "only event ends with a boot, not last"),
        ('count("xid", within="1h", until="boot") > 1', 33, "not count"),
        ('count("boot", within="1h") > 1', 7, "only the last boot is known"),
        ('last("boot", code == "boot") > 1', 14, "a boot has no fields"),
        ('last("boot", code="boot") > 1', 19, "a boot has no fields"),
        ('event("boot", until="boot")', 21, "a boot does not end with a boot"),
        ('count(event("xid", until="boot"), "1h") > 1', 26, "not count"),
        ('since(event("xid", within="3s")) > 1', 7, 'write since("xid", code == 79)'),
        ('since(event("xid", within="3s")) > 1', 7, "within stands outside of event in since"),
        ("since(age(power_watts)) > 1", 7, "since is about events"),
        ('count("xid") > 3', 1, "count needs within="),
        ('count(event("xid"), code == 3, within="1h") > 3', 21, "this belongs into event(...)"),
        ("labels == 'x'", 1, "write for example labels.rack"),
        ("labels.a.b == 'x'", 1, "labels needs the name of one label"),
        ('avg(power_watts, "5m").gpu > 1', 1, "labels belong to a name"),
        ('power_watts.avg("5m") > 1', 1, "only a function can be called"),
        ("power_watts.any(True)", 1, "power_watts is not a group of devices"),
    ],
)
def test_a_refusal_names_the_line_and_the_correction(text: str, column: int, message: str) -> None:
    errors = refused(text)
    assert message in errors
    assert f"(column {column})" in errors


@pytest.mark.parametrize(
    "text",
    [
        'avg(power_watts, "5m") > 1',
        'min(power_watts, "5m") > 1',
        'event("xid")',
        'since("xid") < 5',
        'peer_z(power_watts, by="job") > 3',
        "node.any(power_watts > 1)",
    ],
)
def test_a_filter_has_no_past_and_no_peers(text: str) -> None:
    with pytest.raises(ExpressionError, match="can be used only in a rule"):
        compile_condition(text, device_names())


def test_a_function_that_a_filter_has_may_not_look_back_there() -> None:
    with pytest.raises(ExpressionError, match="min over time can be used only in a rule"):
        compile_condition('min(power_watts, "5m") > 1', device_names())
    with pytest.raises(ExpressionError, match="avg can be used only in a rule"):
        compile_condition('avg(power_watts, "5m") > 1', device_names())


@pytest.mark.parametrize("text", ["labels.rack == 'a'", "host_blocked_processes > 3"])
def test_a_filter_has_no_names_of_rules(text: str) -> None:
    with pytest.raises(ExpressionError, match="unknown name labels|cannot be used here"):
        compile_condition(text, device_names())


@pytest.mark.parametrize(
    "text",
    [
        'avg(power_watts, "5m") < 0.6 * peer_median(power_watts, by="job")',
        "min(power_watts, 3) > 1 and max(1, 2) == 2",
        'event("xid", code in [48, 79], within="10s") or state == "lost"',
        'state == "unreachable" and node_state == "down"',
        'since(event("xid", code=79)) < 60 and last("xid") > last("boot")',
        'count(event("xid", code == 63), "24h") >= 3',
        'changed(power_watts, "1h") and changed(energy_joules_total, "1h")',
        'labels.pool == "train" and labels["k8s/zone"] != "b" and job != "7"',
        'job.all(utilization_ratio > 0.9 and power_watts < 0.8 * peer_median(power_watts, by="model"))',
        "node.count() < 8 and rack.count(state == 'lost') >= 3",
        'rate(host_nfs_requests_total["/home"], "5m") < 1 and host_clock_synchronized',
        'peers_affected("nvidia.gpu.lost", by="rack") >= 3',
        'event("any", trusted == False)',
    ],
)
def test_a_rule_may_say(text: str) -> None:
    assert compile_rule(text).text == text


def test_a_value_may_be_of_any_type() -> None:
    assert compile_rule_value('avg(power_watts, "5m")').type == "a number"


def test_the_parts_know_where_they_stand() -> None:
    text = 'missing(model) or (avg(power_watts, "5m")  <  3)'
    tree = compile_rule(text).tree
    assert text[slice(*tree.span)] == text
    compared = getattr(tree, "operands")[1]  # noqa: B009 - Logic is one of many nodes
    assert text[slice(*compared.span)] == 'avg(power_watts, "5m")  <  3'
    assert text[slice(*compared.operands[0].span)] == 'avg(power_watts, "5m")'


def test_only_a_condition_is_true_or_false() -> None:
    rule = compile_rule_value("power_watts + 1")
    row = World(1, numbers={("power_watts",): [300.0]}).rows[0]
    assert rule.value(row) == 301.0
    with pytest.raises(ExpressionError) as caught:
        rule.evaluate(row)
    assert str(caught.value) == (
        "a condition is needed, but this is a number (column 1)\n  power_watts + 1\n  ^"
    )


@pytest.mark.parametrize("number", [0, 1])
def test_a_flag_is_a_condition(number: int) -> None:
    rule = compile_rule_value("ecc_enabled")
    assert rule.evaluate(World(1, numbers={("ecc_enabled",): [number]}).rows[0]) is bool(number)
    assert rule.evaluate(World(1).rows[0]) is UNKNOWN


def test_a_quantity_of_something_else_is_named_as_such() -> None:
    with pytest.raises(ExpressionError, match="device_info does not describe a device"):
        compile_rule_value("device_info", rule_names())


def test_a_value_has_the_names_that_are_given() -> None:
    assert compile_rule_value("labels.rack").text == "labels.rack"
    with pytest.raises(ExpressionError, match="unknown name labels"):
        compile_rule_value("labels.rack", device_names())
