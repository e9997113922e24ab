"""A hub's rules over time: incidents, their journal, restarts, and rule files that change."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Literal

import pytest

from accelwatch.alerting.evaluation import evaluation_loop
from accelwatch.alerting.evaluation.in_force import rule_file_reader
from accelwatch.alerting.evaluation.in_force.rules_in_force import RulesInForce
from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind
from accelwatch.alerting.rules.budget import MOST_OVERRUNS
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.alerting.rules.verdict import VerdictChange
from accelwatch.base.errors import ConfigError
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.table import windows as windows_module
from accelwatch.fleet.table.windows import WindowsError
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import Owner
from accelwatch.schema.stream.context import Event
from support.fleet.two_nodes import TwoNodes, view
from support.machines import composed as machines
from support.processes.waiting import GUARD_S
from support.rules.ticks import Ticks

POWER = ("power_watts",)
LOW = """\
version: 1
defaults: {keep: 0, cooldown: 1m}
rules:
- id: low
  title: Too little power
  when: power_watts < 200
  severity: critical
"""


class Site(TwoNodes):
    """A fleet, rule files, and a folder for the journal."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.file = folder / "rules.yaml"
        self.file.write_text(LOW, encoding="utf-8")
        self.settings = RuleSettings(files=(str(self.file),))
        self.received: list[Incident] = []

    def runner(self, folder: Path | None = None) -> RuleRunner:
        evaluator = FleetEvaluator(self.fleet)
        return RuleRunner(evaluator, self.settings, folder or self.folder, self.received.extend)

    def watts(self, *watts: float, node: str = "a", **changes: object) -> None:
        self.report(node, *(view(at, {POWER: one}, **changes) for at, one in enumerate(watts)))

    async def tick(self, runner: RuleRunner) -> None:
        await runner.tick()
        self.clock.advance(1.0)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def play(scenario: Callable[[], Coroutine[object, object, None]]) -> None:
    asyncio.run(scenario())


def kinds(incident: Incident) -> list[TimelineKind]:
    return [entry.kind for entry in incident.timeline]


def test_a_rule_that_fires_is_an_incident_with_its_facts(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        job = Owner(kind="job", job_id="4711", scheduler="slurm", user="ana")
        site.watts(500.0, 120.0, owners=(job,))
        await site.tick(runner)
        (incident,) = runner.open
        assert (incident.id, incident.rule, incident.severity) == ("i1", "low", "critical")
        assert incident.facts.device_name == machines.device(1).name
        assert incident.facts.serial == machines.device(1).serial
        assert incident.facts.slot == machines.device(1).pci_bus_id
        assert incident.facts.labels == {"rack": "r1", "pool": "train"}
        assert (incident.facts.jobs, incident.facts.users) == (("4711",), ("ana",))
        assert incident.nodes == ("a",)
        assert runner.incident("i1") == incident
        site.watts(500.0, 450.0)
        await site.tick(runner)
        assert runner.open == []
        assert [one.id for one in runner.closed] == ["i1"]
        assert [one.is_open for one in site.received] == [True, False]
        assert runner.problems == ()
        await runner.stop()

    play(scenario)


def test_of_two_ticks_at_once_the_second_starts_when_the_first_is_over(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick rests now and then; what it has looked at would be another's by then."""
    order: list[str] = []
    evaluate = FleetEvaluator.evaluate

    async def resting(evaluator: FleetEvaluator) -> list[VerdictChange]:
        order.append("begins")
        await asyncio.sleep(0)
        changes = await evaluate(evaluator)
        order.append("ends")
        return changes

    monkeypatch.setattr(FleetEvaluator, "evaluate", resting)

    async def scenario() -> None:
        runner = site.runner()
        await asyncio.gather(runner.tick(), runner.tick())
        assert order == ["begins", "ends"] * 2

    play(scenario)


def test_an_incident_goes_on_after_a_restart_and_is_over_when_its_rule_says_so(site: Site) -> None:
    async def scenario() -> None:
        first = site.runner()
        await first.start()
        site.watts(120.0)
        await site.tick(first)
        await first.stop()
        second = site.runner()
        await second.start()
        assert [one.id for one in second.open] == ["i1"]
        await site.tick(second)
        assert len(site.received) == 1
        site.watts(450.0)
        await site.tick(second)
        assert [one.id for one in second.closed] == ["i1"]
        site.watts(120.0, 110.0)
        await site.tick(second)
        assert [(one.id, one.reopened) for one in second.open] == [("i1", 1), ("i2", 0)]
        await second.stop()

    play(scenario)


def test_after_a_restart_nothing_is_over_for_lack_of_data(site: Site) -> None:
    async def scenario() -> None:
        first = site.runner()
        await first.start()
        site.watts(120.0)
        await site.tick(first)
        await first.stop()
        again = Site(site.folder)
        second = again.runner()
        await second.start()
        for _ in range(3):
            await again.tick(second)
        assert [one.id for one in second.open] == ["i1"]
        await second.stop()

    play(scenario)


def test_what_happened_is_in_the_journal(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(120.0)
        await site.tick(runner)
        await runner.stop()

    play(scenario)
    journal = open_file(site.folder / FILE, read_only=True)
    assert [type(entry.record).__name__ for entry in journal.entries()] == [
        "RuleSetRecord",
        "IncidentRecord",
    ]
    assert journal.verify() == 2
    journal.close()


def test_a_damaged_journal_stops_nobody_and_is_reported(site: Site) -> None:
    (site.folder / FILE).write_bytes(b"nothing of the kind " * 300)

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(120.0)
        await site.tick(runner)
        assert [one.id for one in runner.open] == ["i1"]
        assert "it is left as it is" in runner.problems[0]
        await runner.stop()

    play(scenario)
    assert (site.folder / FILE).read_bytes().startswith(b"nothing of the kind")


def test_two_hubs_do_not_share_a_journal(site: Site) -> None:
    async def scenario() -> None:
        first, second = site.runner(), site.runner()
        await first.start()
        await second.start()
        assert first.problems == ()
        assert "another process keeps its journal here" in second.problems[0]
        await second.stop()
        await first.stop()

    play(scenario)


def test_rules_that_cannot_be_loaded_are_refused_at_the_start(site: Site) -> None:
    site.file.write_text(LOW.replace("power_watts", "power_wats"), encoding="utf-8")
    with pytest.raises(ConfigError, match="did you mean power_watts"):
        site.runner()


def test_a_file_that_breaks_changes_nothing_and_is_reported_until_it_is_mended(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.file.write_text(LOW.replace("power_watts", "power_wats"), encoding="utf-8")
        await runner.reload_changed_files()
        assert "unknown name power_wats" in runner.problems[0]
        site.watts(120.0)
        await site.tick(runner)
        assert [one.rule for one in runner.open] == ["low"]
        site.file.write_text(LOW.replace("200", "100"), encoding="utf-8")
        await runner.reload_changed_files()
        assert runner.problems == ()
        assert [rule.when.text for rule in runner.rules.rules.values()] == ["power_watts < 100"]
        await runner.stop()

    play(scenario)


def test_a_file_that_breaks_is_reported_once_by_a_reload_or_by_a_poll(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.file.write_text(LOW.replace("power_watts", "power_wats"), encoding="utf-8")
        with pytest.raises(ConfigError):
            await runner.reload(site.settings)
        assert "unknown name power_wats" in runner.problems[0]
        await runner.reload_changed_files()
        assert "rules refused" not in caplog.text
        other = RuleSettings(files=(str(site.file), "/nowhere"))
        with pytest.raises(ConfigError):
            await runner.reload(other)
        site.file.write_text(LOW.replace("200", "100"), encoding="utf-8")
        await runner.reload_changed_files()
        assert runner.problems == ()
        await runner.stop()

    play(scenario)


@contextlib.contextmanager
def hanging(file: Path) -> Iterator[None]:
    """Whoever opens the file waits until this ends, as on a file system that does not answer."""
    text = file.read_text(encoding="utf-8")
    file.unlink()
    os.mkfifo(file)
    try:
        yield
    finally:
        # The writer that a reader waits for; whoever opens the file after that reads its text.
        writer = os.open(file, os.O_RDWR | os.O_NONBLOCK)
        file.unlink()
        file.write_text(text, encoding="utf-8")
        os.close(writer)


def test_files_that_do_not_answer_are_logged_once_and_the_rules_stay(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        before = runner.rules
        with hanging(site.file), monkeypatch.context() as hasty:
            # While they hang only: files that can be read are not read within that on any machine.
            hasty.setattr(rule_file_reader, "WAIT_S", 0.2)
            async with asyncio.timeout(GUARD_S):
                await runner.reload_changed_files()
                await runner.reload_changed_files()
                with pytest.raises(ConfigError, match="rule files cannot be read"):
                    await runner.reload(site.settings)
            assert "rule files cannot be read" in runner.problems[0]
            assert caplog.text.count("rule files cannot be read") == 1
            assert runner.rules is before
            site.watts(120.0)
            await site.tick(runner)
            assert [one.rule for one in runner.open] == ["low"]
        async with asyncio.timeout(GUARD_S):
            while runner.problems:
                await asyncio.sleep(0.01)
                await runner.reload_changed_files()
        assert list(runner.rules.rules) == ["low"]
        await runner.stop()

    play(scenario)


def test_files_that_do_not_answer_hold_up_no_tick(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_loop, "CHECK_EVERY_S", 0.0)

    async def scenario() -> None:
        runner = site.runner()
        ticks = 0
        evaluate = FleetEvaluator.evaluate

        async def counted(evaluator: FleetEvaluator) -> list[VerdictChange]:
            nonlocal ticks
            ticks += 1
            return await evaluate(evaluator)

        async def at_once(_: FleetEvaluator) -> None:
            await asyncio.sleep(0)

        monkeypatch.setattr(FleetEvaluator, "evaluate", counted)
        monkeypatch.setattr(FleetEvaluator, "wait", at_once)
        with hanging(site.file):
            await runner.start()
            try:
                async with asyncio.timeout(GUARD_S):
                    while not any(thread.name == "rule files" for thread in threading.enumerate()):
                        await asyncio.sleep(0.01)
                    before = ticks
                    while ticks < before + 5:
                        await asyncio.sleep(0.01)
            finally:
                await runner.stop()

    play(scenario)


class QueuedLock(asyncio.Lock):
    """Says how many have asked for it."""

    requests = 0

    async def acquire(self) -> Literal[True]:
        self.requests += 1
        return await super().acquire()

    async def requested(self, times: int) -> None:
        """Until so many have asked for it."""
        async with asyncio.timeout(GUARD_S):
            while self.requests < times:
                await asyncio.sleep(0.01)


def test_a_look_that_waits_for_a_reload_puts_no_rules_of_the_old_configuration_in_force(
    site: Site,
) -> None:
    async def scenario() -> None:
        ticking, in_journal, written = QueuedLock(), asyncio.Event(), asyncio.Event()

        async def on_replaced(_: RuleSet) -> None:
            in_journal.set()
            await written.wait()

        evaluator = FleetEvaluator(site.fleet)
        in_force = RulesInForce(evaluator, site.settings, lambda *_: True, on_replaced, ticking)
        other = site.folder / "other.yaml"
        other.write_text(LOW.replace("id: low", "id: other"), encoding="utf-8")
        candidate = await in_force.load(RuleSettings(files=(str(other),), interval_s=7.0))
        async with asyncio.timeout(GUARD_S), asyncio.TaskGroup() as group:
            group.create_task(in_force.apply(candidate))
            await in_journal.wait()
            site.file.write_text(LOW.replace("200", "100"), encoding="utf-8")
            group.create_task(in_force.reload_changed_files())
            await ticking.requested(2)
            written.set()
        await in_force.reload_changed_files()
        assert list(in_force.rules.rules) == list(evaluator.rules) == ["other"]
        assert (in_force.interval_s, in_force.refused) == (7.0, "")

    play(scenario)


def test_a_reload_that_waits_for_a_look_ends_with_its_own_rules_in_force(site: Site) -> None:
    async def scenario() -> None:
        async def on_replaced(_: RuleSet) -> None:
            pass

        ticking, evaluator = QueuedLock(), FleetEvaluator(site.fleet)
        in_force = RulesInForce(evaluator, site.settings, lambda *_: True, on_replaced, ticking)
        # The rules in force, as the look has not changed them yet.
        before = site.folder / "before.yaml"
        before.write_text(LOW, encoding="utf-8")
        candidate = await in_force.load(RuleSettings(files=(str(before),)))
        assert candidate.rules.digest == in_force.rules.digest
        async with asyncio.timeout(GUARD_S), asyncio.TaskGroup() as group, ticking:
            site.file.write_text(LOW.replace("200", "100"), encoding="utf-8")
            group.create_task(in_force.reload_changed_files())
            await ticking.requested(2)
            group.create_task(in_force.apply(candidate))
            await asyncio.sleep(0)
        await in_force.reload_changed_files()
        assert [rule.when.text for rule in in_force.rules.rules.values()] == ["power_watts < 200"]

    play(scenario)


def test_windows_that_are_too_dear_are_refused_with_the_rules_that_need_them(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    windowed = LOW.replace("power_watts < 200", 'avg(power_watts, "6h") < 200')
    site.file.write_text(windowed, encoding="utf-8")
    monkeypatch.setattr(windows_module, "MOST_BYTES", 1000)
    site.watts(120.0)
    with pytest.raises(WindowsError, match=rf"ask for most: low \({site.file}:4\)"):
        site.runner()


def test_other_rules_start_and_an_incident_that_lost_its_rule_stays(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(120.0)
        await site.tick(runner)
        site.file.write_text(LOW.replace("id: low", "id: lower"), encoding="utf-8")
        await runner.reload(site.settings)
        await site.tick(runner)
        lost, new = runner.open
        assert (lost.rule, kinds(lost)[-1]) == ("low", TimelineKind.ORPHANED)
        assert new.rule == "lower"
        await runner.stop()

    play(scenario)


def test_a_reload_that_is_refused_leaves_the_rules_and_their_windows(site: Site) -> None:
    windowed = LOW.replace("power_watts < 200", 'avg(power_watts, "30s") < 200')
    site.file.write_text(windowed, encoding="utf-8")

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.file.write_text(windowed + "  nonsense: 1\n", encoding="utf-8")
        with pytest.raises(ConfigError):
            await runner.reload(site.settings)
        for _ in range(40):
            site.watts(120.0)
            await site.tick(runner)
        assert [one.rule for one in runner.open] == ["low"]
        await runner.stop()

    play(scenario)


def test_it_judges_by_itself(site: Site) -> None:
    site.settings = RuleSettings(files=(str(site.file),), interval_s=0.1)

    async def scenario() -> None:
        runner = site.runner()
        site.watts(120.0)
        await runner.start()
        assert runner.alive
        while not runner.open:
            await asyncio.sleep(0.02)
        await runner.stop()
        assert not runner.alive

    play(scenario)


def test_the_folder_is_free_after_it(site: Site) -> None:
    async def scenario() -> None:
        for _ in range(3):
            runner = site.runner()
            await runner.start()
            assert runner.problems == ()
            await runner.stop()

    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    play(scenario)
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 1


XID = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules:
- {id: xid, title: Xid, when: 'event("xid", code == 79)'}
- {id: many, title: Many, when: 'count("xid", code == 79, within="1h") >= 2', severity: info}
"""


def receive(site: Site, ago_s: float, number: int = 1) -> None:
    """The agent of node a reports an event, as it does again after every reconnect."""
    event = ErrorEvent(
        code="xid_79",
        category=Category.BUS,
        time=site.clock.wall() - ago_s,
        text="fallen off the bus",
        source="kernel_log",
        device_id=machines.device(0).id,
    )
    events = [Event(sequence=number, event=event)]
    site.fleet.events.record(
        "a", site.keys["a"], events, ours=lambda time: time, name=lambda id_: id_, again=True
    )


def test_an_event_that_was_judged_is_no_news_to_the_next_hub(site: Site) -> None:
    site.file.write_text(XID, encoding="utf-8")

    async def scenario() -> None:
        first = site.runner()
        await first.start()
        site.watts(500.0)
        receive(site, 0.0)
        await site.tick(first)
        assert [one.rule for one in first.open] == ["xid"]
        site.clock.advance(700.0)
        site.watts(500.0)
        await site.tick(first)
        assert first.open == []
        await first.stop()

        site.clock.advance(-300.0)
        again = Site(site.folder)
        again.file.write_text(XID, encoding="utf-8")
        again.clock = site.clock
        again.fleet.clock = site.clock
        second = again.runner()
        await second.start()
        again.watts(500.0)
        receive(again, 402.0)
        await again.tick(second)
        assert second.open == []
        receive(again, 0.0, number=2)
        await again.tick(second)
        assert [one.rule for one in second.open] == ["xid", "many"]
        await second.stop()

    play(scenario)


def test_an_open_incident_keeps_its_event_after_a_restart(site: Site) -> None:
    site.file.write_text(XID, encoding="utf-8")

    async def scenario() -> None:
        first = site.runner()
        await first.start()
        site.watts(500.0)
        receive(site, 0.0)
        await site.tick(first)
        await first.stop()
        again = Site(site.folder)
        again.file.write_text(XID, encoding="utf-8")
        second = again.runner()
        await second.start()
        again.watts(500.0)
        receive(again, 0.0)
        await again.tick(second)
        assert [(one.id, one.reopened) for one in second.open] == [("i1", 0)]
        assert again.received == []
        await second.stop()

    play(scenario)


def test_a_tick_that_fails_is_reported_and_the_next_one_is_tried(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = Ticks()
    monkeypatch.setattr(FleetEvaluator, "wait", lambda _: ticks.wait())

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(120.0)
        with monkeypatch.context() as patch:
            patch.setattr(FleetEvaluator, "evaluate", broken)
            await ticks.tick()
        assert list(runner.problems) == ["a tick of the rules failed: ZeroDivisionError('oh')"]
        await ticks.tick()
        assert not runner.problems
        assert [one.id for one in runner.open] == ["i1"]
        await runner.stop()

    async def broken(_: FleetEvaluator) -> list[VerdictChange]:
        raise ZeroDivisionError("oh")

    play(scenario)


def test_an_old_event_reported_for_the_first_time_opens_nothing_but_is_counted(site: Site) -> None:
    site.file.write_text(XID.replace("code == 79)", 'code == 79, within="1h")'), encoding="utf-8")

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(500.0)
        receive(site, 900.0)
        await site.tick(runner)
        assert runner.open == []
        receive(site, 0.0, number=2)
        await site.tick(runner)
        assert [one.rule for one in runner.open] == ["xid", "many"]
        await runner.stop()

    play(scenario)


def test_a_changed_rule_that_holds_no_more_closes_its_incident(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(120.0)
        await site.tick(runner)
        site.file.write_text(LOW.replace("< 200", "< 100"), encoding="utf-8")
        await runner.reload(site.settings)
        await site.tick(runner)
        assert [(one.id, one.rule) for one in runner.closed] == [("i1", "low")]
        assert runner.open == []
        await runner.stop()

    play(scenario)


def test_a_rule_that_went_while_nobody_judged_has_its_incident_left_to_people(site: Site) -> None:
    async def scenario() -> None:
        first = site.runner()
        await first.start()
        site.watts(120.0)
        await site.tick(first)
        await first.stop()
        site.file.write_text(LOW.replace("id: low", "id: lower"), encoding="utf-8")
        second = site.runner()
        await second.start()
        (incident,) = second.open
        assert kinds(incident)[-1] is TimelineKind.ORPHANED
        # Put back, it says when it is over.
        site.file.write_text(LOW, encoding="utf-8")
        await second.reload(site.settings)
        site.watts(500.0)
        await site.tick(second)
        assert second.open == []
        await second.stop()

    play(scenario)


def test_a_rule_that_is_turned_off_leaves_its_incident_to_people(site: Site) -> None:
    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(120.0)
        await site.tick(runner)
        site.file.write_text(LOW + "  mode: off\n", encoding="utf-8")
        await runner.reload(site.settings)
        (incident,) = runner.open
        assert kinds(incident)[-1] is TimelineKind.ORPHANED
        await runner.stop()

    play(scenario)


def test_a_rule_that_costs_too_much_is_an_incident_until_a_reload(site: Site) -> None:
    async def scenario() -> None:
        site.settings = RuleSettings(files=(str(site.file),), budget_s=1e-9)
        runner = site.runner()
        await runner.start()
        site.watts(120.0, 500.0)
        for _ in range(MOST_OVERRUNS + 1):
            await site.tick(runner)
        (cut,) = [one for one in runner.open if one.rule == "service.rule_switched_off"]
        assert cut.severity is Severity.WARNING
        assert cut.evidence[0].text.startswith("rule low is switched off: it took ")
        assert runner.rule_states.switched_off("low") in cut.evidence[0].text
        assert any("rule low is switched off" in one for one in runner.problems)
        await runner.reload(RuleSettings(files=(str(site.file),), budget_s=1.0))
        await site.tick(runner)
        assert runner.rule_states.switched_off("low") == ""
        assert [one.rule for one in runner.open] == ["low"]
        await runner.stop()

    play(scenario)


def test_a_new_process_ends_what_another_one_switched_off(site: Site) -> None:
    async def scenario() -> None:
        site.settings = RuleSettings(files=(str(site.file),), budget_s=1e-9)
        before = site.runner()
        await before.start()
        site.watts(500.0)
        for _ in range(MOST_OVERRUNS + 1):
            await site.tick(before)
        await before.stop()
        site.settings = RuleSettings(files=(str(site.file),))
        after = site.runner()
        await after.start()
        assert [one.rule for one in after.open] == ["service.rule_switched_off"]
        await site.tick(after)
        assert after.open == []
        await after.stop()

    play(scenario)


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_clock_that_is_set_makes_no_event_older_or_younger(site: Site, jump_s: float) -> None:
    text = XID.replace("code == 79)", 'code == 79, within="30s")')
    site.file.write_text(text, encoding="utf-8")

    async def scenario() -> None:
        runner = site.runner()
        await runner.start()
        site.watts(500.0)
        receive(site, 0.0)
        await site.tick(runner)
        assert [one.rule for one in runner.open] == ["xid"]
        site.clock.step_wall(jump_s)
        for _ in range(29):
            site.watts(500.0)
            await site.tick(runner)
            assert [one.rule for one in runner.open] == ["xid"]
        for _ in range(3):
            site.watts(500.0)
            await site.tick(runner)
        assert runner.open == []
        # What it says of itself is by the clock of the wall.
        assert abs((runner.closed[0].closed or 0.0) - site.clock.wall()) < 5
        await runner.stop()

    play(scenario)
