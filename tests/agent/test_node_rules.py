"""Rules on one node: what they see of its snapshots, the incidents they become, files that change."""

import asyncio
import gc
import json
import weakref
from collections.abc import Callable, Coroutine
from pathlib import Path

import msgspec
import pytest

from accelwatch.agent.rules.evaluator import NodeEvaluator
from accelwatch.agent.rules.node_note import node_note
from accelwatch.agent.rules.rule_evaluator import NodeRuleEvaluator
from accelwatch.alerting.evaluation.event_deduplicator import MAX_AGE_S
from accelwatch.alerting.evaluation.pages import IncidentPages
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind
from accelwatch.alerting.rules.budget import MOST_OVERRUNS
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.timing import Transition
from accelwatch.alerting.rules.verdict import Entity, VerdictChange
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import ConfigError, UnmetError
from accelwatch.config.model import RuleSettings
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from support.machines import composed as machines
from support.rules.ticks import Ticks
from support.servers.fake_feed import FakeFeed

POWER = ("power_watts",)
LOST = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules:
- id: gpu.lost
  title: GPU has fallen off the bus
  when: state == "lost"
  severity: critical
"""


def rules_file(folder: Path, *rules: str) -> Path:
    file = folder / "rules.yaml"
    text = "version: 1\ndefaults: {keep: 0, cooldown: 0}\nrules:\n"
    file.write_text(text + "".join(f"- {{{one}}}\n" for one in rules), encoding="utf-8")
    return file


def power(index: int, watts: Number) -> DeviceView:
    one = machines.view(index)
    values: dict[Series, Number] = {**one.reading.values, POWER: watts}
    reading = msgspec.structs.replace(one.reading, values=values)
    return msgspec.structs.replace(one, reading=reading)


def xid(at: float, **changes: object) -> ErrorEvent:
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=at,
        text="GPU has fallen off the bus",
        source="kernel_log",
        device_id=machines.device(1).id,
    )
    return msgspec.structs.replace(event, **changes)


class Node:
    """A judge that is shown one snapshot a second."""

    def __init__(self, folder: Path, *rules: str, listened: bool = True) -> None:
        self.judge = NodeRuleEvaluator(
            load([rules_file(folder, *rules)]).rules, 1.0, listened=listened
        )
        self.at = 100.0

    def see(self, *views: DeviceView, **changes: object) -> list[VerdictChange]:
        self.at += 1.0
        time = machines.NOW + self.at
        return self.judge.tick(machines.snapshot(*views, **{"time": time, **changes}), self.at)

    def fired(self, *views: DeviceView, **changes: object) -> list[str]:
        transitions = self.see(*views, **changes)
        return [str(one.entity) for one in transitions if one.transition is Transition.FIRED]


def test_an_event_fires_until_a_boot_which_a_restart_of_the_agent_is_not(tmp_path: Path) -> None:
    rule = 'id: xid, title: x, when: \'event("xid", code == 79, until="boot")\''
    device, fault_time = machines.view(1), machines.NOW + 101.0

    def restarted(later_s: float) -> Node:
        node = Node(tmp_path, rule)
        node.at += later_s
        return node

    events = (xid(fault_time - 900.0),)
    assert restarted(0.0).fired(device, events=events, boot_time=fault_time - 9000.0)
    assert restarted(2400.0).fired(device, events=events, boot_time=fault_time - 9000.0)
    assert restarted(0.0).fired(device, events=events, boot_time=fault_time - 1000.0)
    assert not restarted(0.0).fired(device, events=events, boot_time=fault_time - 300.0)
    assert not restarted(0.0).fired(device, events=events)


def test_what_was_read_goes_with_its_tick(tmp_path: Path) -> None:
    """It waits for no collection: readings of a second are as large as the rules themselves."""
    peers = "id: low, title: t, when: 'power_watts < 0.1 * peer_median(power_watts, by=\"model\")'"
    node = Node(tmp_path, peers)
    views = [power(index, 300 + index) for index in range(4)]
    gc.disable()
    try:
        node.see(*views)
        before = weakref.ref(node.judge.evaluated[Scope.DEVICE][0].environment)
        assert before() is not None
        node.see(*views[1:], power(0, 250))
        assert before() is None
    finally:
        gc.enable()


def unpowered(index: int) -> DeviceView:
    """A device that reports no power."""
    one = machines.view(index)
    values = {key: value for key, value in one.reading.values.items() if key != POWER}
    return msgspec.structs.replace(one, reading=msgspec.structs.replace(one.reading, values=values))


def test_a_rule_wakes_when_a_device_reports_its_series_for_the_first_time(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: low, title: t, when: "power_watts < 200"')
    assert node.fired(unpowered(0)) == []
    assert node.fired(power(0, 100.0)) == [f"n01 {machines.device(0).id}"]


def test_a_rule_wakes_when_there_is_a_device_of_its_vendor(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: low, title: t, select: {vendor: amd}, when: "power_watts < 200"')
    assert node.fired(power(0, 100.0)) == []
    other = power(1, 100.0)
    other = msgspec.structs.replace(
        other, device=msgspec.structs.replace(other.device, vendor="amd")
    )
    assert node.fired(power(0, 100.0), other) == [f"n01 {machines.device(1).id}"]


@pytest.mark.parametrize("when", ["device_up == 0", "not device_up"])
def test_what_follows_from_the_state_of_a_device_is_reported_by_none(
    tmp_path: Path, when: str
) -> None:
    node = Node(tmp_path, f'id: gone, title: t, when: "{when}"')
    assert node.fired(machines.view(0)) == []
    assert node.fired(machines.lost_view(0)) == [f"n01 {machines.device(0).id}"]


def test_a_series_that_was_reported_before_the_rules_changed_is_not_forgotten(
    tmp_path: Path,
) -> None:
    silent = 'id: silent, title: t, when: "age(power_watts) > 3"'
    node = Node(tmp_path, silent)
    assert node.fired(power(0, 100.0)) == []
    assert node.fired(unpowered(0)) == []
    before = node.judge
    other = 'id: other, title: t, when: "power_watts > 9000"'
    node.judge = NodeRuleEvaluator(load([rules_file(tmp_path, silent, other)]).rules, 1.0)
    node.judge.adopt(before)
    firings = [node.fired(unpowered(0)) for _ in range(4)]
    assert [bool(some) for some in firings].count(True) == 1


def test_a_rule_of_the_node_folds_over_its_devices(tmp_path: Path) -> None:
    node = Node(
        tmp_path, 'id: two, title: t, scope: node, when: "node.count(power_watts < 200) >= 2"'
    )
    assert node.fired(power(0, 100.0), power(1, 300.0)) == []
    assert node.fired(power(0, 100.0), power(1, 150.0)) == ["n01"]


def test_a_device_has_peers_on_its_node_and_the_node_itself_is_none(tmp_path: Path) -> None:
    node = Node(
        tmp_path,
        'id: low, title: t, when: "power_watts < 0.5 * peer_median(power_watts, by=\\"model\\")"',
    )
    watts = (100.0, 400.0, 410.0, 420.0)
    fired = node.fired(*(power(at, one) for at, one in enumerate(watts)))
    assert fired == [f"n01 {machines.device(0).id}"]


def test_a_window_is_kept_from_tick_to_tick(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: low, title: t, when: "avg(power_watts, \\"10s\\") < 200"')
    fired = [bool(node.fired(power(0, 100.0))) for _ in range(12)]
    assert not fired[0]  # half of the samples of the window must be there
    assert fired.count(True) == 1


def test_what_the_host_and_the_owners_say(tmp_path: Path) -> None:
    node = Node(
        tmp_path,
        'id: host, title: t, scope: node, when: "host_uptime_seconds > 2 and node == \\"n01\\""',
        'id: job, title: t, when: "job == \\"4711\\" and node_state == \\"up\\""',
    )
    job = Owner(kind="job", job_id="4711", scheduler="slurm", user="ana")
    fired = node.fired(
        machines.view(0), machines.view(1, owners=(job,)), own={("host_uptime_seconds",): 3}
    )
    assert fired == ["n01", f"n01 {machines.device(1).id}"]


def test_an_event_counts_once_its_device_is_known(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: xid, title: t, when: "event(\\"xid\\", within=\\"1m\\")"')
    unplaced = xid(machines.NOW + 100, device_id="", subject="0000:3b:00.0")
    assert node.fired(events=(unplaced,)) == []
    assert node.fired(events=(xid(machines.NOW + 100, subject="0000:3b:00.0"),)) == [
        f"n01 {machines.device(1).id}"
    ]


def test_what_a_driver_says_of_a_device_that_is_not_listed_concerns_the_node_alone(
    tmp_path: Path,
) -> None:
    node = Node(
        tmp_path,
        'id: xid, title: t, when: "event(\\"xid\\", within=\\"1m\\")"',
        'id: alien, title: t, scope: node, when: "event(\\"xid\\", not listed, within=\\"1m\\")"',
    )
    unplaced = xid(machines.NOW + 100, device_id="", subject="0000:3b:00.0")
    fired = [node.fired(events=(unplaced,)) for _ in range(15)]
    assert fired[0] == []
    assert [one for some in fired for one in some] == ["n01"]


def test_an_event_that_names_no_device_concerns_the_whole_node(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: xid, title: t, when: "event(\\"xid\\", within=\\"1m\\")"')
    unnamed = xid(machines.NOW + 100, device_id="", subject="")
    assert len(node.fired(events=(unnamed,))) == 8


def test_a_port_that_is_no_device_still_concerns_the_whole_node(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: pcie, title: t, when: "event(\\"pcie\\", within=\\"1m\\")"')
    port = xid(machines.NOW + 100, code="pcie_corrected", device_id="", subject="0000:20:03.1")
    fired = [len(node.fired(events=(port,))) for _ in range(15)]
    assert sum(fired) == 8


def test_where_nobody_listened_an_event_may_have_been(tmp_path: Path) -> None:
    rule = 'id: calm, title: t, when: "not event(\\"xid\\", within=\\"1m\\")"'
    assert len(Node(tmp_path, rule).fired(events=())) == 8
    assert Node(tmp_path, rule, listened=False).fired(events=()) == []
    counted = 'id: calm, title: t, when: "count(\\"xid\\", within=\\"1m\\") < 1"'
    assert len(Node(tmp_path, counted).fired(events=())) == 8
    assert Node(tmp_path, counted, listened=False).fired(events=()) == []


def test_jobs_and_racks_are_left_to_a_hub(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: rack, title: t, scope: rack, when: "rack.any(power_watts > 0)"')
    assert node.judge.rules == {}
    assert node.fired() == []


class Site:
    """A node with a rule file and a folder for the journal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "rules.yaml"
        self.file.write_text(LOST, encoding="utf-8")
        self.clock = ManualClock()
        self.feed = FakeFeed(self.snapshot())
        self.received: list[Incident] = []

    def snapshot(self, *views: DeviceView, **changes: object) -> Snapshot:
        return machines.snapshot(*views, **{"time": self.clock.wall(), **changes})

    def runner(self, **settings: float) -> RuleRunner:
        rules = RuleSettings(files=(str(self.file),), interval_s=60.0, **settings)  # type: ignore[arg-type]
        evaluator = NodeEvaluator(self.feed, self.clock, 60.0)
        return RuleRunner(evaluator, rules, self.folder, self.received.extend)

    async def tick(self, runner: RuleRunner, *views: DeviceView, **changes: object) -> None:
        self.clock.advance(1.0)
        self.feed.put(self.snapshot(*views, **changes))
        await runner.tick()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def play(scenario: Callable[[], Coroutine[object, object, None]]) -> None:
    asyncio.run(scenario())


def test_a_lost_device_is_an_incident_until_it_is_back(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        await site.tick(runner, machines.view(0), machines.lost_view(1))
        (incident,) = runner.open
        assert incident.facts.device_name == "nvidia1"
        assert incident.facts.slot == machines.device(1).pci_bus_id
        assert incident.nodes == ("n01",)
        pages = IncidentPages(lambda: runner, lambda: node_note(site.feed.snapshot()))
        document = json.loads(pages.incidents({}, {}).body)
        node = document["node"]
        counts = {"devices": 2, "lost": 1, "silent": 0, "unread": 0}
        assert node == {"host": "n01", **counts, "unhealthy": [], "unusable": []}
        assert document["incidents"][0]["opened"].startswith("20")
        assert document["judged_age_s"] == 0
        entity = f"n01/{machines.device(1).name}"
        query = {"rule": ["gpu.lost"], "entity": [entity]}
        explanation = json.loads(pages.explanation(query, {}).body)
        assert (explanation["phase"], explanation["parts"][0]["truth"]) == ("firing", "true")
        for rule, named, complaint in (
            ("gpu.cold", entity, "no rule 'gpu.cold' is in force"),
            ("gpu.lost", "n01/nvidia7", "no device 'nvidia7' on n01"),
            (
                "gpu.lost",
                "n01",
                "gpu.lost has no node to evaluate: it is about a device, such as n12/nvidia3",
            ),
        ):
            with pytest.raises(UnmetError, match=complaint):
                pages.explanation({"rule": [rule], "entity": [named]}, {})
        assert runner.rule_states.series() == {
            ("rule_firing", "gpu.lost", "critical"): 1,
            ("rule_blind", "gpu.lost"): 0,
        }
        await site.tick(runner, machines.view(0), machines.view(1))
        assert runner.open == []
        assert [one.id for one in runner.closed] == [incident.id]
        assert [one.is_open for one in site.received] == [True, False]
        await runner.stop()

    play(scenario)


@pytest.mark.parametrize(("hold", "opened"), [("0", 1), ("5m", 0)])
def test_a_rule_that_is_pending_and_cannot_see_is_reported_fired_or_not(
    site: Site, hold: str, opened: int
) -> None:
    rules_file(
        site.folder, f"id: hot, title: hot, when: power_watts > 100, for: {hold}, unknown_after: 1m"
    )

    def blind(runner: RuleRunner) -> list[object]:
        pages = IncidentPages(lambda: runner, lambda: None)
        (row,) = json.loads(pages.rules({}, {}).body)["rules"]
        return [row["blind"], runner.rule_states.series()["rule_blind", "hot"]]

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        await site.tick(runner, power(0, 500), power(1, 50))
        site.clock.advance(59.0)
        await site.tick(runner, machines.lost_view(0), machines.lost_view(1))
        assert blind(runner) == [0, 0]
        await site.tick(runner, machines.lost_view(0), machines.lost_view(1))
        assert len(runner.open) == opened
        assert blind(runner) == [1, 1]
        await site.tick(runner, power(0, 50), power(1, 50))
        assert blind(runner) == [0, 0]
        await runner.stop()

    play(scenario)


def test_an_incident_outlives_the_agent(site: Site) -> None:
    async def scenario() -> None:
        for _ in range(2):
            runner = site.runner()
            await runner.start()
            await site.tick(runner, machines.view(0), machines.lost_view(1))
            (incident,) = runner.open
            await runner.stop()
        assert incident.id == "i1"
        assert [one.kind for one in incident.timeline] == [TimelineKind.OPENED]
        runner = site.runner()
        await runner.start()
        await site.tick(runner, machines.view(0), machines.view(1))
        assert runner.open == []
        await runner.stop()

    play(scenario)


def test_old_news_opens_nothing(site: Site) -> None:
    rules_file(site.folder, 'id: xid, title: t, when: "event(\\"xid\\", within=\\"1h\\")"')

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        now = site.clock.wall()
        await site.tick(runner, events=(xid(now - MAX_AGE_S - 10),))
        assert runner.open == []
        await site.tick(runner, events=(xid(now - MAX_AGE_S - 10), xid(now - 5)))
        assert len(runner.open) == 1
        await runner.stop()
        # What is open since before still rests on it, however old it is by now.
        site.clock.advance(MAX_AGE_S + 60)
        runner = site.runner()
        await runner.start()
        await site.tick(runner, events=(xid(now - 5),))
        assert len(runner.open) == 1
        await runner.stop()

    play(scenario)


def test_changed_files_are_taken_up_and_broken_ones_reported_once(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        await site.tick(runner, machines.view(0), machines.lost_view(1))
        before = site.file.read_text("utf-8")
        site.file.write_text("version: 1\nrules: [{id: BAD, title: t, when: 'x'}]", "utf-8")
        for _ in range(2):
            await runner.reload_changed_files()
        assert list(runner.rules.rules) == ["gpu.lost"]
        assert caplog.text.count("rules refused") == 1
        assert any("rules refused" in one for one in runner.problems)
        site.file.write_text(before, "utf-8")
        with caplog.at_level("INFO"):
            await runner.reload_changed_files()
        assert caplog.text.count("rule files are valid again") == 1
        assert not any("refused" in one for one in runner.problems)
        rules_file(site.folder, 'id: other, title: t, when: "power_watts < 0"')
        await runner.reload_changed_files()
        assert list(runner.rules.rules) == ["other"]
        assert not any("refused" in one for one in runner.problems)
        (incident,) = runner.open
        assert incident.timeline[-1].kind is TimelineKind.ORPHANED
        await runner.stop()

    play(scenario)


def test_an_episode_goes_on_over_a_change_of_other_rules(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        await site.tick(runner, machines.view(0), machines.lost_view(1))
        more = '- id: more\n  title: t\n  when: "power_watts < 0"\n'
        site.file.write_text(LOST + more, encoding="utf-8")
        await runner.reload_changed_files()
        await site.tick(runner, machines.view(0), machines.lost_view(1))
        assert len(site.received) == 1
        await runner.stop()

    play(scenario)


def test_a_rule_that_breaks_does_not_end_the_judging(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = Ticks()
    monkeypatch.setattr(NodeEvaluator, "wait", lambda _: ticks.wait())

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.feed.fault = RuntimeError("the store is broken")
        for _ in range(2):
            await ticks.tick()
        assert caplog.text.count("a tick of the rules failed") == 1
        assert any("the store is broken" in one for one in runner.problems)
        site.feed.fault = None
        await ticks.tick()
        assert not any("broken" in one for one in runner.problems)
        assert runner.alive
        await runner.stop()
        assert not runner.alive

    play(scenario)


def test_a_rule_that_costs_too_much_is_switched_off(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner(budget_s=1e-9)
        await runner.start()
        for _ in range(MOST_OVERRUNS + 1):
            await site.tick(runner, machines.view(0), machines.view(1))
        assert [one.rule for one in runner.open] == ["service.rule_switched_off"]
        assert runner.rule_states.switched_off("gpu.lost").startswith("it took ")
        await site.tick(runner, machines.view(0), machines.lost_view(1))
        assert [one.rule for one in runner.open] == ["service.rule_switched_off"]
        await runner.stop()

    play(scenario)


def test_a_journal_that_cannot_be_kept_costs_no_incident(site: Site) -> None:
    async def scenario() -> None:
        (site.folder / "journal.begun").touch()
        runner = site.runner()
        await runner.start()
        await site.tick(runner, machines.view(0), machines.lost_view(1))
        assert len(runner.open) == 1
        assert any("journal.sqlite is gone" in one for one in runner.problems)
        await runner.stop()

    play(scenario)


def test_rules_that_are_wrong_at_the_start_are_refused(site: Site) -> None:
    site.file.write_text("version: 1\nrules: [{id: a, title: t, when: 'powr > 1'}]", "utf-8")
    with pytest.raises(ConfigError, match="unknown name powr"):
        site.runner()
    site.file.unlink()
    with pytest.raises(ConfigError, match="no such rule file"):
        site.runner()


def test_whom_a_verdict_is_about(tmp_path: Path) -> None:
    node = Node(tmp_path, 'id: a, title: t, when: "power_watts < 0"')
    node.see()
    assert node.judge.entity("") == Entity(scope=Scope.NODE, node="n01")


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_makes_no_event_older_or_younger(tmp_path: Path, jump_s: float) -> None:
    node = Node(
        tmp_path,
        'id: xid, title: t, when: "event(\\"xid\\", within=\\"30s\\")"',
        'id: two, title: t, when: "count(\\"xid\\", within=\\"30s\\") >= 2"',
    )
    event = xid(machines.NOW + 100)
    assert len(node.fired(events=(event,))) == 1
    changes = [
        (at, one.transition)
        for at in range(40)
        for one in node.see(events=(event,), time=machines.NOW + node.at + jump_s)
    ]
    assert changes == [(29, Transition.CLEARED)]


def test_a_state_or_an_event_is_judged_before_the_interval_is_over(tmp_path: Path) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        feed = FakeFeed(machines.snapshot(power(0, 100.0)))
        evaluator = NodeEvaluator(feed, clock, 0.01)
        evaluator.pace(3600.0)
        loaded = load([rules_file(tmp_path, "id: a, title: t, when: power_watts < 0")])
        evaluator.set_rules(loaded, lambda _node, _event: True)
        await evaluator.wait()
        for snapshot in (
            machines.snapshot(machines.lost_view(0)),
            machines.snapshot(machines.lost_view(0), events=(xid(machines.NOW),)),
        ):
            await evaluator.evaluate()
            waiting = asyncio.ensure_future(evaluator.wait())
            # A value can wait.
            for watts in (200.0, 300.0):
                await asyncio.sleep(0.02)
                now = feed.snapshot()
                values = machines.snapshot(*now.devices, events=now.events, version=str(watts))
                feed.put(values)
            await asyncio.sleep(0.02)
            assert not waiting.done()
            feed.put(snapshot)
            await asyncio.wait_for(waiting, 60)
        evaluator.close()

    play(scenario)


def test_what_rests_on_an_event_is_not_over_because_nobody_reports_it_again(site: Site) -> None:
    when = 'event(\\"xid\\", code == 79, within=\\"10m\\")'
    rules_file(site.folder, f'id: xid, title: t, when: "{when}"')

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        await site.tick(runner, events=(xid(site.clock.wall()),))
        assert len(runner.open) == 1
        await runner.stop()
        site.clock.advance(60.0)
        runner = site.runner()
        await runner.start()
        for at in range(2):
            await site.tick(runner, events=())
            assert [one.id for one in runner.open] == ["i1"]
            rules_file(site.folder, f'id: xid, title: t{at}, when: "{when}"')
            await runner.reload_changed_files()
        site.clock.advance(600.0)
        await site.tick(runner, events=())
        assert runner.open == []
        await runner.stop()

    play(scenario)


def test_explain_says_why_the_node_has_no_value(site: Site) -> None:
    async def scenario() -> None:
        rules_file(
            site.folder,
            'id: hot, title: t, when: "power_watts > 1 and host_blocked_processes > 1"',
        )
        runner = site.runner()
        await runner.start()
        await site.tick(runner, machines.lost_view(1))
        reasons = {
            one.text: one.reason for one in runner.rule_states.explain("hot", "nvidia1").components
        }
        assert reasons["power_watts"] == "power_watts has no value: lost (the device is gone)"
        why = "host_blocked_processes has no value: the host is not read"
        assert reasons["host_blocked_processes"] == why
        await site.tick(runner, machines.view(1))
        parts = {one.text: one for one in runner.rule_states.explain("hot", "nvidia1").components}
        assert parts["power_watts"].shown.endswith(" W")
        assert parts["power_watts"].reason == ""
        await runner.stop()

    play(scenario)
