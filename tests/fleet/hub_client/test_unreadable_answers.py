"""Bodies that no hub has written: every reader says so, and none crashes."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.documents.fleet import NodesPage
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.agent import AgentIncidents
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.documents import decoded
from accelwatch.fleet.hub_client.incident_changes import IncidentChanges
from accelwatch.fleet.hub_client.labels import Labels
from accelwatch.fleet.hub_client.once import fetch_fleet
from accelwatch.fleet.hub_client.picture import Picture
from accelwatch.fleet.hub_client.usage import read_usage
from accelwatch.fleet.hub_client.why import fetch_explanation
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from support.fleet.canned_hub import answering
from support.fleet.hub_sources import follow
from support.processes.waiting import GUARD_S

BODIES = {
    "no JSON": b"<html>",
    "no UTF-8": b'{"id": "\xff", "nodes": ["\xff"]}',
    "deep": b'{"x": ' + b"[" * 100_000,
}
bodies = pytest.mark.parametrize("body", BODIES.values(), ids=list(BODIES))


def played(body: bytes, request: Callable[[str, HubSession], Awaitable[None]]) -> None:
    """Ask a server that answers everything with this body."""

    async def main() -> None:
        async with answering() as (answers, base):
            answers.body = body
            session = HubSession(hub_endpoint(base))
            try:
                await request(base, session)
            finally:
                await session.close()

    asyncio.run(main())


@bodies
@pytest.mark.parametrize(
    "read",
    [
        lambda session: fetch_fleet(session, rows="nodes", query={}),
        lambda session: fetch_fleet(session, rows="groups", query={"by": "node"}),
        lambda session: read_usage(session, {"by": "user"}),
        lambda session: fetch_explanation(session, "n1"),
    ],
    ids=["fleet", "groups", "usage", "why"],
)
def test_a_page_that_cannot_be_read_is_garbage(
    body: bytes, read: Callable[[HubSession], Awaitable[object]]
) -> None:
    async def request(_: str, session: HubSession) -> None:
        with pytest.raises(TargetFault) as caught:
            await read(session)
        assert caught.value.reason is Reason.GARBAGE

    played(body, request)


@bodies
def test_a_change_whose_answer_cannot_be_read_was_done(body: bytes) -> None:
    async def request(_: str, session: HubSession) -> None:
        with pytest.raises(AccelwatchError, match="closed, but the answer cannot be read: "):
            await IncidentChanges(session).close("i1", "done")

    played(body, request)


@bodies
def test_an_agent_whose_incidents_cannot_be_read_is_a_problem(body: bytes) -> None:
    async def request(base: str, _: HubSession) -> None:
        incidents = AgentIncidents(hub_endpoint(base))
        polled = asyncio.Event()
        polling = asyncio.create_task(incidents.run(polled.set))
        first = asyncio.create_task(polled.wait())
        await asyncio.wait([polling, first], return_when=asyncio.FIRST_COMPLETED)
        assert polled.is_set()
        polling.cancel()
        await asyncio.wait([polling])
        problem = incidents.problem()
        assert problem is not None
        assert "its answer cannot be read: " in problem.text

    played(body, request)


@bodies
def test_labels_that_cannot_be_read_are_requested_again(body: bytes) -> None:
    async def main() -> None:
        errors: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: errors.append(about))
        clock = ManualClock()
        async with answering() as (answers, base):
            answers.body = body
            session = HubSession(hub_endpoint(base))
            labels = Labels(session, Picture(), clock)
            async with asyncio.timeout(GUARD_S):
                while len(answers.requests) < 2:
                    clock.advance(60.0)
                    labels.refresh(["n1"])
                    await asyncio.sleep(0)
            labels.stop()
            await session.close()
        gc.collect()
        assert errors == []

    asyncio.run(main())


@bodies
def test_a_dashboard_has_no_history_that_cannot_be_read_and_what_it_acknowledged_is(
    body: bytes,
) -> None:
    async def main() -> None:
        async with answering() as (answers, base):
            answers.body = body
            async with follow(base) as source:
                assert await source.device_history("n1", "nvidia:GPU-1") is None
                assert await source.fleet_history() is None
                assert await source.acknowledge("n1", None) == "n1 acknowledged"

    asyncio.run(main())


@bodies
def test_a_document_that_cannot_be_read_is_an_error_of_the_command(body: bytes) -> None:
    with pytest.raises(AccelwatchError, match="the answer cannot be read: "):
        decoded(body, NodesPage)
