"""Incidents as a follower of a hub has them: on every connection, of older hubs, and bounded."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.evaluation.describing import document_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.api.live.streams import LiveStreams
from accelwatch.fleet.hub_client.incidents import ReportedIncidents
from accelwatch.fleet.wire import MOST_CLOSED, MOST_OPEN, IncidentNow, RulesNow
from accelwatch.web.http.stream import OFFERED
from support.fleet.hub_peers import agent, hub
from support.fleet.hub_sources import follow, shown, ticked, until
from support.incidents.incident_samples import START, incident, later, over
from support.machines import composed as machines

LOST = 'rules:\n- {id: lost, title: A GPU is lost, when: state == "lost", severity: critical}\n'


def now(one: Incident) -> IncidentNow:
    return IncidentNow(
        incident=document_of(one), nodes_total=len(one.nodes), members_total=len(one.members)
    )


def judged(*, anew: bool = False) -> RulesNow:
    return RulesNow(
        evaluated=True, rules=3, problems=(), open={}, muted=0, omitted=0, is_reset=anew
    )


def ids(reported: ReportedIncidents) -> list[str]:
    return [one.incident.id for one in reported.shown()]


def test_a_followers_picture_has_what_goes_on_and_then_its_end(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(f"version: 1\ndefaults: {{keep: 0}}\n{LOST}", encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.05)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with (
            agent(broken) as one,
            hub(one.address, rules=rules) as running,
            follow(running.base) as source,
        ):
            await ticked(source, devices=2)
            await until(lambda: shown(source).incidents)
            view = shown(source)
            assert view.rules is not None
            assert (view.rules.evaluated, view.rules.open) == (True, {"critical": 1})
            assert [one.incident.state for one in view.incidents] == ["open"]
            await until(lambda: shown(source).sequence > view.sequence)
            assert shown(source).incidents is view.incidents
            explained = await source.explain("lost", f"{one.address}/{machines.device(1).name}")
            assert (explained.rule, explained.phase) == ("lost", "firing")
            with pytest.raises(AccelwatchError, match="no rule 'other' is in force"):
                await source.explain("other", one.address)
            source.set_filter("index == 0")
            await ticked(source, devices=1)
            assert shown(source).incidents[0] is view.incidents[0]
            one.feed.put(machines.snapshot(machines.view(0), machines.view(1)))
            await until(lambda: shown(source).incidents[0].incident.state == "closed")

    asyncio.run(main())


def test_an_older_hub_is_followed_and_sends_no_incidents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LiveStreams, "offered", OFFERED)

    async def main() -> None:
        async with agent() as one, hub(one.address) as running, follow(running.base) as source:
            view = await ticked(source)
            assert view.rules is None
            assert view.incidents == ()

    asyncio.run(main())


def test_on_another_connection_what_is_not_reported_again_is_gone() -> None:
    reported = ReportedIncidents()
    reported.apply(judged(anew=True))
    for number in (1, 2):
        reported.apply(now(incident(number)))
    before = reported.shown()
    reported.reset()
    assert reported.shown() == ()
    reported.apply(judged(anew=True))
    reported.apply(now(incident(2)))
    assert ids(reported) == ["i2"]
    assert reported.shown()[0] is before[1]


def test_a_change_replaces_what_was_known() -> None:
    reported = ReportedIncidents()
    reported.apply(judged(anew=True))
    reported.apply(now(incident(1)))
    reported.apply(now(incident(2)))
    reported.shown()
    reported.apply(judged())
    reported.apply(now(later(incident(1), START + 9, title="other")))
    assert [one.incident.title for one in reported.shown()] == ["other", incident(2).title]


def test_of_those_that_are_over_the_latest_are_kept() -> None:
    reported = ReportedIncidents()
    reported.apply(judged(anew=True))
    reported.apply(now(incident(9999)))
    for number in range(MOST_CLOSED + 3):
        reported.apply(now(over(incident(number), START + number)))
    kept = ids(reported)
    assert len(kept) == MOST_CLOSED + 1
    assert {"i9999", "i3"} <= set(kept)
    assert "i2" not in kept


def test_a_later_hub_may_say_more_of_an_incident() -> None:
    from accelwatch.fleet.hub_client.connection.messages import message

    plain: dict[str, Any] = msgspec.to_builtins(now(incident(1)))
    plain["incident"]["weather"] = "rain"
    reported = message(msgspec.msgpack.encode({**plain, "more": 1}))
    assert isinstance(reported, IncidentNow)
    assert reported.incident.id == "i1"


def test_a_hub_that_opens_incidents_for_ever_does_not_fill_the_memory() -> None:
    reported = ReportedIncidents()
    reported.apply(
        RulesNow(evaluated=True, rules=1, problems=(), open={}, muted=0, omitted=0, is_reset=True)
    )
    first = now(incident(1))
    for number in range(2 * MOST_OPEN + 50):
        document = msgspec.structs.replace(first.incident, id=f"i{number}")
        reported.apply(msgspec.structs.replace(first, incident=document))
    kept = [entry.incident.id for entry in reported.shown()]
    assert (len(kept), kept[0], kept[-1]) == (2 * MOST_OPEN, "i50", f"i{2 * MOST_OPEN + 49}")
