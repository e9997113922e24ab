"""The dispatcher over real receivers: what arrives, and what a bad receiver does to the others."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from accelwatch.alerting.delivery.approval_requests import NoApprovalRequests
from accelwatch.alerting.delivery.dispatcher import Dispatcher
from accelwatch.alerting.delivery.messages.message import Key
from accelwatch.alerting.delivery.outbox import JournalOutbox, MemoryOutbox, Outbox
from accelwatch.alerting.delivery.sinks import sinks_of
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.sqlite.file import open_file
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.alerting.incidents.model.incident import Facts, Incident
from accelwatch.alerting.sink import ApprovalRequest, Notice, Outcome, Sink, Status
from accelwatch.base.clock import SystemClock
from accelwatch.config.alerts import Alerts, DeadMan, Route, SinkSettings
from support.incidents.incident_samples import incident, over, storm
from support.servers.receivers import Receiver, code, receiver


class LoopClock:
    """The clock of the loop, on which only waiting takes time."""

    def wall(self) -> float:
        return 1_800_000_000.0 + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def settings(*sinks: tuple[str, Receiver], timeout_s: float = 1.0, **more: Any) -> Alerts:
    """Webhooks of these names, all of which are told of everything."""
    return Alerts(
        sinks=tuple(
            SinkSettings(
                name=name, type="webhook", timeout_s=timeout_s, options={"url": f"{there.base}/x"}
            )
            for name, there in sinks
        ),
        **more,
    )


@contextlib.asynccontextmanager
async def running(
    alerts: Alerts, outbox: Outbox | None = None, **how: Any
) -> AsyncIterator[Dispatcher]:
    dispatcher = Dispatcher(alerts, outbox or MemoryOutbox(), LoopClock(), **how)
    await dispatcher.start()
    try:
        yield dispatcher
    finally:
        await dispatcher.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def types(there: Receiver) -> list[object]:
    return [request.json()["type"] for request in there.requests]


def test_it_arrives_and_so_does_its_end() -> None:
    async def scenario() -> None:
        async with receiver() as there, running(settings(("a", there))) as dispatcher:
            dispatcher.changed(incident())
            await there.wait_for(1)
            dispatcher.changed(over(incident(), 1_800_000_000.0))
            await there.wait_for(2)
            assert types(there) == ["incident.opened", "incident.closed"]
            assert dispatcher.problems == ()

    asyncio.run(scenario())


def test_a_storm_of_30_nodes_is_one_incident_and_two_messages() -> None:
    async def scenario() -> None:
        async with receiver() as there, running(settings(("a", there))) as dispatcher:
            for one in storm(30):
                dispatcher.changed(one)
            await there.wait_for(1)
            for one in storm(30):
                dispatcher.changed(over(one, 1_800_000_000.0))
            await there.wait_for(2)
            await asyncio.sleep(0.5)
            assert types(there) == ["incident.opened", "incident.closed"]

    asyncio.run(scenario())


BAD: list[Any] = [
    code(500),
    code(302, Location="/y"),
    code(429, Retry_After="600"),
    "hang",
]


@pytest.mark.parametrize("answer", BAD, ids=["500", "302", "429", "hangs"])
def test_a_bad_receiver_keeps_nobody_else_waiting(answer: Any) -> None:
    async def scenario() -> None:
        async with receiver(answer) as bad, receiver() as good:
            alerts = settings(("bad", bad), ("good", good), storm_wait_s=0.0)
            async with running(alerts) as dispatcher:
                for number in range(1, 11):
                    dispatcher.changed(incident(number))
                await good.wait_for(10)
                await until(lambda: dispatcher.problems)
                (problem,) = dispatcher.problems
                assert problem.startswith("alerts.bad: ")
                assert bad.base not in problem

    asyncio.run(scenario())


def test_one_that_drips_has_got_it() -> None:
    async def scenario() -> None:
        async with receiver("drip") as there, running(settings(("a", there))) as dispatcher:
            dispatcher.changed(incident())
            await there.wait_for(1)
            dispatcher.changed(over(incident(), 1_800_000_000.0))
            await there.wait_for(2)
            await asyncio.sleep(1)
            assert len(there.requests) == 2
            assert dispatcher.problems == ()

    asyncio.run(scenario())


def test_it_is_sent_again_until_it_arrives() -> None:
    async def scenario() -> None:
        answers = [code(500), code(200)]
        async with receiver(*answers) as there, running(settings(("a", there))) as dispatcher:
            dispatcher.changed(incident())
            requests = await there.wait_for(2)
            assert len({request.headers["webhook-id"] for request in requests}) == 1
            await until(lambda: not dispatcher.problems)

    asyncio.run(scenario())


def test_a_receiver_that_asks_for_a_pause_is_left_alone_for_so_long() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        async with receiver(code(429, Retry_After="3"), code(200)) as there:
            alerts = settings(("a", there), storm_wait_s=0.0)
            async with running(alerts) as dispatcher:
                dispatcher.changed(incident(1))
                await there.wait_for(1)
                started_at = loop.time()
                dispatcher.changed(incident(2))
                await there.wait_for(2)
                assert loop.time() - started_at >= 2.5

    asyncio.run(scenario())


def test_what_is_never_delivered_is_reported_on_another_sink() -> None:
    async def scenario() -> None:
        async with receiver(code(413)) as bad, receiver() as good:
            routes = (Route(sinks=("bad",)),)
            async with running(settings(("bad", bad), ("good", good), routes=routes)) as dispatcher:
                dispatcher.changed(incident())
                (request,) = await good.wait_for(1)
                sent: Any = request.json()["data"]
                assert sent["where"] == "sink bad"
                assert "accelwatch alerts test bad" in sent["what_to_do"]
                assert sent["evidence"][0] == "1 never delivered, the last: answered 413"
                assert dispatcher.problems == (
                    "alerts.bad: 1 never delivered, the last: answered 413",
                )

    asyncio.run(scenario())


class OddSink:
    """A plug-in that does what it should not."""

    edits = False
    pace_s = 0.0
    repeat_s: float | None = None

    def __init__(self, how: str) -> None:
        self.how = how
        self.calls = 0

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        self.calls += 1
        if self.how == "raises":
            raise RuntimeError("https://secret")
        if self.how == "cancels":
            raise asyncio.CancelledError
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1e6 if self.how == "clings" and self.calls < 3 else 0.1)
                return Outcome(status=Status.DELIVERED)

    async def close(self) -> None:
        if self.how == "raises":
            raise RuntimeError


@pytest.mark.parametrize("how", ["raises", "cancels"])
def test_a_plug_in_that_breaks_its_contract(how: str) -> None:
    async def scenario() -> None:
        odd = OddSink(how)
        alerts = Alerts(sinks=(SinkSettings(name="odd", type="x", timeout_s=1.0),))
        sinks: Mapping[str, Sink] = {"odd": odd}
        async with running(alerts, sinks=sinks) as dispatcher:
            dispatcher.changed(incident())
            await until(lambda: odd.calls > 1)
            assert len(dispatcher.problems) == 1
            assert "secret" not in dispatcher.problems[0]

    asyncio.run(scenario())


def test_a_plug_in_that_clings_is_left_behind_and_not_called_again() -> None:
    async def scenario() -> None:
        odd = OddSink("clings")
        alerts = Alerts(sinks=(SinkSettings(name="odd", type="x", timeout_s=0.1),))
        async with running(alerts, sinks={"odd": odd}) as dispatcher:
            dispatcher.changed(incident())
            await until(lambda: "heeds no cancellation" in "".join(dispatcher.problems))
            assert odd.calls == 1
            # At the end it may go.
            odd.calls = 3

    asyncio.run(scenario())


def test_a_restart_sends_what_had_not_arrived(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiver(code(500), code(200)) as there:
            alerts = settings(("a", there))
            for number in (1, 2):
                file = open_file(tmp_path / "journal.sqlite")
                rows = file.load(0.0).outbox
                writer = JournalWriter(file)
                outbox = JournalOutbox(writer, SystemClock(), rows)
                async with running(alerts, outbox) as dispatcher:
                    if number == 1:
                        dispatcher.changed(incident())
                    await there.wait_for(number)
                await writer.close()
            assert types(there) == ["incident.opened", "incident.opened"]

    asyncio.run(scenario())


def test_after_a_restart_nothing_is_sent_twice(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            outbox = MemoryOutbox()
            for number in (1, 2):
                async with running(settings(("a", there)), outbox) as dispatcher:
                    dispatcher.changed(incident())
                    await there.wait_for(1)
                    await asyncio.sleep(0.2 * number)
            assert len(there.requests) == 1

    asyncio.run(scenario())


class FullDisk:
    """An outbox that cannot write."""

    def __init__(self) -> None:
        self.full = True
        self.saved: set[Key] = set()

    def rows(self) -> list[bytes]:
        return []

    async def save(self, changes: Mapping[Key, bytes | None]) -> None:
        if self.full:
            raise JournalError("the journal cannot be written: disk full")
        self.saved |= set(changes)


def test_a_full_disk_keeps_nobody_from_being_notified() -> None:
    async def scenario() -> None:
        disk = FullDisk()
        async with receiver() as there, running(settings(("a", there)), disk) as dispatcher:
            dispatcher.changed(incident())
            await there.wait_for(1)
            await until(lambda: dispatcher.problems)
            assert "disk full" in dispatcher.problems[0]
            disk.full = False
            dispatcher.changed(over(incident(), 1_800_000_000.0))
            await until(lambda: not dispatcher.problems)
            assert disk.saved == {("i1", "a")}

    asyncio.run(scenario())


def test_a_name_of_200_korean_letters_arrives_everywhere() -> None:
    async def scenario() -> None:
        name = "가" * 200
        async with receiver() as there, receiver() as teams:
            alerts = settings(("a", there))
            card = SinkSettings(name="teams", type="teams", options={"url": teams.base})
            slack = SinkSettings(name="slack", type="slack", options={"url": teams.base})
            alerts = Alerts(sinks=(*alerts.sinks, card, slack))
            async with running(alerts) as dispatcher:
                dispatcher.changed(incident(node=name, facts=Facts(labels={"rack": name})))
                (request,) = await there.wait_for(1)
                assert request.json()["data"]["nodes"] == [name]
                await teams.wait_for(2)
                assert all(len(request.body) < 28_000 for request in teams.requests)

    asyncio.run(scenario())


@pytest.mark.parametrize("well", [True, False])
def test_a_dead_man_is_pinged_only_while_all_is_well(tmp_path: Path, well: bool) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            secret = tmp_path / "url"
            secret.write_text(f"{there.base}/ping/secret\n")
            alerts = Alerts(dead_man=DeadMan(url_file=str(secret), interval_s=0.01))
            problem = ("alerts.dead_man: not pinged, because there are problems",)
            state, seen_well = {"well": well}, Counter[bool]()

            def is_well() -> bool:
                seen_well[state["well"]] += 1
                return state["well"]

            async with running(alerts, well=is_well) as dispatcher:
                if well:
                    await there.wait_for(3)
                    assert dispatcher.problems == ()
                    state["well"] = False
                # One ping after another: with the first no, the last of them has been answered.
                await until(lambda: dispatcher.problems == problem)
                pinged = len(there.requests)
                await until(lambda: seen_well[False] >= 3)
                assert len(there.requests) == pinged
                assert pinged or not well
                state["well"] = True
                await there.wait_for(pinged + 1)
                await until(lambda: dispatcher.problems == ())

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("answer", "sent"), [(code(500), "answered 500"), (code(302, Location="/"), "answered 302")]
)
def test_a_ping_that_fails_is_reported(
    tmp_path: Path, answer: Callable[[], web.StreamResponse], sent: str
) -> None:
    async def scenario() -> None:
        async with receiver(answer) as there:
            secret = tmp_path / "url"
            secret.write_text(f"{there.base}/ping/secret\n")
            alerts = Alerts(dead_man=DeadMan(url_file=str(secret)))
            async with running(alerts, well=lambda: True) as dispatcher:
                await until(lambda: dispatcher.problems)
                assert dispatcher.problems == (f"alerts.dead_man: {sent}",)

    asyncio.run(scenario())


def test_one_who_cannot_say_that_all_is_well_says_that_it_is_not(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            secret = tmp_path / "url"
            secret.write_text(f"{there.base}/ping\n")
            alerts = Alerts(dead_man=DeadMan(url_file=str(secret)))
            async with running(alerts, well=lambda: bool(1 // 0)) as dispatcher:
                await until(lambda: dispatcher.problems)
                assert there.requests == []
            async with running(alerts) as dispatcher:
                assert "health is unknown" in dispatcher.problems[0]

    asyncio.run(scenario())


REQUEST = ApprovalRequest(node="n1", plan="p1", steps=("take n1 out of the pool",), at=1.0)


class OneRequest(NoApprovalRequests):
    """Asks about every incident while it wants to."""

    page = "/incidents/"

    def __init__(self) -> None:
        self.wants = True

    def requests_for(self, _incident: Incident, /) -> tuple[ApprovalRequest, ...]:
        return (REQUEST,)

    def soon(self, _incident: Incident, /) -> float:
        return 0.0

    def linked(
        self, sink: str, incident: str, requested: tuple[ApprovalRequest, ...], /
    ) -> tuple[ApprovalRequest, ...]:
        link = f"https://hub/{incident}?link=secret-{sink}"
        made = (msgspec.structs.replace(one, link=link) for one in requested)
        return tuple(made) if self.wants else ()

    def inactive_reason(self) -> str:
        return ""


def test_a_link_is_in_what_is_sent_and_nowhere_else() -> None:
    async def scenario() -> None:
        outbox = MemoryOutbox()
        kept: list[bytes | None] = []
        save = outbox.save

        async def saved(changes: Mapping[Key, bytes | None]) -> None:
            kept.extend(changes.values())
            await save(changes)

        outbox.save = saved  # type: ignore[method-assign]
        requests = OneRequest()
        async with receiver() as one, receiver() as two:
            alerts = settings(("a", one), ("b", two), external_url="https://hub")
            async with running(alerts, outbox, approval_requests=requests) as dispatcher:
                dispatcher.changed(incident())
                await one.wait_for(1)
                await two.wait_for(1)
        sent = [there.requests[0].json()["data"] for there in (one, two)]
        links = [data["asks"][0]["link"] for data in sent]
        assert links == ["https://hub/i1?link=secret-a", "https://hub/i1?link=secret-b"]
        assert sent[0]["link"] == "https://hub/incidents/i1"
        assert any(kept)
        assert all(b"secret" not in (row or b"") for row in kept)

    asyncio.run(scenario())


def test_what_was_decided_meanwhile_is_not_requested() -> None:
    async def scenario() -> None:
        requests = OneRequest()
        requests.wants = False
        async with (
            receiver() as there,
            running(settings(("a", there)), approval_requests=requests) as dispatcher,
        ):
            dispatcher.changed(incident())
            await there.wait_for(1)
            assert there.requests[0].json()["data"]["asks"] == []

    asyncio.run(scenario())


class UsersOnly:
    """A sink that has nobody to write to."""

    edits = False
    pace_s = 0.0
    repeat_s: float | None = None

    def __init__(self) -> None:
        self.notices: list[Notice] = []

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        self.notices.append(notice)
        return Outcome(status=Status.NO_RECIPIENT, reference=reference)

    async def close(self) -> None:
        """Nothing is open."""


class Refusing(UsersOnly):
    """A sink whose receiver takes nothing."""

    async def deliver(self, notice: Notice, reference: str) -> Outcome:
        self.notices.append(notice)
        return Outcome(status=Status.REFUSED, message="answered 413")


def test_failed_delivery_is_reported_by_a_sink_that_reaches_somebody() -> None:
    async def scenario() -> None:
        async with receiver() as there:
            alerts = settings(("bad", there), ("users", there), ("pager", there))
            users, refusing = UsersOnly(), Refusing()
            pager = sinks_of(alerts, LoopClock())["pager"]
            sinks: Mapping[str, Sink] = {"bad": refusing, "users": users, "pager": pager}
            async with running(alerts, sinks=sinks) as dispatcher:
                dispatcher.changed(incident())
                await there.wait_for(2)
            titles = [request.json()["data"]["title"] for request in there.requests]
            assert titles.count("alerts do not arrive") == 1
            handed = [one.title for one in users.notices].count("alerts do not arrive")
            assert handed == 1, "it was asked first, and had nobody to tell"
            assert [one for one in dispatcher.problems if "users" in one] == []

    asyncio.run(scenario())


def test_what_concerns_nobody_is_settled() -> None:
    async def scenario() -> None:
        users = UsersOnly()
        alerts = Alerts(sinks=(SinkSettings(name="users", type="x"),))
        sinks: Mapping[str, Sink] = {"users": users}
        async with running(alerts, sinks=sinks) as dispatcher:
            dispatcher.changed(incident(1))
            await until(lambda: len(users.notices) == 1)
            dispatcher.changed(incident(2))
            await until(lambda: len(users.notices) == 2)
            assert len({one.key for one in users.notices}) == 2
            assert dispatcher.problems == ()

    asyncio.run(scenario())
