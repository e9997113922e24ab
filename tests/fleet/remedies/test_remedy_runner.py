"""A hub acts: from a reading to a node that takes no work, and back, over rules, journal and engine."""

import asyncio
import re
from pathlib import Path

import pytest

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.alerting.evaluation.silences.requests import NewSilence, silence_of
from accelwatch.alerting.incidents.model.incident import ENGINE, TimelineKind
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.stage import Stage
from fleet.remedies.hub_site import HubSite, until
from remediation.fake_scheduler import FakeScheduler
from support.servers.receivers import receiver


def test_a_node_is_taken_out_and_given_back_when_it_is_well_again(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))
            assert not site.quarantined("n2")
            await until(lambda: "a" in remedies.engine.state.remedies)
            (incident,) = rules.open
            site.watts = 400.0
            await until(lambda: not site.quarantined("n1"))
            await until(lambda: not remedies.engine.state.remedies)
            noted = rules.incident(incident.id)
            assert noted is not None
            notes = [entry for entry in noted.timeline if entry.kind is TimelineKind.NOTE]
            assert {note.actor for note in notes} == {ENGINE}
            for note, text in zip(
                notes,
                (
                    r"a is to be taken out, \d+\.\d s after it was suspected",
                    "a takes no new work",
                    r"a is healthy: no fault for \d+ s",
                    "a takes work again",
                ),
                strict=True,
            ):
                assert re.fullmatch(text, note.text)
            assert remedies.problems == ()
            measured = remedies.series()
            assert measured["remedy_interruptions_total",] == 1
            assert measured["remedy_stages_left_total", "quarantining"] == 1
            assert measured["remedy_stage_seconds_total", "verifying"] >= 0.0
            steps = {step: counts[-1] for (_, step), (counts, _) in remedies.histograms().items()}
            assert steps == {
                "seen": 1,
                "decided": 1,
                "told": 2,
                "observed": 2,
                "verified": 1,
                "released": 1,
            }

    asyncio.run(scenario())


def test_an_agent_that_is_gone_takes_no_node_out(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path, for_="3s")
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            await until(lambda: bool(remedies.engine.state.world.guard.is_warmed_up))
            started, site.watts = site.clock.monotonic(), 100.0
            await asyncio.sleep(0.5)
            site.agent = False
            # What it sent last is true for two seconds: three never come together.
            await until(lambda: site.clock.monotonic() > started + 5.0)
            assert remedies.engine.state.world.node_statuses["a"].late
            assert not rules.open
            assert not site.quarantined("n1")
            site.agent = True
            await until(lambda: site.quarantined("n1"))

    asyncio.run(scenario())


def test_a_person_is_called_when_somebody_takes_a_node_over(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))
            # Taken over before the engine has seen its mark, it would never have been ours.
            known = remedies.engine
            await until(lambda: any(one.hold for one in known.state.remedies.values()))
            site.world.admin_drains("n1")
            await until(
                lambda: any(one.kind is TimelineKind.CALL for one in rules.open[0].timeline)
            )
            call = next(one for one in rules.open[0].timeline if one.kind is TimelineKind.CALL)
            assert "took a over" in call.text

    asyncio.run(scenario())


def test_a_person_is_called_for_what_no_incident_is_about_unless_that_is_silenced(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    # As after a journal was lost.
    site.world.nodes["n1"].mark, site.world.nodes["n1"].reason = OwnerAnnotation("i9", 1), "ours"

    async def scenario() -> None:
        async with receiver() as there:
            sink = SinkSettings(name="a", type="webhook", options={"url": f"{there.base}/x"})
            site.alerts = Alerts(sinks=(sink,), external_url="http://hub.example")
            async with site.running() as (rules, _):
                await there.wait_for(1)
                document = there.requests[0].json()
                assert document["type"] == "incident.called"
                assert "a bears a mark of ours (i9)" in document["data"]["title"]
                assert document["data"]["where"].startswith("a")
                assert not document["data"].get("link"), "there is no page of it"
                now = site.clock.wall()
                silenced = NewSilence(matchers=("node=a",), reason="we know", lasts="1m")
                await rules.incident_store.mutes.mute(silence_of(silenced, "s1", now, "ann"))
                rules.call("the spare a failed quick", "a")
                rules.call("the spare b failed quick", "b")
                await there.wait_for(2)
                assert there.requests[1].json()["data"]["where"] == "b"

    asyncio.run(scenario())


def test_a_hub_that_starts_again_knows_what_it_holds(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    async def first() -> None:
        async with site.running() as (_, remedies):
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))
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
            await until(lambda: not site.quarantined("n1"))

    asyncio.run(first())
    assert site.quarantined("n1")
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

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: bool(rules.open))
            await until(lambda: "a" in remedies.engine.state.remedies)
            await until(lambda: remedies.engine.state.remedies["a"].denial is not None)
            assert not site.quarantined("n1")

    asyncio.run(scenario())


def test_a_profile_that_fits_lets_it_be_done(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    fits = "profiles: [{when: \"labels.pool == 'train'\", ceiling: resume}]"
    site = HubSite(tmp_path, profiles=fits)
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running():
            site.watts = 100.0
            await until(lambda: site.quarantined("n1"))

    asyncio.run(scenario())


def test_a_rule_that_only_observes_takes_nothing_out_but_a_person_may(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path, mode="observe")
    fake_plugin.append(site.world)

    async def scenario() -> None:
        async with site.running() as (rules, remedies):
            site.watts = 100.0
            await until(lambda: "a" in remedies.engine.state.remedies)
            assert not site.quarantined("n1")
            reply = await remedies.engine.submit_command(
                Command(verb=Verb.QUARANTINE, by="kim", at=site.clock.wall(), node="a", reason="x")
            )
            assert reply.problem == ""
            await until(lambda: site.quarantined("n1"))
            assert rules.open

    asyncio.run(scenario())
