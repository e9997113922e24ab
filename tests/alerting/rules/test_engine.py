"""Rules over entities, tick by tick."""

from pathlib import Path

import pytest

from accelwatch.alerting.rules.budget import MOST_OVERRUNS, Budgets
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.engine import Engine
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule
from accelwatch.alerting.rules.testing.world import Member, World
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity, Evidence, VerdictChange
from accelwatch.base.errors import ConfigError
from accelwatch.expr.needs import Needs
from accelwatch.schema.event import Category, ErrorEvent

HOT = """\
version: 1
defaults: {keep: 0}
rules:
- id: test.hot
  title: Too hot
  when: temperature_celsius > 90
"""
TEMPERATURE = ("temperature_celsius", "gpu")


def rules_of(folder: Path, text: str) -> dict[str, Rule]:
    file = folder / "rules.yaml"
    file.write_text(text, encoding="utf-8")
    return dict(load([file]).rules)


class Stage:
    """A world with an engine, ten seconds a tick."""

    def __init__(self, rules: dict[str, Rule], *members: Member, start: float = 1000.0) -> None:
        needs = Needs()
        for rule in rules.values():
            for expression in rule.expressions:
                needs |= expression.needs
        self.world = World(needs, 10.0, members)
        self.engine = self.world.engine = Engine(rules)
        self.now = start

    def tick(self) -> list[VerdictChange]:
        self.world.tick(self.now)
        changes = self.engine.step(self.world.subjects(), self.now, self.now + 5000.0)
        self.now += 10.0
        return changes

    def heat(self, celsius: float | None, device: str = "nvidia0", node: str = "n1") -> None:
        values = self.world.members[node, device].values
        values.pop(TEMPERATURE, None)
        if celsius is not None:
            values[TEMPERATURE] = celsius


def gpu(device: str = "nvidia0", node: str = "n1", **fields: str | float) -> Member:
    return Member(node=node, device=device, fields=fields)


def device(name: str = "nvidia0", node: str = "n1") -> Entity:
    return Entity(scope=Scope.DEVICE, node=node, device=name)


def test_a_verdict_that_changes_is_reported_once(tmp_path: Path) -> None:
    stage = Stage(rules_of(tmp_path, HOT), gpu())
    stage.heat(95.0)
    (change,) = stage.tick()
    assert (change.rule, change.entity, change.transition) == (
        "test.hot",
        device(),
        Transition.FIRED,
    )
    assert (change.time, change.since) == (6000.0, 6000.0)
    assert stage.tick() == []
    stage.heat(60.0)
    (change,) = stage.tick()
    assert change.transition is Transition.CLEARED
    assert (change.time, change.since) == (6020.0, 6000.0)


def test_it_started_when_the_condition_did(tmp_path: Path) -> None:
    stage = Stage(rules_of(tmp_path, HOT + "  for: 20s\n"), gpu())
    stage.heat(95.0)
    assert stage.tick() + stage.tick() == []
    (change,) = stage.tick()
    assert (change.time, change.since) == (6020.0, 6000.0)


def test_each_device_is_judged_for_itself(tmp_path: Path) -> None:
    stage = Stage(rules_of(tmp_path, HOT), gpu(), gpu("nvidia1"))
    stage.heat(95.0, "nvidia1")
    stage.heat(50.0)
    assert [one.entity for one in stage.tick()] == [device("nvidia1")]


def test_who_is_not_selected_is_not_judged(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  select: {vendor: nvidia}\n")
    stage = Stage(rules, gpu(vendor="amd"), gpu("nvidia1", vendor="nvidia"), gpu("x"))
    for name in ("nvidia0", "nvidia1", "x"):
        stage.heat(95.0, name)
    assert [one.entity for one in stage.tick()] == [device("nvidia1")]


def test_rules_of_devices_and_of_nodes_may_have_the_same_selection(tmp_path: Path) -> None:
    text = HOT + (
        "  select: {node: n2}\n"
        "- id: test.load\n  title: Busy\n  scope: node\n  select: {node: n2}\n"
        '  when: "host_load_average[1] > 50"\n'
    )
    host = Member(node="n2", values={("host_load_average", "1"): 99.0})
    stage = Stage(rules_of(tmp_path, text), gpu(), gpu("nvidia1"), gpu(node="n2"), host)
    stage.heat(95.0)
    stage.heat(95.0, node="n2")
    assert [(one.rule, one.entity) for one in stage.tick()] == [
        ("test.hot", device(node="n2")),
        ("test.load", Entity(scope=Scope.NODE, node="n2")),
    ]


def test_who_is_no_longer_selected_is_over(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  select: {vendor: nvidia}\n")
    member = gpu(vendor="nvidia")
    stage = Stage(rules, member)
    stage.heat(95.0)
    stage.tick()
    member.fields = {"vendor": "amd"}
    assert [one.transition for one in stage.tick()] == [Transition.CLEARED]


def test_when_it_is_unknown_whether_one_is_selected_nothing_is_over(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  select: {vendor: nvidia}\n")
    member = gpu(vendor="nvidia")
    stage = Stage(rules, member)
    stage.heat(95.0)
    stage.tick()
    member.fields = {}
    stage.heat(20.0)
    assert stage.tick() == []
    assert stage.engine.alert_states.is_firing("test.hot", device())


def test_who_has_gone_is_unknown_and_is_reported_after_a_while(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  unknown_after: 30s\n")
    stage = Stage(rules, gpu())
    stage.heat(95.0)
    stage.tick()
    changes = [
        change
        for at in range(6)
        for change in stage.engine.step({}, stage.now + 10 * at, 6000.0 + 10 * at)
    ]
    assert [one.transition for one in changes] == [Transition.BLIND]
    assert changes[0].evidence == ()
    assert stage.engine.alert_states.is_firing("test.hot", device())


@pytest.mark.parametrize(("hold", "firing"), [("1m", False), ("0", True)])
def test_what_has_only_started_is_forgotten_of_who_has_gone_for_a_day(
    tmp_path: Path, hold: str, firing: bool
) -> None:
    rules = rules_of(tmp_path, HOT + f"  for: {hold}\n")
    stage = Stage(rules, gpu())
    stage.heat(95.0)
    stage.tick()
    states, rule = stage.engine.alert_states, rules["test.hot"]
    for hours in (1, 23.99):
        stage.engine.step({}, stage.now + 3600 * hours, 6000.0)
        assert states.blind(rule) == 1
    stage.engine.step({}, stage.now + 3600 * 24.1, 6000.0)
    assert states.is_firing("test.hot", device()) is firing
    assert states.blind(rule) == int(firing)


def test_who_has_gone_is_waited_for_until_that_is_reported(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  for: 1m\n  unknown_after: 2d\n")
    stage = Stage(rules, gpu())
    stage.heat(95.0)
    stage.tick()
    states = stage.engine.alert_states
    assert stage.engine.step({}, stage.now + 3600 * 47, 6000.0) == []
    assert states.of("test.hot")
    (reported,) = stage.engine.step({}, stage.now + 3600 * 49, 6000.0)
    assert reported.transition is Transition.BLIND
    assert not states.of("test.hot")


def test_who_is_there_and_not_known_is_not_forgotten(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  for: 1m\n")
    stage = Stage(rules, gpu())
    stage.heat(95.0)
    stage.tick()
    stage.heat(None)
    stage.now += 3600 * 25
    stage.tick()
    stage.tick()
    assert stage.engine.alert_states.blind(rules["test.hot"]) == 1


def test_a_rule_that_is_off_says_nothing(tmp_path: Path) -> None:
    stage = Stage(rules_of(tmp_path, HOT + "  mode: off\n"), gpu())
    stage.heat(95.0)
    assert stage.tick() == []


def test_a_rule_that_says_something_else_starts_anew(tmp_path: Path) -> None:
    stage = Stage(rules_of(tmp_path, HOT), gpu())
    stage.heat(95.0)
    stage.tick()
    stage.engine.set_rules(rules_of(tmp_path, HOT + "  tests: []\n"))
    assert stage.engine.alert_states.is_firing("test.hot", device())
    stage.engine.set_rules(rules_of(tmp_path, HOT.replace("90", "91")))
    assert stage.engine.alert_states.is_firing("test.hot", device()) is False
    stage.engine.set_rules({})
    assert stage.engine.alert_states.is_firing("test.hot", device()) is None


def test_a_rule_can_ask_whether_another_one_fires(tmp_path: Path) -> None:
    text = HOT + (
        "- id: test.many\n  title: Many are hot\n"
        '  when: peers_affected("test.hot", by="node") >= 2\n'
    )
    stage = Stage(rules_of(tmp_path, text), gpu(), gpu("nvidia1"))
    stage.heat(95.0)
    stage.heat(95.0, "nvidia1")
    assert {one.rule for one in stage.tick()} == {"test.hot"}
    assert [one.rule for one in stage.tick()] == ["test.many", "test.many"]


def test_a_node_is_judged_by_its_host_and_by_its_devices(tmp_path: Path) -> None:
    text = """\
version: 1
rules:
- {id: test.load, title: Busy, scope: node, when: "host_load_average[1] > 50"}
- {id: test.two, title: Two hot, scope: node, when: "node.count(temperature_celsius > 90) == 2"}
"""
    host = Member(node="n1", values={("host_load_average", "1"): 99.0})
    stage = Stage(rules_of(tmp_path, text), host, gpu(), gpu("nvidia1"), gpu(node="n2"))
    stage.heat(95.0)
    stage.heat(95.0, "nvidia1")
    node = Entity(scope=Scope.NODE, node="n1")
    assert {(one.rule, one.entity) for one in stage.tick()} == {
        ("test.load", node),
        ("test.two", node),
    }


def test_a_job_is_judged_as_a_whole(tmp_path: Path) -> None:
    text = """\
version: 1
rules:
- {id: test.job, title: Job, scope: job, when: "job.share(temperature_celsius > 90) >= 0.5"}
- {id: test.rack, title: Rack, scope: rack, when: "rack.all(temperature_celsius > 90)"}
"""
    rack = {"labels.rack": "r1"}
    stage = Stage(
        rules_of(tmp_path, text),
        gpu(job="a", **rack),
        gpu(node="n2", job="a"),
        gpu(node="n3", job="b"),
    )
    stage.heat(95.0)
    stage.heat(20.0, node="n2")
    stage.heat(20.0, node="n3")
    assert [one.entity for one in stage.tick()] == [
        Entity(scope=Scope.JOB, job="a"),
        Entity(scope=Scope.RACK, rack="r1"),
    ]


@pytest.mark.parametrize(
    ("scope", "when", "message"),
    [
        ("node", "temperature_celsius > 90", "temperature_celsius does not describe a node"),
        ("node", 'vendor == "amd"', "vendor does not describe a node"),
        ("node", "job.any(device_up == 0)", "a node is not in one job"),
        ("node", 'peer_z(host_uptime_seconds, by="rack") > 3', "a node has no peers"),
        ("job", "host_uptime_seconds < 60", "host_uptime_seconds does not describe a job"),
        ("job", 'labels.rack == "r1"', "labels.rack does not describe a job"),
        ("rack", "node.any(device_up == 0)", "a rack is not in one node"),
        ("node", "detector.device.alert", "detector.device.alert does not describe a node"),
        ("job", "detector.group.alert", "detector.group.alert does not describe a job"),
        ("job", "detector.alert", "detector.alert does not describe a job"),
    ],
)
def test_what_a_scope_cannot_answer_is_refused(
    tmp_path: Path, scope: str, when: str, message: str
) -> None:
    text = f"version: 1\nrules:\n- {{id: a, title: A, scope: {scope}, when: '{when}'}}\n"
    with pytest.raises(ConfigError) as error:
        rules_of(tmp_path, text)
    assert message in str(error.value)
    assert f"write {scope}.any(" in str(error.value)


def test_evidence_is_what_holds_with_its_values(tmp_path: Path) -> None:
    when = "temperature_celsius > 90 and (power_watts < 200 or fan_speed_ratio[0] == 0)"
    stage = Stage(rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when)), gpu())
    stage.world.members["n1", "nvidia0"].values[("power_watts",)] = 112.4
    stage.heat(95.0)
    (change,) = stage.tick()
    assert change.evidence == (
        Evidence(
            signal="temperature_celsius.gpu",
            text="temperature_celsius is 95 °C, > 90 °C",
            value=95.0,
            expected=90.0,
        ),
        Evidence(
            signal="power_watts", text="power_watts is 112 W, < 200 W", value=112.4, expected=200.0
        ),
    )


def test_evidence_compares_with_the_peers_in_their_unit(tmp_path: Path) -> None:
    when = """'power_watts < 0.6 * peer_median(power_watts, by="node")'"""
    rules = rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when))
    stage = Stage(rules, *(gpu(f"nvidia{at}") for at in range(5)))
    for at in range(5):
        watts = 120.0 if at == 3 else 700.0
        stage.world.members["n1", f"nvidia{at}"].values[("power_watts",)] = watts
    (change,) = stage.tick()
    assert change.entity == device("nvidia3")
    assert [one.text for one in change.evidence] == [
        'power_watts is 120 W, < 420 W (0.6 * peer_median(power_watts, by="node"))'
    ]


def test_evidence_of_events_has_their_text_and_their_trust(tmp_path: Path) -> None:
    when = """'event("xid", code == 79)'"""
    stage = Stage(rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when)), gpu())
    stage.tick()
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=1005.0,
        text="GPU has fallen off the bus",
        source="kernel_log",
        device_id="nvidia0",
    )
    stage.world.add_event("n1", event)
    (change,) = stage.tick()
    assert change.evidence == (
        Evidence(
            signal="xid_79",
            text="xid_79: GPU has fallen off the bus",
            since=1005.0,
            source="kernel_log",
            event=event,
        ),
    )


@pytest.mark.parametrize(
    ("when", "reported", "expected"),
    [
        ("""'state in ("lost", "missing")'""", "state is lost", None),
        ("index in (3, 4)", "index is 3, in (3, 4)", None),
        ("index not in (5, 6)", "index is 3, not in (5, 6)", None),
    ],
)
def test_evidence_of_a_list(tmp_path: Path, when: str, reported: str, expected: None) -> None:
    rules = rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when))
    (change,) = Stage(rules, gpu(state="lost", index=3)).tick()
    (line,) = change.evidence
    assert (line.text, line.expected) == (reported, expected)


def test_evidence_of_an_event_of_any_device_has_its_text(tmp_path: Path) -> None:
    when = """'node.any(event("xid", code == 79))'\n  scope: node"""
    rules = rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when))
    stage = Stage(rules, gpu("nvidia0"), gpu("nvidia1"))
    stage.tick()
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=1005.0,
        text="GPU has fallen off the bus",
        source="kernel_log",
        device_id="nvidia1",
    )
    stage.world.add_event("n1", event)
    (change,) = stage.tick()
    assert [one.text for one in change.evidence] == ["xid_79: GPU has fallen off the bus"]


def test_what_a_rule_shows_comes_first(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT + "  show: [power_watts, model, 'age(power_watts)']\n")
    stage = Stage(rules, gpu(model="H100"))
    stage.heat(95.0)
    (change,) = stage.tick()
    assert [one.text for one in change.evidence] == [
        "power_watts is not known",
        "model is H100",
        "age(power_watts) is not known",
        "temperature_celsius is 95 °C, > 90 °C",
    ]


def test_a_rule_that_costs_too_much_is_switched_off_until_it_changes(tmp_path: Path) -> None:
    rules = rules_of(tmp_path, HOT)
    stage = Stage(rules, gpu())
    reading = iter(range(0, 10**12, 12_000_000))
    budgets = Budgets(0.01)
    stage.engine = Engine(rules, lambda: next(reading), budgets)
    for _ in range(MOST_OVERRUNS):
        assert budgets.switched_off == {}
        stage.tick()
    assert budgets.switched_off == {
        "test.hot": (
            "it took 12 ms of processor time at a tick, 30 times in a row, and may take 10 ms"
        )
    }
    stage.heat(95.0)
    assert stage.tick() == []
    stage.engine.set_rules(rules_of(tmp_path, HOT.replace("90", "91")))
    assert [one.rule for one in stage.tick()] == ["test.hot"]


def folded(folder: Path, when: str) -> list[str]:
    """The evidence of a condition over a node of which the second of two devices is lost and hot."""
    rules = rules_of(folder, HOT.replace("temperature_celsius > 90", f"'{when}'\n  scope: node"))
    stage = Stage(rules, gpu("nvidia0", state="ok"), gpu("nvidia1", state="lost"))
    for at, watts in enumerate((70.0, 700.0)):
        stage.world.members["n1", f"nvidia{at}"].values[("power_watts",)] = watts
    (change,) = stage.tick()
    return [one.text for one in change.evidence]


@pytest.mark.parametrize(
    ("when", "reported"),
    [
        ('node.any(state == "lost")', ["nvidia1: state is lost"]),
        (
            "node.share(power_watts > 600) >= 0.5",
            ["50% of the devices of the node, >= 50%", "nvidia1: power_watts is 700 W, > 600 W"],
        ),
        (
            "node.count(power_watts > 600) == 1",
            ["1 of the devices of the node, == 1", "nvidia1: power_watts is 700 W, > 600 W"],
        ),
        ("node.count() == 2", ["2 of the devices of the node, == 2"]),
        (
            'missing(host_uptime_seconds) and node.any(state == "lost")',
            ["nvidia1: state is lost"],
        ),
    ],
)
def test_evidence_of_a_group_names_a_member(tmp_path: Path, when: str, reported: list[str]) -> None:
    assert folded(tmp_path, when) == reported


def test_what_is_not_there_is_evidence_where_nothing_else_is(tmp_path: Path) -> None:
    when = "missing(power_watts)"
    rules = rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when))
    (change,) = Stage(rules, gpu()).tick()
    assert [one.text for one in change.evidence] == ["missing(power_watts)"]


def test_how_long_ago_an_event_was_comes_from_the_event(tmp_path: Path) -> None:
    when = """'since("nfs", code == "nfs_not_responding") < 600 and missing(since("boot"))'"""
    rules = HOT.replace("temperature_celsius > 90", f"{when}\n  scope: node")
    stage = Stage(rules_of(tmp_path, rules), gpu())
    stage.tick()
    event = ErrorEvent(
        code="nfs_not_responding",
        category=Category.OTHER,
        time=1005.0,
        text="nfs: server storage01 not responding, still trying",
        source="kernel_log",
    )
    stage.world.add_event("n1", event)
    (change,) = stage.tick()
    reported = "nfs_not_responding: nfs: server storage01 not responding, still trying"
    assert [(one.text, one.since) for one in change.evidence] == [(reported, 1005.0)]


@pytest.mark.parametrize(
    ("when", "reported"),
    [
        ("interconnect_errors_total.nvlink.crc > 5.5", "109.1, > 5.5"),
        ("interconnect_errors_total.nvlink.crc * 1000 > 5.5", "109091, > 5.5"),
    ],
)
def test_a_number_has_four_digits_that_count(tmp_path: Path, when: str, reported: str) -> None:
    rules = rules_of(tmp_path, HOT.replace("temperature_celsius > 90", when))
    stage = Stage(rules, gpu())
    values = stage.world.members["n1", "nvidia0"].values
    values["interconnect_errors_total", "nvlink", "crc"] = 109.0909090909
    (change,) = stage.tick()
    assert change.evidence[0].text.endswith(reported)
