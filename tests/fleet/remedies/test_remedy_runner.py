"""A hub acts: from a reading to a node that takes no work, and back, over rules, journal and engine."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from accelwatch import plugins
from accelwatch.clock import SystemClock
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from accelwatch.incidents.incident import Incident, MomentKind
from accelwatch.incidents.journal.records import ENGINE
from accelwatch.judging.runner import RuleRunner
from accelwatch.remedy.changes import Command, Verb
from accelwatch.remedy.settings import ActionSettings, DataGuard, RemedySettings
from accelwatch.remedy.stage import Stage
from hub_bench import THRESHOLDS
from remedy.fake_scheduler import FakeAction, FakeScheduler
from told_fleet import view
from waiting import GUARD_S

POWER = ("power_watts",)
RULES = """\
version: 1
defaults: {keep: 0, cooldown: 1m}
PROFILES
rules:
- id: low
  title: Too little power
  when: power_watts < 200
  severity: critical
  confidence: high
  mode: MODE
  trust: any
  action:
    quarantine: {level: node, when: now}
    verify: [{passive: 1s}]
"""


class HubSite:
    """A fleet of one node that is `n1` to its scheduler, and everything that acts on it."""

    def __init__(self, folder: Path, *, mode: str = "auto", profiles: str = "") -> None:
        self.clock = SystemClock()
        self.folder = folder
        self.world = FakeScheduler(self.clock, ["n1", "n2"])
        file = folder / "rules.yaml"
        text = RULES.replace("MODE", mode).replace("PROFILES", profiles)
        file.write_text(text, encoding="utf-8")
        self.rule_settings = RuleSettings(files=(str(file),))
        self.settings = RemedySettings(
            ceiling="resume",
            actions=(ActionSettings(type="fake"),),
            nodes={"a": "n1"},
            data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0),
            stop_file=str(folder / "STOP"),
        )
        self.watts = 400.0

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[tuple[RuleRunner, RemedyRunner]]:
        fleet = Fleet(self.clock, THRESHOLDS, None)
        (target,) = targets_of(["a"], {"rack": "r1", "pool": "train"})
        fleet.set_targets([target])
        source = fleet.source(target.key)
        assert source is not None
        source.dialect, source.host_name, source.boot_id = "accelwatch", "n1.example", "boot-1"

        async def tell() -> None:
            while True:
                told = view(0, {POWER: self.watts}, sample_time=self.clock.wall())
                fleet.read(target.key, [told], self.clock.wall(), 1.0)
                await asyncio.sleep(0.2)

        evaluator = FleetEvaluator(fleet)
        acting: list[RemedyRunner] = []

        def heard(incidents: Sequence[Incident]) -> None:
            for one in acting:
                one.heard(incidents)

        rules = RuleRunner(evaluator, self.rule_settings, self.folder, heard)
        telling = asyncio.create_task(tell())
        await asyncio.sleep(0)
        await rules.start()
        remedies = RemedyRunner(fleet, evaluator, rules, self.settings)
        await remedies.start()
        acting.append(remedies)
        try:
            yield rules, remedies
        finally:
            await remedies.stop()
            await rules.stop()
            telling.cancel()
            fleet.close()

    def standing(self, node: str) -> bool:
        """Whether our mark is on a node."""
        return self.world.nodes[node].mark is not None


@pytest.fixture(autouse=True)
def fake_plugin(monkeypatch: pytest.MonkeyPatch) -> "list[FakeScheduler]":
    """The plug-in `fake` is the scheduler that a test puts here."""
    worlds: list[FakeScheduler] = []
    monkeypatch.setattr(plugins, "load", lambda _group, _name: lambda _: FakeAction(worlds[-1]))
    return worlds


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD_S):
        while not true():
            await asyncio.sleep(0.05)


def test_a_node_is_taken_out_and_given_back_when_it_is_well_again(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def story() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: site.standing("n1"))
            assert not site.standing("n2")
            await until(lambda: "a" in remedies.engine.state.remedies)
            (incident,) = rules.open
            site.watts = 400.0
            await until(lambda: not site.standing("n1"))
            await until(lambda: not remedies.engine.state.remedies)
            told = rules.incident(incident.id)
            assert told is not None
            notes = [moment for moment in told.timeline if moment.kind is MomentKind.NOTE]
            assert [(note.actor, note.text) for note in notes] == [(ENGINE, "a takes work again")]
            assert remedies.problems == ()

    asyncio.run(story())


def test_a_hub_that_begins_again_knows_what_it_holds(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def first() -> None:
        async with site.running() as (_, remedies):
            site.watts = 100.0
            await until(lambda: site.standing("n1"))
            await until(
                lambda: (
                    remedies.engine.state.remedies["a"].stage
                    not in (Stage.SUSPECT, Stage.QUARANTINING)
                )
            )

    async def second() -> None:
        async with site.running() as (_, remedies):
            assert remedies.engine.state.remedies["a"].hold is not None
            site.watts = 400.0
            await until(lambda: not site.standing("n1"))

    asyncio.run(first())
    assert site.standing("n1")
    asyncio.run(second())
    assert site.world.count("quarantine", "n1") <= 1


@pytest.mark.parametrize("profile", ["observe", "labels.pool == 'dev'"])
def test_where_no_profile_lets_it_nothing_is_done(
    tmp_path: Path, fake_plugin: list[FakeScheduler], profile: str
) -> None:
    written = (
        "profiles: [{ceiling: observe}]"
        if profile == "observe"
        else f'profiles: [{{when: "{profile}", ceiling: resume}}]'
    )
    site = HubSite(tmp_path, profiles=written)
    fake_plugin.append(site.world)

    async def story() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: bool(rules.open))
            await until(lambda: "a" in remedies.engine.state.remedies)
            await until(lambda: remedies.engine.state.remedies["a"].denial is not None)
            assert not site.standing("n1")

    asyncio.run(story())


def test_a_profile_that_fits_lets_it_be_done(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    fits = "profiles: [{when: \"labels.pool == 'train'\", ceiling: resume}]"
    site = HubSite(tmp_path, profiles=fits)
    fake_plugin.append(site.world)

    async def story() -> None:
        async with site.running():
            site.watts = 100.0
            await until(lambda: site.standing("n1"))

    asyncio.run(story())


def test_a_rule_that_only_observes_takes_nothing_out_but_a_person_may(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path, mode="observe")
    fake_plugin.append(site.world)

    async def story() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: "a" in remedies.engine.state.remedies)
            assert not site.standing("n1")
            reply = await remedies.engine.ask(
                Command(verb=Verb.QUARANTINE, by="kim", at=site.clock.wall(), node="a", reason="x")
            )
            assert reply.problem == ""
            await until(lambda: site.standing("n1"))
            assert rules.open

    asyncio.run(story())
