"""The incidents of one machine as its agent reports them: in order, counted, silent, without rules."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from accelwatch.alerting.evaluation.documents import IncidentsPage, NodeNote
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.hub_client.agent import AgentIncidents
from accelwatch.fleet.targets.hub_endpoint import hub_endpoint
from support.fleet.canned_hub import Answers, answering
from support.incidents.incident_documents import explanation, lost, low_power, muted, over
from support.processes.waiting import GUARD_S

PAGE = IncidentsPage(
    evaluated=True,
    rules=99,
    problems=("the journal is full",),
    node=NodeNote(host="n002", devices=8, lost=1, silent=0),
    incidents=tuple(one.incident for one in (lost(), low_power(), muted(), over())),
)


@contextlib.asynccontextmanager
async def following(base: str) -> AsyncIterator[AgentIncidents]:
    """The source while it asks."""
    source = AgentIncidents(hub_endpoint(base, flag="--agent"))
    task = asyncio.create_task(source.run(lambda: None))
    try:
        yield source
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(GUARD_S):
        while not true():
            await asyncio.sleep(0.01)


def received(prepare: Callable[[Answers], None]) -> AgentIncidents:
    """What is known after the first answer."""

    async def main() -> AgentIncidents:
        async with answering() as (answers, base):
            prepare(answers)
            async with following(base) as source:
                await until(lambda: bool(source.fleet() or source.problem()))
            assert [path for _, path, _ in answers.requests] == [
                "/v1/incidents?state=all&limit=400"
            ]
            return source

    return asyncio.run(main())


def test_incidents_come_in_the_order_of_their_opening_and_are_counted() -> None:
    view = received(lambda answers: answers.of(PAGE)).fleet()
    assert view is not None
    assert [one.incident.id for one in view.incidents] == ["i3", "i4", "i7", "i1"]
    rules = view.rules
    assert rules is not None
    assert (rules.evaluated, rules.rules, rules.muted) == (True, 99, 1)
    assert rules.open == {"critical": 1, "warning": 1}
    assert rules.problems == ("the journal is full",)
    assert (view.sums.nodes_total, view.sums.devices_total) == (1, 8)


def test_an_agent_without_rules_judges_nothing() -> None:
    source = received(lambda answers: answers.refuse(404, "there are no rules here"))
    view = source.fleet()
    assert view is not None
    assert view.rules is not None
    assert not view.rules.evaluated
    assert source.problem() is None


@pytest.mark.parametrize(
    ("code", "text", "message"),
    [(500, "broken", ": broken"), (401, "", "check the credentials"), (200, "{", "cannot be read")],
)
def test_what_goes_wrong_is_reported_with_what_was_received_last(
    code: int, text: str, message: str
) -> None:
    def prepare(answers: Answers) -> None:
        answers.refuse(code, text)

    source = received(prepare)
    problem = source.problem()
    assert problem is not None
    assert message in problem.text
    assert source.fleet() is None


def test_where_no_agent_listens_that_is_reported() -> None:
    async def main() -> None:
        async with following("http://127.0.0.1:1") as source:
            await until(lambda: source.problem() is not None)
            problem = source.problem()
            assert problem is not None
            assert problem.text == f"no {source.name} answers"

    asyncio.run(main())


def test_a_rule_is_explained_by_the_agent() -> None:
    async def main() -> None:
        async with answering() as (answers, base):
            source = AgentIncidents(hub_endpoint(base, flag="--agent"))
            answers.of(explanation())
            assert await source.explain("jobs.straggler", "n002/nvidia3") == explanation()
            answers.refuse(404, "no rule 'x'")
            with pytest.raises(AccelwatchError, match="it is not explained: no rule 'x'"):
                await source.explain("x", "n002")
            await source.close_session()

    asyncio.run(main())
