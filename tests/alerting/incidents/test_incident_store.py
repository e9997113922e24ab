"""Incidents and what mutes them: over time, over restarts, and without a journal."""

import asyncio
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.incidents.incident_store import IncidentStore
from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.journal import Journal
from accelwatch.alerting.incidents.journal.patient import PatientJournal
from accelwatch.alerting.incidents.journal.records import (
    MOST_BODY,
    Batch,
    SilenceRecord,
    StateRecord,
)
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.model.incident import MOST_NOTES, Facts, Incident, TimelineKind
from accelwatch.alerting.incidents.model.silence import Maintenance, Silence, matchers
from accelwatch.alerting.incidents.timeline_notes import Line
from accelwatch.alerting.rules.rule import RuleSet
from accelwatch.alerting.rules.timing import Transition
from accelwatch.base.errors import UnmetError, UsageError
from alerting.incidents.incident_rules import START, change, device, rule

FIRED, CLEARED = Transition.FIRED, Transition.CLEARED
ENDS = START + 3600


class Site:
    """A incident_store that notes whom it tells of, muted or not."""

    def __init__(self) -> None:
        self.rules = {"gpu.lost": rule()}
        self.received: list[tuple[str, bool]] = []
        self.states: list[Incident] = []
        # What the wall clock shows.
        self.now = START
        self.incident_store = IncidentStore(
            self.rules, lambda _: Facts(), self._notify, lambda: self.now
        )

    def _notify(self, incidents: Any) -> None:
        self.states += incidents
        for incident in incidents:
            self.received.append((incident.id, self.incident_store.mute_of(incident) is not None))

    async def start(self, folder: Path | None, now: float = START) -> "Site":
        self.now = now
        loaded = RuleSet(rules=self.rules, files=(), digest="d")
        await self.incident_store.start(folder, loaded, now)
        return self

    async def fire(self, node: str, at_s: float = 0.0) -> None:
        await self.incident_store.step([change(FIRED, at_s, entity=device(node))], START + at_s)

    async def at(self, now: float) -> "Site":
        """Let time go on."""
        self.now = now
        await self.incident_store.mutes.refresh()
        return self

    def notified(self) -> list[tuple[str, bool]]:
        notified, self.received = self.received, []
        return notified


def silence(text: str = "node=n1", id_: str = "s9") -> Silence:
    return Silence(
        id=id_, matchers=matchers(text), starts=START, ends=ENDS, by="ana", reason="swap"
    )


def play(scenario: Callable[[], Coroutine[object, object, None]]) -> None:
    asyncio.run(scenario())


def test_a_silence_mutes_what_is_open_and_its_end_unmutes_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.fire("n1")
        await site.fire("n2")
        assert site.notified() == [("i1", False), ("i2", False)]
        assert await site.incident_store.mutes.mute(silence()) == ""
        assert site.notified() == [("i1", True)]
        await site.at(ENDS - 1)
        assert site.notified() == []
        await site.at(ENDS)
        assert site.notified() == [("i1", False)]
        await site.incident_store.stop()

    play(scenario)


def test_what_starts_silenced_is_reported_as_such_and_a_person_may_end_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.incident_store.mutes.mute(silence())
        await site.fire("n1", 5)
        assert site.notified() == [("i1", True)]
        site.now = START + 10
        ended, problem = await site.incident_store.mutes.unmute("s9", "ben")
        assert (ended.ends, problem) == (START + 10, "")
        assert site.notified() == [("i1", False)]
        with pytest.raises(UnmetError, match="no silence or maintenance 's9'"):
            await site.incident_store.mutes.unmute("s9", "ben")
        await site.incident_store.stop()

    play(scenario)


def test_silences_go_on_after_a_restart_with_who_set_and_ended_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = await Site().start(tmp_path)
        await first.fire("n1")
        await first.incident_store.mutes.mute(silence())
        window = Maintenance(
            id="m10", nodes=("n2",), starts=START + 60, ends=ENDS, by="ana", reason="BIOS"
        )
        await first.incident_store.mutes.mute(window)
        await first.incident_store.mutes.unmute("m10", "ben")
        await first.incident_store.stop()

        again = await Site().start(tmp_path, START + 5)
        assert [each.id for each in again.incident_store.muting.silences] == ["s9"]
        assert again.incident_store.muting.windows == []
        (open_,) = again.incident_store.open
        assert again.incident_store.mute_of(open_) is not None
        assert again.incident_store.next_id("s") == "s11"
        await again.incident_store.stop()

        over = await Site().start(tmp_path, ENDS)
        assert over.incident_store.muting.silences == []
        await over.incident_store.stop()
        journal = open_file(tmp_path / FILE, read_only=True)
        journal.verify()
        actors = [entry.actor for entry in journal.entries() if entry.actor != "engine"]
        assert actors == ["ana (unverified)", "ana (unverified)", "ben"]
        journal.close()

    play(scenario)


def test_a_person_closes_an_incident_and_the_journal_says_who(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.fire("n1")
        closed, problem = await site.incident_store.close("i1", "ana", "replaced")
        assert (closed.is_open, problem) == (False, "")
        last = closed.timeline[-1]
        assert (last.kind, last.actor, last.text) == ("closed", "ana", "replaced")
        assert site.incident_store.open == []
        assert [each.id for each in site.incident_store.closed] == ["i1"]
        with pytest.raises(UnmetError, match="no incident 'i1' is open"):
            await site.incident_store.close("i1", "ana", "replaced")
        await site.incident_store.stop()
        journal = open_file(tmp_path / FILE, read_only=True)
        assert [entry.actor for entry in journal.entries()] == ["engine", "engine", "ana"]
        journal.close()

    play(scenario)


def test_lines_for_many_incidents_are_written_together_and_each_by_its_actor(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.fire("n1")
        await site.fire("n2")
        lines = [
            Line("i1", "", "taken out"),
            Line("i2", "ana", "looked at"),
            Line("i1", "", "empty", calls=True),
            Line("i9", "", "-"),
        ]
        assert await site.incident_store.note(lines) == ""
        notified = {
            one.id: [line.text for line in one.timeline] for one in site.incident_store.open
        }
        assert (notified["i1"][-2:], notified["i2"][-1:]) == (["taken out", "empty"], ["looked at"])
        kinds = {one.id: one.timeline[-1].kind for one in site.incident_store.open}
        assert kinds == {"i1": TimelineKind.CALL, "i2": TimelineKind.NOTE}
        await site.incident_store.stop()
        journal = open_file(tmp_path / FILE, read_only=True)
        assert [entry.actor for entry in journal.entries()][-2:] == ["engine", "ana"]
        journal.close()

    play(scenario)


def test_what_is_over_and_cannot_come_back_takes_lines_still(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.fire("n1")
        await site.incident_store.step([change(CLEARED, 10.0, entity=device("n1"))], START + 10)
        much_later = START + 1e6
        await site.incident_store.step([], much_later)
        await site.at(much_later)
        lines = [
            Line("i1", "", "could not be given back", calls=True),
            Line("i1", "ana", "looked at"),
        ]
        site.notified()
        assert await site.incident_store.note(lines[:1]) == ""
        assert site.notified() == [("i1", False)]
        (known,) = site.incident_store.closed
        assert known.left_to_do == "could not be given back"
        assert await site.incident_store.note(lines) == ""
        (known,) = site.incident_store.closed
        assert [one.text for one in known.timeline[-3:]] == [
            "could not be given back",
            "could not be given back",
            "looked at",
        ]
        assert known.left_to_do == ""
        await site.incident_store.stop()

    play(scenario)


def test_without_a_journal_silences_hold_and_that_they_are_not_kept_is_reported() -> None:
    async def scenario() -> None:
        site = await Site().start(None)
        assert "no state_dir is set" in await site.incident_store.mutes.mute(silence())
        await site.fire("n1")
        assert site.notified() == [("i1", True)]
        _, problem = await site.incident_store.mutes.unmute("s9", "ben")
        assert "no state_dir is set" in problem
        assert "no state_dir is set" in (await site.incident_store.close("i1", "x", "y"))[1]

    play(scenario)


def test_a_journal_that_can_not_be_written_is_reported_in_the_answer(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        writer = site.incident_store.writer
        assert writer is not None
        await writer.close()
        assert await site.incident_store.mutes.mute(silence()) == "the journal is closed"
        assert [each.id for each in site.incident_store.muting.silences] == ["s9"]
        await site.incident_store.stop()

    play(scenario)


def test_changes_that_come_at_once_are_reported_in_their_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.fire("n1")
        await asyncio.gather(
            site.incident_store.mutes.mute(silence()),
            site.incident_store.close("i1", "ana", "replaced"),
            site.incident_store.mutes.refresh(),
        )
        assert [each.is_open for each in site.states] == [True, True, False]
        await site.incident_store.stop()

    play(scenario)


def test_a_tick_that_started_before_a_silence_was_set_heeds_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        site = await Site().start(tmp_path)
        site.now = START + 10
        late = Silence(
            id="s9", matchers=matchers("node=n1"), starts=site.now, ends=ENDS, by="ana", reason="x"
        )
        await site.incident_store.mutes.mute(late)
        await site.fire("n1", 9)
        assert site.notified() == [("i1", True)]
        await site.incident_store.stop()

    play(scenario)


class SlowWriter:
    """A journal whose disk answers when a test says so."""

    def __init__(self) -> None:
        self.written: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def commit(self, _batch: object) -> None:
        await self.written


@pytest.mark.parametrize("rounds", range(8))
def test_who_is_cancelled_while_the_disk_answers_is_cancelled(rounds: int) -> None:
    """A process that ends in that moment would wait for ever for whoever judges its rules."""

    async def main() -> None:
        journal, writer = PatientJournal(), SlowWriter()
        journal.writer = writer  # type: ignore[assignment]
        noting = asyncio.ensure_future(journal.write([], START, {"f": ENDS}))
        await asyncio.sleep(0.01)
        writer.written.set_result(None)
        for _ in range(rounds):
            await asyncio.sleep(0)
        if noting.cancel():
            with pytest.raises(asyncio.CancelledError):
                await noting

    asyncio.run(main())


def test_a_note_beyond_the_bound_is_refused_for_none_is_dropped() -> None:
    async def scenario() -> None:
        site = await Site().start(None)
        await site.incident_store.step([change(FIRED, 0)], START)
        lines = [Line("i1", "kim", f"note {at}") for at in range(MOST_NOTES)]
        assert site.incident_store.accepts_notes("i1")
        await site.incident_store.note(lines)
        with pytest.raises(UsageError, match=f"i1 has {MOST_NOTES} notes already"):
            site.incident_store.accepts_notes("i1")
        await site.incident_store.stop()

    asyncio.run(scenario())


class FullDisk:
    """What is written fails while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        written = Journal.write

        def write(file: Journal, batches: list[Batch]) -> None:
            if self.is_full:
                raise JournalError("the disk is full")
            written(file, batches)

        monkeypatch.setattr(Journal, "write", write)


def _after_a_restart(folder: Path, now: float) -> IncidentStore:
    """What another process knows of the journal of one that was killed."""
    (folder / "copy").mkdir()
    for file in folder.glob("journal.*"):
        if file.is_file():
            shutil.copy(file, folder / "copy" / file.name)
    incident_store = IncidentStore({"gpu.lost": rule()}, lambda _: Facts(), wall=lambda: now)

    async def start() -> None:
        await incident_store.start(folder / "copy", RuleSet(rules={}), now)
        await incident_store.stop()

    asyncio.run(start())
    return incident_store


def test_a_silence_that_could_not_be_written_is_written_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)

    async def scenario() -> None:
        site = await Site().start(tmp_path)
        disk.is_full = True
        assert await site.incident_store.mutes.mute(silence()) == "the disk is full"
        assert await site.incident_store.mutes.mute(silence(id_="s3")) == "the disk is full"
        await site.incident_store.mutes.unmute("s3", "ben")
        await site.incident_store.check_journal(START + 5)
        disk.is_full = False
        await site.incident_store.check_journal(START + 10)
        assert not site.incident_store.problems
        await site.incident_store.check_journal(START + 15)
        await site.incident_store.stop()

    asyncio.run(scenario())
    file = open_file(tmp_path / FILE, read_only=True)
    written = [
        (entry.record.silence.id, entry.actor)
        for entry in file.entries()
        if isinstance(entry.record, SilenceRecord)
    ]
    assert sorted(written) == [("s3", "ben"), ("s9", "ana (unverified)")]
    file.close()
    again = _after_a_restart(tmp_path, START + 20)
    assert [one.id for one in again.muting.silences] == ["s9"]


def test_so_is_an_incident_that_a_person_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)

    async def scenario() -> None:
        site = await Site().start(tmp_path)
        await site.incident_store.step([change(FIRED, 0)], START)
        disk.is_full = True
        await site.incident_store.note([Line("i1", "kim", "board ordered")])
        await site.incident_store.close("i1", "ana", "swapped")
        disk.is_full = False
        await site.incident_store.check_journal(START + 10)
        await site.incident_store.stop()

    asyncio.run(scenario())
    again = _after_a_restart(tmp_path, START + 20)
    assert again.open == []


def test_what_is_written_anew_meanwhile_is_not_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)

    async def scenario() -> None:
        site = await Site().start(tmp_path)
        disk.is_full = True
        await site.incident_store.mutes.mute(silence())
        disk.is_full = False
        await site.incident_store.mutes.unmute("s9", "ana")
        await site.incident_store.check_journal(START + 10)
        await site.incident_store.stop()

    asyncio.run(scenario())
    assert not _after_a_restart(tmp_path, START + 20).muting.silences


def test_what_never_will_be_written_is_not_tried_for_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        journal = PatientJournal()
        await journal.open(tmp_path, START)
        large = msgspec.Raw(b'"' + b"x" * MOST_BODY + b'"')
        refused = StateRecord(kind="k", key="a", body=large)
        assert "larger than" in await journal.write([refused], START)
        for at in range(2):
            await journal.check(START + at)
        assert journal.problems == ()
        await journal.close()

    asyncio.run(scenario())
