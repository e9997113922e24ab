"""Days on which something else goes wrong as well: on managers that run, so on real servers too."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind, OwnerAnnotation
from accelwatch.action.step import Committed, RefusalKind, Report, ReportStatus, Step
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.remediation.execution.operations.operation import (
    KIND,
    OperationState,
    operation_of,
)
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_backendai import BackendAiAction
from accelwatch_backendai.api.tags import tag_of
from accelwatch_backendai.sessions.steps import CREATE_SESSION
from accelwatch_backendai.steps import UNSCHEDULE
from accelwatch_lab.cluster.backendai.access import Account
from accelwatch_lab.cluster.backendai.api_server.clock import ShiftedClock
from remediation.memory_journal import MemoryJournal
from support.backendai import engine_on_cluster
from support.backendai.action_on_cluster import action_on, agents_of, move
from support.backendai.served import ENDED, ServedCluster
from support.kubernetes.action_on_cluster import Pursuits

AGENT = "i-gpu1"
TAKE_OUT = Step(kind=UNSCHEDULE, arguments={"agent": AGENT}, text="take it out")


@pytest.fixture
def known(tmp_path: Path) -> dict[str, Any]:
    """What releases before 26.4 have to be told of a session."""
    file = tmp_path / "train.yaml"
    file.write_text("environ: {}\n")
    return {"specifications": [{"names": ["train*"], "file": str(file)}]}


async def performed(action: BackendAiAction, step: Step) -> Report:
    """What a step has come to."""
    mark = OwnerAnnotation("inc-1", 3)
    permission = Committed(operation="op1", attempt=1, annotation=mark, deadline=9e12)
    return await action.perform(step, permission)


@pytest.mark.parametrize("minutes", [16, -16])
def test_a_clock_that_is_off_is_named_and_nothing_is_done(
    cluster: ServedCluster, minutes: int
) -> None:
    clock = ShiftedClock()
    clock.step_wall(minutes * 60.0)

    async def main() -> None:
        side = "fast" if minutes > 0 else "slow"
        async with action_on(cluster, clock=clock) as action:
            with pytest.raises(ActionUnavailableError, match=f"16 minutes {side}"):
                await action.observe_all()
            assert (await performed(action, TAKE_OUT)).status is ReportStatus.RETRY
        assert (await cluster.agents())[AGENT]["schedulable"]

    asyncio.run(main())


@pytest.mark.parametrize("account", [Account.DOMAIN_ADMIN, Account.USER])
def test_a_key_without_the_right_changes_nothing(cluster: ServedCluster, account: Account) -> None:
    async def main() -> None:
        async with action_on(cluster, account=account) as action:
            report = await performed(action, TAKE_OUT)
            assert report.status in {ReportStatus.RETRY, ReportStatus.REFUSED}, report
            assert report.text
        assert (await cluster.agents())[AGENT]["schedulable"]

    asyncio.run(main())


def test_an_agent_that_a_person_moves_meanwhile_stays_where_he_put_it(
    cluster: ServedCluster,
) -> None:
    async def main() -> None:
        async with action_on(cluster) as action:
            engine = engine_on_cluster.Engine(action)
            await engine.pursue(engine_on_cluster.intent(IntentKind.QUARANTINE, AGENT))
            await cluster.change_agent(AGENT, scaling_group="quarantine")
            back = await engine.pursue(engine_on_cluster.intent(IntentKind.RELEASE, AGENT))
            assert back.result is PursuitResult.ACHIEVED, back.text
        row = (await cluster.agents())[AGENT]
        assert (row["scaling_group"], row["schedulable"]) == ("quarantine", True)

    asyncio.run(main())


def test_a_name_that_is_in_use_or_terminating_gets_no_second_session(
    cluster: ServedCluster, known: dict[str, Any]
) -> None:
    """Its user began it again, and ends it on an agent that does not answer."""

    async def main() -> None:
        row = await cluster.create_batch_session("train-name")
        first = row["session_id"]
        await cluster.end_session(first)
        await cluster.until(first, *ENDED)
        again = await cluster.create_batch_session("train-name")
        arguments = {"session": first, "first": first, "tag": tag_of(first, first)}
        create = Step(kind=CREATE_SESSION, arguments=arguments, text="create it anew")
        async with action_on(cluster, **known) as action:
            report = await performed(action, create)
            assert report.status is ReportStatus.REFUSED, report
            assert again["session_id"] in report.text
            cluster.kill_agent(*agents_of(again))
            # A manager may answer only when it has given up on the agent.
            ending = asyncio.create_task(cluster.end_session(again["session_id"]))
            await cluster.until(again["session_id"], "TERMINATING")
            report = await performed(action, create)
            assert report.status is ReportStatus.RETRY, report
            assert "is still terminating" in report.text
            ending.cancel()
        assert len(await cluster.sessions(name="train-name")) == 2

    asyncio.run(main())


def test_an_agent_that_dies_before_its_end_is_requested_keeps_its_session(
    cluster: ServedCluster, known: dict[str, Any]
) -> None:
    """The manager says ALIVE for a while: the end is tried, hangs, and is not forced."""

    async def main() -> None:
        row = await cluster.create_batch_session("train-dead", nodes=2)
        bad = agents_of(row)[-1]
        async with action_on(cluster, bad, **known) as action:
            await cluster.change_agent(bad, schedulable=False)
            cluster.kill_agent(bad)
            moving = asyncio.create_task(Pursuits(action).pursue(move(row, bad), 180.0))
            await cluster.until(row["session_id"], "TERMINATING")
            await cluster.until_lost(bad)
            moved = await moving
            assert (moved.result, moved.refusal) == (PursuitResult.REFUSED, RefusalKind.UNSAFE)
            assert "fence it first" in moved.text
        assert len(await cluster.sessions(name="train-dead")) == 1

    asyncio.run(main())


def _is_answered(batch: Batch) -> bool:
    """Whether the scheduler's answer to a step is written down."""
    rows = [row for row in batch.records if isinstance(row, StateRecord) and row.kind == KIND]
    return any(operation_of(row).state is OperationState.ANSWERED for row in rows)


def test_a_manager_that_is_killed_between_end_and_creation_is_waited_for(
    cluster: ServedCluster, known: dict[str, Any]
) -> None:
    async def main() -> None:
        row = await cluster.create_batch_session("train-away")
        (bad,) = agents_of(row)
        journal = MemoryJournal()
        restarts: list[asyncio.Task[None]] = []

        def kill(batch: Batch) -> None:
            if not restarts and _is_answered(batch):
                cluster.kill_manager()
                restarts.append(asyncio.create_task(asyncio.to_thread(cluster.start_manager)))

        async with action_on(cluster, bad, **known) as action:
            await cluster.change_agent(bad, schedulable=False)
            journal.after = kill
            wanted = move(row, bad)
            wanted = msgspec.structs.replace(wanted, deadline=wanted.asked + 240.0)
            moved = await Pursuits(action, journal).pursue(wanted, 240.0)
            assert moved.result is PursuitResult.ACHIEVED, moved.text
            assert restarts
            await asyncio.gather(*restarts)
        before, after = await cluster.sessions(name="train-away")
        assert (before["status"], after["status"]) == ("TERMINATED", "RUNNING")
        assert bad not in agents_of(after)

    asyncio.run(main())
