"""Agents taken out, given back, drawn as spares: by the engine's own pursuits, on managers that run."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Committed, RefusalKind, ReportStatus, Step
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch_backendai import BackendAiAction
from accelwatch_lab.cluster.backendai.access import Account
from accelwatch_lab.cluster.backendai.api_server.faults import Fault
from support.backendai.engine_on_cluster import Engine, action_on, intent
from support.backendai.served import ServedCluster
from support.backendai.stand_in import StandInCluster

SPARE = "i-gpu4"


def quarantine() -> Intent:
    """From now on: an intent ends a minute later."""
    return intent(IntentKind.QUARANTINE)


def draw() -> Intent:
    return intent(IntentKind.DRAW_SPARE, spare=SPARE)


def give_back(original: Mapping[str, str]) -> Intent:
    """What its draw replaced says where it goes."""
    return intent(IntentKind.RETURN_SPARE, spare=SPARE, original=original)


def run(main: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(main())  # type: ignore[arg-type]


async def spare_in(cluster: ServedCluster) -> str:
    """The group in which the spare is."""
    return str((await cluster.agents())[SPARE]["scaling_group"])


def test_an_agent_is_taken_out_and_its_session_goes_on(cluster: ServedCluster) -> None:
    async def main() -> None:
        session = await cluster.create_batch_session("train")
        agent = session["containers"][0]["agent"]
        async with action_on(cluster) as action:
            engine = Engine(action)
            out = intent(IntentKind.QUARANTINE, agent)
            assert (await engine.pursue(out)).result is PursuitResult.ACHIEVED
            row = (await cluster.agents())[agent]
            assert (row["schedulable"], row["status"]) == (False, "ALIVE")
            assert (await cluster.session(session["session_id"]))["status"] == "RUNNING"
            back = intent(IntentKind.RELEASE, agent)
            assert (await engine.pursue(back)).result is PursuitResult.ACHIEVED
            assert (await cluster.agents())[agent]["schedulable"]

    run(main)


def test_an_agent_that_somebody_else_took_out_is_refused(cluster: ServedCluster) -> None:
    async def main() -> None:
        await cluster.change_agent("i-gpu1", schedulable=False)
        async with action_on(cluster) as action:
            end = await Engine(action).pursue(quarantine())
            assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)

    run(main)


def test_who_takes_an_agent_out_just_before_us_keeps_it(cluster: ServedCluster) -> None:
    """Between what was proposed and what is sent, the row is read once more."""

    async def main() -> None:
        async with action_on(cluster) as action:
            wanted = quarantine()
            step = action.propose(wanted, await action.observe(wanted))
            await cluster.change_agent("i-gpu1", schedulable=False)
            assert await performed(action, step) is ReportStatus.RETRY

    run(main)


async def performed(action: BackendAiAction, step: object, attempt: int = 1) -> ReportStatus:
    assert isinstance(step, Step)
    permission = Committed(
        operation="op1", attempt=attempt, annotation=quarantine().mark, deadline=9e12
    )
    return (await action.perform(step, permission)).status


def test_what_an_earlier_try_of_ours_has_done_late_is_no_persons(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with action_on(cluster) as action:
            wanted = quarantine()
            step = action.propose(wanted, await action.observe(wanted))
            await cluster.change_agent("i-gpu1", schedulable=False)
            assert await performed(action, step, attempt=2) is ReportStatus.DONE

    run(main)


def test_a_release_is_not_sent_where_the_hold_is_not_ours_any_more(
    cluster: ServedCluster,
) -> None:
    async def main() -> None:
        async with action_on(cluster) as action:
            quarantines: dict[str, OwnerAnnotation] = {"i-gpu1": quarantine().mark}
            action.set_quarantines(quarantines)
            await cluster.change_agent("i-gpu1", schedulable=False)
            release = intent(IntentKind.RELEASE)
            step = action.propose(release, await action.observe(release))
            quarantines.clear()
            assert await performed(action, step) is ReportStatus.RETRY
            assert not (await cluster.agents())["i-gpu1"]["schedulable"]

    run(main)


def test_a_poll_that_was_under_way_shows_our_new_hold_as_ours(stand_in: StandInCluster) -> None:
    """And one of ours that is given back meanwhile not as somebody else's."""

    async def main() -> None:
        await stand_in.change_agent("i-gpu1", schedulable=False)
        await stand_in.change_agent("i-gpu2", schedulable=False)
        quarantines = {"i-gpu2": quarantine().mark}
        async with action_on(stand_in) as action:
            action.set_quarantines(quarantines)
            async with stand_in.slow("agent_list") as arrived:
                poll = asyncio.create_task(action.observe_all())
                await arrived()
                quarantines.clear()
                quarantines["i-gpu1"] = quarantine().mark
            states = {node.name: node.hold_state for node in await poll}
        assert states["i-gpu1"] is HoldState.OURS
        assert states["i-gpu2"] is HoldState.OURS
        assert states["i-gpu3"] is HoldState.OPEN

    run(main)


def test_an_answer_of_200_that_is_not_ok_is_a_refusal(stand_in: StandInCluster) -> None:
    async def main() -> None:
        stand_in.manager.faults.add(Fault(body="modify_agent", effect="not_ok", times=None))
        async with action_on(stand_in) as action:
            end = await Engine(action).pursue(quarantine())
            assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED)
        assert (await stand_in.agents())["i-gpu1"]["schedulable"]

    run(main)


def test_what_was_done_without_an_answer_is_ours(stand_in: StandInCluster) -> None:
    async def main() -> None:
        stand_in.manager.faults.add(Fault(body="mutation", effect="drop_after"))
        async with action_on(stand_in) as action:
            engine = Engine(action)
            assert (await engine.pursue(quarantine())).result is PursuitResult.ACHIEVED
            assert dict(engine.quarantines) == {"i-gpu1": quarantine().mark}
        assert len(stand_in.manager.log.writes()) == 1

    run(main)


def test_a_key_that_may_not_list_agents_is_reported(cluster: ServedCluster) -> None:
    async def main() -> None:
        async with action_on(cluster, Account.USER) as action:
            with pytest.raises(ActionUnavailableError):
                await action.observe_all()

    run(main)


def test_thousands_of_agents_are_seen_each_once(stand_in: StandInCluster) -> None:
    async def main() -> None:
        names = [f"i-node{at:04d}" for at in range(3000)]
        stand_in.add_agents(*names)
        async with action_on(stand_in) as action:
            nodes = await action.observe_all()
        assert sorted(node.name for node in nodes) == sorted(
            [*names, *(f"i-gpu{at}" for at in range(1, 5))]
        )

    run(main)


def test_a_spare_is_drawn_and_returned(cluster: ServedCluster) -> None:
    async def main() -> None:
        await cluster.change_agent(SPARE, scaling_group="spare")
        async with action_on(cluster) as action:
            engine = Engine(action)
            end = await engine.pursue(draw())
            assert end.result is PursuitResult.ACHIEVED
            assert await spare_in(cluster) == "default"
            back = give_back(end.original)
            assert (await engine.pursue(back)).result is PursuitResult.ACHIEVED
            assert await spare_in(cluster) == "spare"

    run(main)


def test_a_spare_is_returned_to_the_group_that_it_was_drawn_from(cluster: ServedCluster) -> None:
    """The configuration names another group of spares by now."""

    async def main() -> None:
        await cluster.change_agent(SPARE, scaling_group="spare")
        async with action_on(cluster) as action:
            end = await Engine(action).pursue(draw())
            assert end.result is PursuitResult.ACHIEVED
        async with action_on(cluster, groups={"default": {"spares": "quarantine"}}) as action:
            back = await Engine(action).pursue(give_back(end.original))
            assert back.result is PursuitResult.ACHIEVED
        assert await spare_in(cluster) == "spare"

    run(main)


@pytest.mark.parametrize("spares", ["", "spare"])
def test_a_drawn_spare_that_a_person_has_moved_to_another_job_group_is_left_there(
    cluster: ServedCluster, spares: str
) -> None:
    """Whether that group has the same spares or none."""

    async def main() -> None:
        await cluster.change_agent(SPARE, scaling_group="spare")
        groups = {"default": {"spares": "spare"}}
        if spares:
            groups["quarantine"] = {"spares": spares}
        async with action_on(cluster, groups=groups) as action:
            engine = Engine(action)
            drawn = await engine.pursue(draw())
            await cluster.change_agent(SPARE, scaling_group="quarantine")
            end = await engine.pursue(give_back(drawn.original))
            assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
        assert await spare_in(cluster) == "quarantine"

    run(main)


def test_a_spare_that_a_person_has_put_into_the_group_is_not_drawn(
    cluster: ServedCluster,
) -> None:
    async def main() -> None:
        async with action_on(cluster) as action:
            end = await Engine(action).pursue(draw())
            assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)

    run(main)


def test_a_spare_is_drawn_into_the_group_of_the_job(cluster: ServedCluster) -> None:
    """Its bad agent was moved into another group by a person meanwhile."""

    async def main() -> None:
        session = await cluster.create_batch_session("train")
        await cluster.end_session(session["session_id"], forced=True)
        await cluster.until(session["session_id"], "TERMINATED")
        await cluster.change_agent(SPARE, scaling_group="spare")
        await cluster.change_agent("i-gpu1", scaling_group="quarantine")
        job = JobKey("cluster", session["session_id"], 0.0)
        async with action_on(cluster) as action:
            end = await Engine(action).pursue(intent(IntentKind.DRAW_SPARE, spare=SPARE, job=job))
            assert end.result is PursuitResult.ACHIEVED
        assert await spare_in(cluster) == "default"

    run(main)


def test_a_session_that_comes_to_the_spare_in_between_is_not_ended(
    stand_in: StandInCluster,
) -> None:
    """26.8 and later refuse the move; older ones are not sent it, where the session was seen."""

    async def main() -> None:
        await stand_in.change_agent(SPARE, scaling_group="spare")
        async with action_on(stand_in) as action:
            async with stand_in.slow("mutation") as arrived:
                drawing = asyncio.create_task(Engine(action).pursue(draw()))
                await arrived()
                session = await stand_in.create_session("quick", group="spare")
                await stand_in.until(session, "RUNNING")
            end = await drawing
            assert (end.result, end.refusal) == (PursuitResult.REFUSED, RefusalKind.FOREIGN)
        assert await spare_in(stand_in) == "spare"
        assert (await stand_in.session(session))["status"] == "RUNNING"

    run(main)
