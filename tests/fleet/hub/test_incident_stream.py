"""Incidents in the hub's stream: those that go on at the beginning, then each change; bounded."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.muting import Mute
from accelwatch.alerting.rules.document import Severity
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.api.incidents.incident_feed import IncidentFeed
from accelwatch.fleet.hub_client.connection.messages import message
from accelwatch.fleet.wire import MOST_CLOSED, MOST_NAMES, MOST_OPEN, IncidentNow, RulesNow
from accelwatch.schema.stream.frames import PREFIX_BYTES
from accelwatch.web.http.stream import INCIDENT_LINES, MSGPACK, NDJSON, SSE
from support.fleet.hub_peers import Running, agent, hub
from support.incidents.incident_samples import START, incident, later, over, storm
from support.machines import composed as machines

LOST = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""


@pytest.fixture
def rules(tmp_path: Path) -> RuleSettings:
    file = tmp_path / "rules.yaml"
    file.write_text(LOST, encoding="utf-8")
    return RuleSettings(files=(str(file),), interval_s=0.05)


class Lines:
    """The messages of a stream, one after the other."""

    def __init__(self, content: Any) -> None:
        self._content = content
        self.seen: list[dict[str, Any]] = []

    async def next(self, kind: str) -> dict[str, Any]:
        """The next message of a kind."""
        async for line in self._content:
            self.seen.append(msgspec.json.decode(line))
            if self.seen[-1]["type"] == kind:
                return self.seen[-1]
        raise AssertionError("the stream has ended")

    async def incident(self, state: str) -> dict[str, Any]:
        """The next incident of a state."""
        while (published := (await self.next("incident"))["incident"])["state"] != state:
            pass
        return dict(published)


def opened(running: Running, media: str = INCIDENT_LINES, query: str = "") -> Any:
    return running.session.get(f"{running.base}/v1/stream{query}", headers={"Accept": media})


async def fallen(running: Running) -> None:
    """Wait until an incident is open."""
    await running.until(lambda: running.hub.rules is not None and bool(running.hub.rules.open))


def test_incidents_come_before_the_first_tick_and_when_they_change(rules: RuleSettings) -> None:
    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as one, hub(one.address, rules=rules) as running:
            await fallen(running)
            async with opened(running, query="?filter=index==0") as response:
                assert response.content_type == INCIDENT_LINES
                lines = Lines(response.content)
                await lines.next("tick")
                kinds = [published["type"] for published in lines.seen]
                assert kinds == ["hello", "device", "rules", "incident", "tick"]
                judged = lines.seen[2]
                assert (judged["judged"], judged["rules"], judged["anew"]) == (True, 1, True)
                assert judged["open"] == {"critical": 1}
                published = lines.seen[3]["incident"]
                assert (published["state"], published["device_name"]) == (
                    "open",
                    machines.device(1).name,
                )
                assert published == await running.get("/v1/incidents/i1")
                one.feed.put(machines.snapshot(machines.view(0), machines.view(1)))
                closed = await lines.incident("closed")
                assert closed["closed"] is not None
                judged = [published for published in lines.seen if published["type"] == "rules"][-1]
                assert (judged["open"], judged["anew"]) == ({}, False)

    asyncio.run(main())


@pytest.mark.parametrize("media", [NDJSON, SSE, MSGPACK, "*/*"])
def test_incidents_are_sent_on_request_only(rules: RuleSettings, media: str) -> None:
    async def main() -> None:
        broken = machines.snapshot(machines.lost_view(0))
        async with agent(broken) as one, hub(one.address, rules=rules) as running:
            await fallen(running)
            async with opened(running, media) as response:
                text = b""
                while text.count(b"sequence") < 2:
                    text += await response.content.readany()
            assert b"incident" not in text
            assert b"judged" not in text

    asyncio.run(main())


def test_a_hub_without_rules_says_so_until_it_has_some(rules: RuleSettings) -> None:
    async def main() -> None:
        broken = machines.snapshot(machines.lost_view(0))
        async with agent(broken) as one, hub(one.address) as running, opened(running) as response:
            lines = Lines(response.content)
            assert (await lines.next("rules"))["judged"] is False
            settings = msgspec.structs.replace(running.hub.settings, rules=rules)
            await running.hub.reload(settings)
            assert (await lines.next("rules"))["judged"] is True
            await lines.incident("open")
            await running.hub.reload(msgspec.structs.replace(settings, rules=RuleSettings()))
            judged = await lines.next("rules")
            assert (judged["judged"], judged["anew"]) == (False, True)

    asyncio.run(main())


class Judge:
    """Who judges, with the incidents that a test gives."""

    rule_count = 3

    def __init__(self, *going_on: Incident) -> None:
        self.problems: tuple[str, ...] = ()
        self.open = list(going_on)
        self.closed: list[Incident] = []
        self.version = 0
        self.mutes: dict[str, Mute] = {}

    def mute_of(self, one: Incident) -> Mute | None:
        """What mutes an incident."""
        return self.mutes.get(one.id)

    def is_covered_by_leader(self, one: Incident) -> bool:
        """Whether what it follows is published."""
        return bool(one.follows) and one.follows not in self.mutes

    def change(self, *incidents: Incident) -> None:
        """Incidents as they stand now; those that are over leave the open ones."""
        ids = {one.id for one in incidents}
        self.open = [one for one in self.open if one.id not in ids]
        self.open += [one for one in incidents if one.is_open]
        self.closed = [one for one in incidents if not one.is_open] + self.closed
        self.version += 1


class Reader:
    """A client that reads when the test says so."""

    def __init__(self, news: IncidentFeed) -> None:
        self._news = news
        self._after = 0

    async def read(self) -> list[Any]:
        """What it is sent now."""
        await self._news.refresh()
        frames, self._after = await self._news.frames(MSGPACK, self._after)
        return [message(frame[PREFIX_BYTES:]) for frame in frames]

    async def incidents(self) -> dict[str, str]:
        """The incidents that it is sent now, by id, with their states."""
        return states(await self.read())


def states(messages: Iterable[Any]) -> dict[str, str]:
    published = [one for one in messages if isinstance(one, IncidentNow)]
    return {one.incident.id: one.incident.state for one in published}


def rules_of(messages: list[Any]) -> RulesNow:
    assert isinstance(messages[0], RulesNow)
    return messages[0]


def news_of(judge: Judge) -> IncidentFeed:
    return IncidentFeed(lambda: judge)  # type: ignore[arg-type, return-value]  # a stand-in


def test_only_what_has_changed_is_sent_again() -> None:
    async def main() -> None:
        first, second = incident(1), incident(2)
        judge = Judge(first, second)
        reader = Reader(news_of(judge))
        assert await reader.incidents() == {"i1": "open", "i2": "open"}
        assert await reader.read() == []
        judge.change(later(first, START + 5, title="worse"))
        assert await reader.incidents() == {"i1": "open"}
        judge.problems = ("the journal is full",)
        published = await reader.read()
        assert rules_of(published).problems == ("the journal is full",)
        assert len(published) == 1

    asyncio.run(main())


def test_a_slow_reader_gets_the_latest_of_each() -> None:
    async def main() -> None:
        first = incident(1)
        judge = Judge(first)
        news = news_of(judge)
        slow, quick = Reader(news), Reader(news)
        await slow.read()
        for number in range(5):
            judge.change(later(first, START + number, title=f"title {number}"))
            await quick.read()
        (rules, published) = await slow.read()
        assert published.incident.title == "title 4"
        assert not rules.is_reset

    asyncio.run(main())


def test_of_many_the_most_severe_are_shown_and_the_rest_counted() -> None:
    async def main() -> None:
        many = [incident(number, severity=Severity.INFO) for number in range(1, MOST_OPEN + 1)]
        judge = Judge(*many)
        reader = Reader(news_of(judge))
        assert len(await reader.incidents()) == MOST_OPEN
        judge.change(incident(5001, severity=Severity.INFO))
        published = await reader.read()
        assert (rules_of(published).omitted, len(published)) == (1, 1)
        judge.change(incident(5002, severity=Severity.CRITICAL))
        published = await reader.read()
        assert rules_of(published).is_reset
        assert rules_of(published).open == {"info": MOST_OPEN + 1, "critical": 1}
        ids = states(published)
        assert len(ids) == MOST_OPEN
        assert "i5002" in ids
        assert "i5001" not in ids
        judge.change(over(many[0], START + 60))
        assert await reader.incidents() == {"i1": "closed", f"i{MOST_OPEN}": "open"}

    asyncio.run(main())


def test_a_group_counts_once_and_is_published_before_its_members() -> None:
    async def main() -> None:
        *members, group = storm(MOST_OPEN + 2)
        judge = Judge(*(one for one in members if one.id != group.id), group)
        published = await Reader(news_of(judge)).read()
        assert rules_of(published).open == {"critical": 1}
        first = published[1]
        assert first.incident.group == "rack=r7"
        assert (first.members_total, len(first.incident.members)) == (MOST_OPEN + 2, MOST_NAMES)
        assert (first.nodes_total, len(first.incident.nodes)) == (MOST_OPEN + 2, MOST_NAMES)

    asyncio.run(main())


def test_what_follows_counts_only_while_its_leader_is_muted() -> None:
    async def main() -> None:
        follower = incident(2, severity=Severity.WARNING, follows="i1")
        judge = Judge(incident(1), follower)
        assert rules_of(await Reader(news_of(judge)).read()).open == {"critical": 1}
        judge.mutes["i1"] = Mute(id="s1", kind="silence", reason="x", by="ana", until=START)
        judge.change(follower)
        assert rules_of(await Reader(news_of(judge)).read()).open == {"warning": 1}

    asyncio.run(main())


def test_who_is_muted_is_published_again_and_does_not_count() -> None:
    async def main() -> None:
        judge = Judge(incident(1), incident(2))
        reader = Reader(news_of(judge))
        await reader.read()
        mute = Mute(id="s1", kind="silence", reason="a new board", by="ana", until=START + 60)
        judge.mutes["i1"] = mute
        judge.version += 1
        rules, published = await reader.read()
        assert (rules.open, rules.muted) == ({"critical": 1}, 1)
        assert published.incident.muted_by is not None
        assert (published.incident.id, published.incident.muted_by.reason) == ("i1", "a new board")
        judge.mutes.clear()
        judge.version += 1
        rules, published = await reader.read()
        assert (rules.open, rules.muted) == ({"critical": 2}, 0)
        assert published.incident.muted_by is None

    asyncio.run(main())


def test_who_has_missed_an_end_starts_over() -> None:
    async def main() -> None:
        judge = Judge(*(incident(number) for number in range(1, MOST_CLOSED + 2)))
        news = news_of(judge)
        slow, quick = Reader(news), Reader(news)
        await slow.read()
        await quick.read()
        judge.change(over(judge.open[0], START + 1))
        assert await quick.incidents() == {"i1": "closed"}
        for one in list(judge.open):
            judge.change(over(one, START + 2))
        published = await quick.read()
        assert not rules_of(published).is_reset
        assert len(states(published)) == MOST_CLOSED
        published = await slow.read()
        assert rules_of(published).is_reset
        assert len(states(published)) == MOST_CLOSED
        assert "i1" not in states(published)

    asyncio.run(main())


def test_what_ended_and_was_forgotten_between_two_polls_restarts_all() -> None:
    async def main() -> None:
        judge = Judge(incident(1))
        reader = Reader(news_of(judge))
        await reader.read()
        judge.open.clear()
        judge.version += 1
        published = await reader.read()
        assert rules_of(published).is_reset
        assert states(published) == {}

    asyncio.run(main())
