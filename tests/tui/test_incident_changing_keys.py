"""Silencing and closing an incident from the dashboard: what is asked, done, refused and said."""

import asyncio

from support.dashboards.fleets import FedChanges, FedFleet, FleetStage, on
from support.incidents.incident_documents import low_power, muted, over
from tui.test_incident_screen import of


def changes(stage: FleetStage) -> FedChanges:
    assert stage.fed.changes is not None
    return stage.fed.changes


async def settled(stage: FleetStage, words: str) -> None:
    await asyncio.sleep(0)
    await stage.until(words)


def test_an_incident_is_silenced_from_the_list_once_a_reason_is_typed() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "S")
        for words in (
            "Silence i7",
            "this incident, for 2 hours",
            "all of node n002, for a day",
            "all of node n002, for a week",
            "this incident, for 8 hours",
            "rule jobs.straggler everywhere, for 2 hours",
        ):
            assert words in stage.text()
        assert "end silence" not in stage.text()
        await stage.press("down", "enter", "enter")
        assert "reason: a reason is required" in stage.text()
        assert changes(stage).done == []
        await stage.press(*"fan", "enter")
        await settled(stage, "done: silence")
        assert changes(stage).done == [("silence", "id=i7", "2h", "fan")]

    on(check, source=of(low_power()))


def test_a_node_and_a_rule_are_silenced_from_the_page() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "enter")
        for steps in (7, 9):
            await stage.press("S", *["down"] * steps, "enter", "x", "enter")
            await settled(stage, "done: silence")
        assert changes(stage).done == [
            ("silence", "node=n002", "1d", "x"),
            ("silence", "rule=jobs.straggler", "2h", "x"),
        ]
        assert stage.screen_name == "incident"

    on(check, source=of(low_power()))


def test_a_silence_is_ended_where_it_mutes() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "S")
        assert "end silence s4 (a new board on Monday)" in stage.text()
        await stage.press("down", "enter")
        await settled(stage, "done: end")
        assert changes(stage).done == [("end", "s4")]

    on(check, source=of(muted()))


def test_an_incident_is_closed_with_a_reason_and_esc_leaves_it_open() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("5", "X")
        assert "Close i7 (Draws far less power than its job's other GPUs): why?" in stage.text()
        await stage.press("a", "escape")
        assert changes(stage).done == []
        await stage.press("enter", "X", *"fixed", "enter")
        await settled(stage, "done: close")
        assert changes(stage).done == [("close", "i7", "fixed")]

    on(check, source=of(low_power()))


def test_what_the_hub_refuses_is_shown() -> None:
    source = of(low_power())
    assert source.changes is not None
    source.changes.refusal = "not closed: answered 403: this server is open to all"

    async def check(stage: FleetStage) -> None:
        await stage.press("5", "X", "a", "enter")
        await settled(stage, "not closed: answered 403: this server is open to all")

    on(check, source=source)


def shown_by(source: FedFleet, key: str, *, readonly: bool = False) -> str:
    """What is said at a key that changes nothing."""
    texts: list[str] = []

    async def check(stage: FleetStage) -> None:
        await stage.press("5", key)
        texts.append(stage.app.board.message)

    on(check, source=source, readonly=readonly)
    return texts[0]


def test_where_nothing_may_be_changed_the_screen_says_so() -> None:
    for key in ("S", "X"):
        assert shown_by(of(over()), key) == "i3 is over"
        assert shown_by(of(low_power()), key, readonly=True).endswith("(--readonly)")
        archived = of(low_power())
        archived.changes = None
        assert shown_by(archived, key) == "an archive is read-only"
        assert shown_by(of(), key) == ""
