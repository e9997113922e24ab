"""A person's word to a hub that acts: what is shown before, asked, said, and told of what came of it."""

import asyncio

import pytest

from accelwatch.base.errors import AccelwatchError, UncertainError
from accelwatch.fleet.documents.remedies import RemediesPage
from accelwatch.fleet.picture.remedies import Command, CommandOutcome, outcome_of
from accelwatch.fleet.wire import IncidentNow
from accelwatch.remediation.policy.state.stage import Stage
from support.dashboards.fleets import FedFleet, FedRemedies, FleetStage, on
from support.incidents.incident_documents import job, lost, low_power, muted, over, storm
from support.incidents.remedy_documents import (
    TESTED,
    answered,
    awaiting_approval,
    draining,
    page,
    plan,
    remedy,
    stopped,
    unknown,
    veto,
)
from support.processes.waiting import GUARD_S
from tui.test_incident_screen import of


def acting(*shown: IncidentNow, remedies: RemediesPage | None = None) -> FedFleet:
    """A hub that asks for a yes about n002."""
    source = of(*shown) if shown else of(lost())
    source.remedies = FedRemedies(
        page(awaiting_approval()) if remedies is None else remedies, plan()
    )
    return source


def words(stage: FleetStage) -> list[Command]:
    assert stage.fed.remedies is not None
    return stage.fed.remedies.commands


async def typed(stage: FleetStage, *keys: str) -> None:
    await stage.press(*keys)
    await asyncio.sleep(0)
    await stage.pilot.pause()


def test_a_plan_is_shown_and_approved_once_a_reason_is_typed() -> None:
    source = acting()
    assert source.remedies is not None
    source.remedies.answer = answered("approve by kim: board is dead", draining())

    async def check(stage: FleetStage) -> None:
        await typed(stage, "5", "P")
        await stage.until("Approve for n002")
        for text in (
            "With a yes this is done in slurm, for i1 (rule gpu.lost):",
            "1. take n002 out of the pool",
            "   held back all the same: 2 of 2 nodes of pool train are out already",
            "2. use n099 as a spare",
            "3. move job 48101 to other nodes",
            "costs 12.5 GPU-hours, saves 24.0 (expected)",
            "▌ Cancel",
            "approve plan 5f3a91c2 for n002",
        ):
            assert text in stage.text()
        assert "a person has to say yes" not in stage.text().partition("Approve for")[2]
        await stage.press("down", "enter", "enter")
        assert "reason: a reason is required" in stage.text()
        assert words(stage) == []
        await stage.press(*"dead", "enter")
        await stage.until("approve by kim: board is dead")
        (word,) = words(stage)
        assert (word.verb, word.node, word.plan) == ("approve", "n002", "5f3a91c2d4e5f607")
        assert (word.reason, word.lasts) == ("dead", "")

    on(check, source=source)


def test_esc_and_cancel_say_nothing() -> None:
    async def check(stage: FleetStage) -> None:
        await typed(stage, "5", "enter", "P")
        await stage.until("Approve for n002")
        await stage.press("enter")
        for key in ("D", "H", "R", "Q", "B"):
            await stage.press(key, "enter", key, "down", "enter", "x", "escape")
        await stage.press("Z", *"STOP", "escape")
        assert words(stage) == []
        assert stage.screen_name == "incident"

    on(check, source=acting())


# Key, how far down the choice is, and what is said then, and for how long.
COMMANDS = (
    ("D", 1, "deny", "1h"),
    ("D", 3, "deny", "1d"),
    ("H", 2, "hold", "4h"),
    ("H", 4, "hold", ""),
    ("R", 1, "release", ""),
    ("R", 2, "recovered", ""),
    ("R", 3, "retry", ""),
    ("R", 4, "force_release", ""),
    ("R", 5, "forget", ""),
    ("Q", 1, "quarantine", ""),
    ("B", 1, "reset_breaker", ""),
)


def test_each_command_is_sent_for_the_node_of_the_incident() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        for count, (key, steps, verb, lasts) in enumerate(COMMANDS, 1):
            await stage.press(key, *["down"] * steps, "enter", "w", "enter")
            async with asyncio.timeout(GUARD_S):
                while len(words(stage)) < count:
                    await stage.pilot.pause(0.01)
            node = "" if key == "B" else "n002"
            assert words(stage)[-1] == Command(verb=verb, node=node, reason="w", lasts=lasts)

    on(check, source=acting())


def test_a_hold_is_taken_back_where_there_is_one() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "H")
        assert "n002 is on hold: kim: a demo runs" in stage.text()
        await stage.press("down", "enter", "x", "enter")
        await stage.until("counts")
        assert words(stage) == [Command(verb="unhold", node="n002", reason="x")]

    on(check, source=acting(remedies=page(awaiting_approval(), vetoes=(veto("n002"),))))


def test_stop_and_start_have_to_be_typed() -> None:
    async def stop(stage: FleetStage) -> None:
        await stage.press("Z", *"stop", "enter")
        assert "not done: STOP is to be typed, in capitals" in stage.text()
        await stage.press("escape")
        assert words(stage) == []
        await stage.press("Z", *"STOP", "enter", *"smoke", "enter")
        await stage.until("counts")
        assert words(stage) == [Command(verb="stop", reason="smoke")]

    async def start(stage: FleetStage) -> None:
        await stage.press("5")
        assert "STOP by kim: too much at once" in stage.text()
        await stage.press("Z", *"START", "enter", *"calm", "enter")
        await stage.until("counts")
        assert words(stage) == [Command(verb="start", reason="calm")]

    on(stop, source=acting())
    on(start, source=acting(remedies=stopped(awaiting_approval())))


def test_what_the_hub_refuses_stays_until_it_is_closed() -> None:
    source = acting()
    assert source.remedies is not None
    refusal = "it does not count: answered 403: this needs the role act; ana has approve"
    source.remedies.answer = AccelwatchError(refusal)

    async def check(stage: FleetStage) -> None:
        await stage.press("5", "Q", "down", "enter", "w", "enter")
        await stage.until("Refused")
        assert refusal in " ".join(stage.text().split())
        await stage.press("enter")
        assert stage.screen_name == "incidents"

    on(check, source=source)


def test_a_command_that_changes_nothing_or_leaves_doubt_is_shown_as_such() -> None:
    source = acting()
    fed = source.remedies
    assert fed is not None

    async def check(stage: FleetStage) -> None:
        fed.answer = answered("release changes nothing: n002 is suspect", awaiting_approval())
        await stage.press("5", "R", "down", "enter", "w", "enter")
        await stage.until("It changes nothing")
        assert "release changes nothing: n002 is suspect" in stage.text()
        await stage.press("enter")
        fed.answer = UncertainError("it is unknown whether it counts: no answer in time")
        await stage.press("R", "down", "enter", "w", "enter")
        await stage.until("Not known whether it was done")
        await stage.press("enter")
        fed.answer = answered("retry by kim: w", unknown())
        await stage.press("R", *["down"] * 3, "enter", "w", "enter")
        await stage.until("Not known whether it was done")
        assert "n010 is unknown: reboots: no answer from slurmctld for 40 s" in stage.text()
        await stage.press("enter")
        fed.answer = answered("release by kim: w", awaiting_approval())
        await stage.press("R", "down", "enter", "w", "enter")
        await stage.until("A person still has to approve")

    on(check, source=source)


def test_where_there_is_nothing_to_approve_or_deny_the_screen_says_so() -> None:
    source = acting()
    fed = source.remedies
    assert fed is not None

    async def check(stage: FleetStage) -> None:
        fed.shown_plan = plan(digest="", steps=(), text="nothing that we know of is wrong with it")
        await typed(stage, "5", "P")
        await stage.until("Nothing to approve on n002")
        assert "nothing that we know of is wrong with it" in stage.text()
        await stage.press("enter")
        fed.shown_plan = plan(stage=Stage.DRAINING)
        await typed(stage, "P")
        await stage.until("nothing waits for a yes: n002 is draining")
        await stage.press("enter")
        fed.shown_plan = None
        await typed(stage, "P")
        await stage.until("the hub shows no plan: answered 500")
        await stage.press("enter")
        fed.current = page(remedy("n002", "quarantined", "i1"))
        stage.app.pull_fleet()
        await stage.press("D")
        assert "n002 is quarantined: that is not undone by a no" in stage.text()
        assert words(stage) == []

    on(check, source=source)


def shown_by(source: FedFleet, key: str, *, readonly: bool = False) -> str:
    texts: list[str] = []

    async def check(stage: FleetStage) -> None:
        await stage.press("5", key)
        texts.append(stage.app.board.message)

    on(check, source=source, readonly=readonly)
    return texts[0]


def test_where_no_command_can_be_sent_the_screen_says_so() -> None:
    assert "a hub with remedy.actions does" in shown_by(of(lost()), "P")
    assert shown_by(acting(), "P", readonly=True).endswith("(--readonly)")
    assert "no remedy.actions" in shown_by(acting(remedies=RemediesPage(acts=False)), "Q")
    assert shown_by(acting(*storm()), "Q").startswith("i30 is about 4 nodes")
    assert shown_by(acting(job()), "D").startswith("i6 is about 2 nodes")


def test_keys_are_shown_only_where_the_hub_acts() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert "P approve" in stage.text().splitlines()[-1]
        assert stage.fed.remedies is not None
        stage.fed.remedies.current = RemediesPage(acts=False)
        assert stage.fed.view is not None
        await stage.tick(stage.fed.view)
        assert "approve" not in stage.text().splitlines()[-1]

    on(check, source=acting(), size=(80, 24))


@pytest.mark.parametrize(
    ("verb", "notes", "stage", "came"),
    [
        ("release", ("release changes nothing: n1 is healthy",), "", CommandOutcome.REFUSED),
        ("approve", (), "quarantining", CommandOutcome.DONE),
        ("release", (), "awaiting_approval", CommandOutcome.NEEDS_APPROVAL),
        ("hold", (), "awaiting_approval", CommandOutcome.DONE),
        ("retry", (), "unknown", CommandOutcome.UNKNOWN),
        ("deny", (), "unknown", CommandOutcome.DONE),
    ],
)
def test_what_has_come_of_a_word(
    verb: str, notes: tuple[str, ...], stage: str, came: CommandOutcome
) -> None:
    assert outcome_of(verb, notes, stage) is came


def test_an_incident_of_another_cause_on_the_node_shows_for_what_it_is() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter")
        assert "awaiting approval since 07:57:00, for i1" in stage.text()
        await stage.press("escape")
        assert "your yes or no" not in stage.text()

    on(check, source=acting(low_power(), over()), size=(140, 40))


def test_a_plan_says_how_often_the_hardware_has_failed_lately() -> None:
    source = acting()
    assert source.remedies is not None
    record = "3 confirmed faults in 28 days, the last on 2026-11-20"
    source.remedies.shown_plan = plan(record=record)

    async def check(stage: FleetStage) -> None:
        await typed(stage, "5", "P")
        await stage.until("Approve for n002")
        assert record in stage.text()
        await stage.press("escape", "enter")
        await stage.until(f"record      {record}")

    on(check, source=source, size=(200, 50))


def test_a_plan_shows_what_tests_of_the_node_came_to() -> None:
    source = acting()
    assert source.remedies is not None
    source.remedies.shown_plan = plan(results=(TESTED,))

    async def check(stage: FleetStage) -> None:
        await typed(stage, "5", "enter")
        await stage.until("tested      failed test pair with n007: 312 GB/s")
        assert "by /opt/all_reduce_perf, at 2026-11-28T" in stage.text()

    on(check, source=source, size=(200, 50))


def test_a_plan_says_what_the_scheduler_answers_to_a_drain() -> None:
    source = acting()
    assert source.remedies is not None
    preview = ("1 pod would be evicted", "refused now: ml/b: PDB ml/trainers allows none")
    source.remedies.shown_plan = plan(preview=preview)

    async def check(stage: FleetStage) -> None:
        await typed(stage, "5", "P")
        await stage.until("Approve for n002")
        assert all(text in stage.text() for text in preview)
        await stage.press("escape", "enter")
        await stage.until(f"scheduler   {preview[0]}")
        await stage.until(preview[1])

    on(check, source=source, size=(200, 50))


def test_what_is_done_is_shown_on_list_page_and_head() -> None:
    many = page(
        awaiting_approval(),
        *(remedy(f"n0{n}", "suspect", "i30", blocked_by="as others") for n in range(25, 29)),
    )

    async def check(stage: FleetStage) -> None:
        await stage.press("5")
        assert "up to resume  2 of 2 nodes out  breaker closed" in stage.text()
        assert "your yes or no, 25 min" in stage.line_with("n002")
        assert "4 suspect" in stage.line_with("rack=r04")
        await stage.press("enter")
        for text in (
            "remedy      awaiting approval since 07:57:00",
            "next        your yes or no, runs out in 25 min",
            "plan        1. take n002 out of the pool",
            "why not now: 2 of 2 nodes of pool train are out already",
            "price       costs 12.5 GPU-hours, saves 24.0 (expected)",
        ):
            await stage.until(text)
        await stage.press("escape", "down", "enter")
        assert "n025        suspect: as others" in stage.text()

    on(check, source=acting(lost(), *storm(), remedies=many), size=(200, 50))


def test_a_mark_a_spare_and_a_hold_are_shown_on_the_page() -> None:
    shown = page(draining(), vetoes=(veto("n009"),))

    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter")
        for text in (
            "held        nothing is done to n009 until removed, by kim: a demo runs",
            "next        its jobs are moved: job 48104",
            "our mark on n009 in slurm, set by root at 07:57:10: accelwatch i4 t1: memory rows",
            "spare       n099 stands in",
        ):
            assert text in stage.text()

    on(check, source=acting(muted(), remedies=shown), size=(120, 40))
