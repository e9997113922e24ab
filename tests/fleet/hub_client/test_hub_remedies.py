"""A hub's remedies as a dashboard gets them: what is shown, refused, left in doubt; nothing hangs."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest

from accelwatch.base.errors import AccelwatchError, UncertainError
from accelwatch.fleet.documents.remedies import PlanPage
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.remedies import Remedies
from accelwatch.fleet.picture.remedies import Command
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from support.fleet.canned_hub import Answers, answering
from support.incidents.remedy_documents import answered, awaiting_approval, page, plan
from support.processes.waiting import GUARD_S

QUARANTINE = Command(verb="quarantine", node="n 1/a", reason="dead", lasts="")


@contextlib.asynccontextmanager
async def served(timeout_s: float = GUARD_S) -> AsyncIterator[tuple[Answers, Remedies]]:
    async with answering() as (answers, base):
        session = HubSession(hub_endpoint(base), timeout_s)
        try:
            yield answers, Remedies(session, lambda: True)
        finally:
            await session.close()


def test_pages_arrive_and_what_stops_them_is_reported() -> None:
    async def main() -> None:
        async with served() as (answers, remedies):
            received = asyncio.Event()
            answers.of(page(awaiting_approval()))
            task = asyncio.create_task(remedies.run(received.set))

            async def again() -> None:
                received.clear()
                remedies.poll_soon()
                async with asyncio.timeout(GUARD_S):
                    await received.wait()

            await again()
            shown = remedies.page()
            assert shown == page(awaiting_approval())
            assert remedies.problem() == ""
            answers.refuse(500, "broken")
            await again()
            assert remedies.page() is shown
            assert remedies.problem() == "remedies: broken"
            answers.of(answered("no page at all"))
            await again()
            assert remedies.problem().startswith("remedies: the answer cannot be read")
            answers.refuse(404, "no such page")
            await again()
            assert (remedies.page(), remedies.problem()) == (None, "")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


def test_only_hubs_that_evaluate_are_queried() -> None:
    async def main() -> None:
        async with served() as (answers, remedies):
            quiet = Remedies(remedies.session, lambda: False)
            task = asyncio.create_task(quiet.run(lambda: None))
            for _ in range(5):
                quiet.poll_soon()
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert answers.requests == []

    asyncio.run(main())


def test_a_plan_and_words_go_where_they_belong() -> None:
    async def main() -> None:
        async with served() as (answers, remedies):
            answers.of(PlanPage(plan=plan()))
            assert await remedies.plan("n 1/a") == plan()
            answers.of(answered("kim stopped everything"))
            outcome = await remedies.send_command(Command(verb="stop", reason="smoke"))
            assert outcome == answered("kim stopped everything")
            answers.of(answered("deny by kim: no", awaiting_approval()))
            await remedies.send_command(Command(verb="deny", node="n 1/a", reason="no", lasts="4h"))
            await remedies.send_command(
                Command(verb="approve", node="n1", reason="yes", plan="5f3a")
            )
            paths = [(method, path) for method, path, _ in answers.requests]
            assert paths == [
                ("GET", "/v1/plan?node=n+1%2Fa"),
                ("POST", "/v1/stop"),
                ("POST", "/v1/remedies/n%201%2Fa/deny"),
                ("POST", "/v1/remedies/n1/approve"),
            ]
            bodies = [json.loads(body) for _, _, body in answers.requests[1:]]
            assert [set(body) for body in bodies] == [
                {"reason", "by"},
                {"reason", "by", "for"},
                {"reason", "by", "plan"},
            ]
            answers.refuse(404, "no node 'n9'")
            with pytest.raises(AccelwatchError, match="the hub shows no plan: no node 'n9'"):
                await remedies.plan("n9")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("code", "text", "doubt"),
    [
        (403, "answered 403: this needs the role act; ana has approve", False),
        (503, "it does not count: the journal is full", False),
        (400, "reason: say why", False),
        (500, "broken", True),
        (502, "broken", True),
    ],
)
def test_a_refusal_is_distinguished_from_doubt(code: int, text: str, doubt: bool) -> None:
    async def main() -> None:
        async with served() as (answers, remedies):
            answers.refuse(code, text.removeprefix("answered 403: "))
            with pytest.raises(AccelwatchError) as caught:
                await remedies.send_command(QUARANTINE)
            assert isinstance(caught.value, UncertainError) is doubt
            assert text in str(caught.value)
            head = "unknown whether it was accepted" if doubt else "it does not count"
            assert str(caught.value).startswith(head)

    asyncio.run(main())


def test_a_hub_that_hangs_leaves_doubt_about_a_command_and_is_reported_for_a_plan() -> None:
    async def main() -> None:
        async with served(timeout_s=0.2) as (answers, remedies):
            answers.hangs = True
            with pytest.raises(UncertainError, match="no complete answer in time"):
                await remedies.send_command(QUARANTINE)
            with pytest.raises(AccelwatchError, match="shows no plan: no complete answer in time"):
                await remedies.plan("n1")

    asyncio.run(main())


def test_a_hub_that_is_not_there_was_sent_nothing() -> None:
    async def main() -> None:
        session = HubSession(hub_endpoint("http://127.0.0.1:1"))
        with pytest.raises(AccelwatchError, match="it does not count: ") as caught:
            await Remedies(session, lambda: True).send_command(QUARANTINE)
        assert not isinstance(caught.value, UncertainError)
        await session.close()

    asyncio.run(main())
