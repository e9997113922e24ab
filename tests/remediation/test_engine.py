"""The engine: nothing begins before it is written down, and what was begun is known again."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Committed, Report, ReportStatus, Step
from accelwatch.alerting.incidents.journal.lease import Lease, lease_clock
from accelwatch.alerting.incidents.journal.records import StateRecord
from accelwatch.remediation.execution.emergency_stop import STOP_FILE
from accelwatch.remediation.execution.engine import Engine
from accelwatch.remediation.execution.inbox import Reply
from accelwatch.remediation.execution.journaling import restored
from accelwatch.remediation.execution.operations.operation import KIND, Operation, OperationState
from accelwatch.remediation.execution.operations.operation import record as record_of
from accelwatch.remediation.execution.stop_file import StopFile
from accelwatch.remediation.policy.context.outcome import Loudness, Note, Outcome
from accelwatch.remediation.policy.context.records import RemedyRecord, StartedRecord, StopRecord
from accelwatch.remediation.policy.context.records import StateRecord as PureRecord
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.state.changes import (
    Change,
    Command,
    Started,
    Verb,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import Clocks, Remedy, RemedyState
from accelwatch.remediation.policy.state.orders import Stop
from accelwatch.remediation.policy.state.pursued import Poll, Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import JournalStatus, World
from remediation.bench import NAME, Bench, intent
from remediation.fake_scheduler import FakeAction, FakeScheduler
from remediation.virtual_time import START

QUARANTINE = intent(IntentKind.QUARANTINE)


def seen_by(state: RemedyState, observations: Sequence[WorldObservation]) -> World:
    polls = (one for one in observations if isinstance(one, Poll))
    shown = {node.name: one.action for one in polls for node in one.nodes}
    return World(shown_by={**state.world.shown_by, **shown})


class Toy:
    """As pure as the real one, and so small that everything about it is seen."""

    def __init__(self) -> None:
        # What is wanted as soon as the engine has begun, one after another.
        self.wanted: list[Intent] = []
        self.unwanted: list[Intent] = []
        self.seen: list[Change | WorldObservation] = []

    def __call__(
        self,
        state: RemedyState,
        changes: Sequence[Change],
        observations: Sequence[WorldObservation],
        now: float,
    ) -> Outcome:
        self.seen += [*changes, *observations]
        records: list[PureRecord] = []
        pursue: list[Intent] = []
        notes: list[Note] = []
        for change in changes:
            match change:
                case Started(token=token, at=at):
                    records.append(StartedRecord(token=token, at=at))
                    going = [one.pursuing for one in state.remedies.values()]
                    pursue += [one for one in going if one is not None]
                case Command(verb=Verb.STOP):
                    records.append(StopRecord(stop=Stop(by=change.by, at=now)))
                case Command(verb=Verb.START):
                    records.append(StopRecord(stop=None))
            if isinstance(change, Command):
                notes.append(Note(text=str(change.verb), loudness=Loudness.LOG))
        for one in observations:
            if isinstance(one, Pursued) and one.result is not PursuitResult.UNKNOWN:
                records.append(RemedyRecord(node=one.intent.node, remedy=None))
        for new in self.wanted:
            remedy = Remedy(
                node=new.node,
                stage=Stage.QUARANTINING,
                clocks=Clocks(since=now, begun=now),
                pursuing=new,
            )
            records.append(RemedyRecord(node=new.node, remedy=remedy))
            pursue.append(new)
        after = state
        for record in records:
            after = replay(after, record)
        after = msgspec.structs.replace(after, world=seen_by(state, observations))
        cancel = tuple(self.unwanted)
        self.wanted, self.unwanted = [], []
        return Outcome(
            state=after,
            records=tuple(records),
            pursue=tuple(pursue),
            cancel=cancel,
            notes=tuple(notes),
        )


class Site:
    """An engine over the bench; a restart keeps the world, the journal and the folder."""

    def __init__(self, folder: Path) -> None:
        self.bench = Bench()
        self.toy = Toy()
        self.stop = folder / "STOP"
        self.may_start: Answer = PERMIT
        self.lease = Lease()
        self.notes: list[Note] = []
        # Why each decision fails, while it does.
        self.mistake: Exception | None = None
        self._commanding: list[asyncio.Future[None]] = []
        self.engine = self.new()

    def new(self, actions: Mapping[str, FakeAction] | None = None) -> Engine:
        self.toy = Toy()
        self.file = StopFile(self.stop, self.bench.clock)
        return Engine(
            self._decide,
            {NAME: self.bench.action} if actions is None else actions,
            self.bench.commit,
            self.bench.clock,
            self.file,
            may_start=lambda _: self.may_start,
            notify=self.notes.extend,
            lease=self.lease,
        )

    def _decide(self, *arguments: Any) -> Outcome:
        if self.mistake is not None:
            raise self.mistake
        return self.toy(*arguments)

    def run(self, seconds: float, play: Callable[[], object] = lambda: None) -> None:
        """Begin, let time pass, end; `play` is called when it has begun."""

        async def whole() -> None:
            self.file.start = self.file.check  # type: ignore[method-assign]
            await self.engine.start(self.bench.journal.states())
            play()
            await asyncio.sleep(seconds)
            await self.engine.stop()

        self.bench.loop.run_until_complete(whole())

    def ask(self, verb: Verb, node: str = "n1") -> Reply:
        """What the engine answers; it has to be running."""
        command = Command(verb=verb, by="anna", at=START, node=node, reason="looked at it")
        return self.bench.loop.run_until_complete(self.engine.submit_command(command, "192.0.2.7"))

    def send(self, verb: Verb) -> list[Reply]:
        """Have it asked by and by."""
        answers: list[Reply] = []

        async def ask() -> None:
            command = Command(verb=verb, by="anna", at=START, node="n1", reason="looked at it")
            answers.append(await self.engine.submit_command(command, "192.0.2.7"))

        self._commanding.append(asyncio.ensure_future(ask()))
        return answers


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path)
    yield site
    site.bench.loop.close()


def pursued(site: Site) -> list[Pursued]:
    return [one for one in site.toy.seen if isinstance(one, Pursued)]


def test_what_is_wanted_is_written_down_and_done(site: Site) -> None:
    site.toy.wanted = [QUARANTINE]
    site.run(10.0)
    states = [one for one in site.bench.journal.written if isinstance(one, StateRecord)]
    assert [one.kind for one in states[:3]] == ["engine", "remedy", KIND]
    assert [one.result for one in pursued(site)] == [PursuitResult.ACHIEVED]
    assert site.bench.world.nodes["n1"].mark == QUARANTINE.mark
    assert site.engine.state.remedies == {}
    assert site.engine.problems == ()


def test_nothing_starts_before_it_is_written_down(site: Site) -> None:
    site.toy.wanted = [QUARANTINE]
    site.bench.journal.broken = "disk full"
    seen: list[tuple[str, ...]] = []
    site.bench.at(20.0, lambda: seen.append(site.engine.problems))
    site.run(30.0)
    assert site.bench.action.performed == []
    assert seen == [("nothing new is done while the journal cannot be written: disk full",)]
    assert site.engine.state == RemedyState()


def test_a_disk_that_hangs_holds_up_effects_and_is_reported(site: Site) -> None:
    site.bench.journal.hangs_s = lambda _: 30.0
    site.toy.wanted = [QUARANTINE]
    seen: list[object] = []
    site.bench.at(29.0, lambda: seen.append(site.engine.problems))
    site.bench.at(29.0, lambda: seen.append(len(site.bench.action.performed)))
    site.run(200.0)
    assert seen == [("nothing new is done: the journal's disk does not answer",), 0]
    assert [one.result for one in pursued(site)] == [PursuitResult.ACHIEVED]
    assert site.engine.problems == ()


def test_what_could_not_be_written_is_decided_upon_again(site: Site) -> None:
    site.bench.journal.broken = "disk full"
    site.bench.at(20.0, lambda: setattr(site.bench.journal, "broken", ""))
    site.run(30.0)
    assert site.engine.state.token == 1
    assert {type(one) for one in site.toy.seen} == {Started, Poll}
    assert site.engine.problems == ()


def test_without_a_journal_nothing_is_decided(site: Site) -> None:
    site.bench.commit = None
    site.engine = site.new()
    site.toy.wanted = [QUARANTINE]
    site.run(5.0)
    assert site.toy.seen == []
    assert site.engine.problems == (
        "there is no journal, so nothing is decided or done about incidents",
    )
    assert site.ask(Verb.RELEASE).problem == site.engine.problems[0]


@pytest.mark.parametrize(
    "odd",
    [
        StateRecord("hologram", "n1", msgspec.Raw(b'{"type":"hologram"}')),
        StateRecord("remedy", "n1", msgspec.Raw(b'{"type":' + b"[" * 100_000)),
        "operation",
    ],
    ids=["unknown", "deep", "operation"],
)
def test_a_journal_that_is_not_understood_is_not_taken_for_an_empty_one(
    site: Site, odd: StateRecord | str
) -> None:
    record = odd if isinstance(odd, StateRecord) else StateRecord(odd, "x", msgspec.Raw(b"{}"))
    site.bench.journal.take_up([record])
    site.toy.wanted = [QUARANTINE]
    site.run(5.0)
    assert site.toy.seen == []
    assert "the journal has what this version does not understand" in site.engine.problems[0]


def test_an_engine_that_restarts_goes_on_where_it_was(site: Site) -> None:
    site.toy.wanted = [QUARANTINE]
    site.bench.world.unavailable = "connection refused"
    site.run(10.0)
    assert site.engine.state.remedies["n1"].pursuing == QUARANTINE
    site.bench.world.unavailable = ""
    site.engine = site.new()
    site.run(10.0)
    assert [one.result for one in pursued(site)] == [PursuitResult.ACHIEVED]
    assert site.engine.state.token == 2


@pytest.mark.parametrize(("lease", "token"), [(1 << 32, 1 << 32), (1, 2)])
def test_marks_have_no_lower_token_than_the_lease_nor_than_marks_before(
    site: Site, lease: int, token: int
) -> None:
    site.run(5.0)
    assert site.engine.state.token == 1
    site.lease.token = lease
    site.engine = site.new()
    site.toy.wanted = [QUARANTINE]
    site.run(10.0)
    assert site.engine.state.token == token


def lose(lease: Lease) -> None:
    lease.lost = "the hub on another has written meanwhile"


def stay_unproven(lease: Lease) -> None:
    """As in a process that was stopped, and goes on."""
    lease.valid_until = lease_clock() - 1.0


@pytest.mark.parametrize("how", [lose, stay_unproven])
def test_nothing_starts_without_the_lease(site: Site, how: Callable[[Lease], None]) -> None:
    site.toy.wanted = [QUARANTINE]
    how(site.lease)
    site.run(10.0)
    assert site.bench.world.effects == []
    assert [one.state for one in site.bench.operations()] == []


@pytest.mark.parametrize("how", [lose, stay_unproven])
def test_nor_is_what_we_did_undone(site: Site, how: Callable[[Lease], None]) -> None:
    """It may be another hub's by now."""
    site.toy.wanted = [QUARANTINE]
    site.run(10.0)
    before = len(site.bench.world.effects)
    how(site.lease)
    site.engine = site.new()
    site.toy.wanted = [intent(IntentKind.RELEASE)]
    site.run(10.0)
    assert len(site.bench.world.effects) == before
    site.lease = Lease()
    site.engine = site.new()
    site.toy.wanted = [intent(IntentKind.RELEASE)]
    site.run(10.0)
    assert len(site.bench.world.effects) > before


def drains(bench: Bench) -> None:
    operation = Committed(
        operation="i1-left", attempt=1, annotation=QUARANTINE.mark, deadline=QUARANTINE.deadline
    )
    bench.action.apply(DRAIN, operation)


DRAIN = Step(kind="drain", arguments={"node": "n1", "reason": QUARANTINE.reason}, text="drain n1")


@pytest.mark.parametrize("left", [OperationState.RESERVED, OperationState.STARTED])
@pytest.mark.parametrize("was_done", [True, False])
def test_what_another_timeline_left_open_is_looked_at_before_anything_is_done(
    site: Site, left: OperationState, was_done: bool
) -> None:
    """Of what is only reserved the start may have been lost, and with it that it was done."""
    operation = Operation(
        id="i1-left",
        action=NAME,
        intent=QUARANTINE,
        step=DRAIN,
        attempt=1,
        state=left,
        reserved=START - 5.0,
        started=START - 4.0 if left is OperationState.STARTED else None,
        token=(1 << 32) + 7,
    )
    site.bench.journal.take_up([record_of(operation)])
    if was_done:
        drains(site.bench)
    before = site.bench.world.count("drain", "n1")
    site.lease.token = (2 << 32) + 8
    site.engine = site.new()
    site.toy.wanted = [QUARANTINE]
    site.run(60.0)
    (first, *others) = site.bench.operations()
    ends = (OperationState.OBSERVED if was_done else OperationState.FAILED,)
    assert (first.id, first.state) == ("i1-left", *ends)
    assert site.bench.world.count("drain", "n1") - before == len(others) == (0 if was_done else 1)
    assert all(other.token == site.lease.token for other in others)


def test_what_the_same_timeline_reserved_was_never_started(site: Site) -> None:
    token = (1 << 32) + 7
    operation = Operation(
        id="i1-left",
        action=NAME,
        intent=QUARANTINE,
        step=DRAIN,
        attempt=1,
        reserved=START - 5.0,
        token=token,
    )
    site.bench.journal.take_up([record_of(operation)])
    site.lease.token = token + 1
    site.engine = site.new()
    site.toy.wanted = [QUARANTINE]
    site.run(60.0)
    assert site.bench.operations()[0].state is OperationState.CANCELLED
    assert site.bench.world.count("drain", "n1") == 1


def test_a_lease_that_is_renewed_lets_it_start(site: Site) -> None:
    site.lease.valid_until = lease_clock() + 3600.0
    site.toy.wanted = [QUARANTINE]
    site.run(10.0)
    assert site.bench.world.count("drain", "n1") == 1


def test_the_state_has_that_its_journal_may_lose_what_is_written(site: Site) -> None:
    risk = JournalStatus(loss_risk="it is replicated asynchronously")
    site.lease.loss_risk = risk.loss_risk
    site.run(5.0)
    assert risk in site.toy.seen


def both(site: Site) -> FakeScheduler:
    """Another scheduler comes first; it can do everything and has no such node."""
    world = FakeScheduler(site.bench.clock, ["m1"])
    site.engine = site.new({"other": FakeAction(world), NAME: site.bench.action})
    return world


def test_a_node_is_left_to_the_scheduler_that_shows_it(site: Site) -> None:
    other = both(site)
    site.toy.wanted = [QUARANTINE]
    site.bench.world.unavailable = "connection refused"
    site.bench.at(20.0, lambda: setattr(site.bench.world, "unavailable", ""))
    site.run(30.0)
    assert [one.result for one in pursued(site)] == [PursuitResult.ACHIEVED]
    assert (other.effects, site.bench.world.count("drain", "n1")) == ([], 1)


def test_a_node_that_nobody_shows_in_time_is_left_alone(site: Site) -> None:
    both(site)
    site.toy.wanted = [QUARANTINE]
    site.bench.world.unavailable = "connection refused"
    site.run(QUARANTINE.deadline - START + 10.0)
    assert [one.result for one in pursued(site)] == [PursuitResult.CANCELLED]


def test_what_was_started_by_one_scheduler_is_not_requested_from_another_after_a_restart(
    site: Site,
) -> None:
    both(site)
    reboot = intent(IntentKind.REBOOT, boot_id="boot-1")
    site.toy.wanted = [reboot]
    site.run(5.0)
    assert site.bench.world.count("reboot", "n1") == 1
    site.engine = site.new()
    other = both(site)
    site.bench.world.unavailable = "connection refused"
    site.bench.at(100.0, lambda: setattr(site.bench.world, "unavailable", ""))
    site.run(200.0)
    assert [one.result for one in pursued(site)] == [PursuitResult.ACHIEVED]
    assert (other.effects, site.bench.world.count("reboot", "n1")) == ([], 1)


def test_what_was_open_and_nobody_wants_is_looked_at_until_it_is_known(site: Site) -> None:
    reboot = intent(IntentKind.REBOOT, boot_id="boot-1")
    site.toy.wanted = [reboot]
    site.run(5.0)
    assert [one.state for one in site.bench.operations()] == [OperationState.ANSWERED]
    site.bench.journal.take_up([StateRecord("remedy", "n1")])
    site.engine = site.new()
    site.run(90.0)
    assert [one.state for one in site.bench.operations()] == [OperationState.OBSERVED]
    assert [one.result for one in pursued(site)] == [PursuitResult.CANCELLED]
    assert site.bench.world.count("reboot", "n1") == 1


def test_nodes_are_looked_at_every_few_seconds(site: Site) -> None:
    site.bench.at(12.0, lambda: setattr(site.bench.world, "unavailable", "connection refused"))
    site.run(21.0)
    polls = [one for one in site.toy.seen if isinstance(one, Poll)]
    assert [bool(one.unavailable) for one in polls] == [False, False, False, True, True]
    assert {one.hold_state for one in polls[0].nodes} == {HoldState.OPEN}
    assert polls[3].unavailable == "connection refused"


def test_a_poll_that_fails_in_an_unforeseen_way_is_no_answer(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> None:
        raise KeyError("nodes")

    monkeypatch.setattr(site.bench.action, "observe_all", broken)
    site.run(3.0)
    (poll,) = [one for one in site.toy.seen if isinstance(one, Poll)]
    assert poll.unavailable == "looking failed: KeyError('nodes')"


def test_the_stop_file_counts_at_once_and_after_a_restart(site: Site) -> None:
    site.stop.touch()
    site.toy.wanted = [QUARANTINE]
    site.run(10.0)
    assert site.bench.action.performed == []
    assert site.engine.state.stop is not None
    assert site.engine.state.stop.by == STOP_FILE
    site.engine = site.new()
    site.run(10.0)
    assert site.bench.action.performed == []
    site.stop.unlink()
    site.engine = site.new()
    site.run(10.0)
    assert site.engine.state.stop is None
    assert len(site.bench.action.performed) == 1


def test_a_stop_file_that_goes_takes_no_persons_stop_with_it(site: Site) -> None:
    answers: list[list[Reply]] = []
    site.run(5.0, lambda: answers.append(site.send(Verb.STOP)))
    site.stop.touch()
    site.engine = site.new()
    site.run(5.0)
    site.stop.unlink()
    site.engine = site.new()
    site.run(5.0)
    assert site.engine.state.stop is not None
    assert site.engine.state.stop.by == "anna"
    assert [one.text for (answer,) in answers for one in answer.notes] == ["stop"]


def test_what_we_did_may_be_undone_while_everything_is_stopped(site: Site) -> None:
    site.bench.world.nodes["n1"].mark = QUARANTINE.mark
    site.stop.touch()
    site.toy.wanted = [intent(IntentKind.RELEASE)]
    site.run(10.0)
    assert site.bench.world.nodes["n1"].mark is None


def test_what_was_decided_before_a_restart_waits_until_the_engine_has_looked_around(
    site: Site,
) -> None:
    site.toy.wanted = [QUARANTINE]
    site.bench.world.unavailable = "connection refused"
    site.run(10.0)
    site.bench.world.unavailable = ""
    site.engine = site.new()
    denial = Denial(why=DenialKind.STARTING, text="it looks around")
    site.may_start = denial
    site.bench.at(120.0, lambda: setattr(site, "may_start", PERMIT))
    site.run(130.0)
    assert [one.time >= START + 120.0 for one in site.bench.world.effects] == [True]


def test_a_persons_word_is_written_with_name_and_address(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    actors: list[tuple[str, str]] = []
    site.bench.journal.after = lambda batch: actors.append((batch.actor, batch.address))
    site.run(3.0, lambda: site.send(Verb.STOP))
    assert ("anna", "192.0.2.7") in actors
    assert [one.text for one in site.notes] == ["stop"]


def test_a_persons_word_that_cannot_be_written_counts_for_nothing(site: Site) -> None:
    answers: list[list[Reply]] = []
    site.bench.journal.broken = "disk full"
    site.run(5.0, lambda: answers.append(site.send(Verb.STOP)))
    assert answers == [[Reply(problem="it is not written down: disk full")]]
    assert site.engine.state.stop is None


def test_a_persons_stop_counts_even_if_the_disk_does_not_take_it(site: Site) -> None:
    answers: list[list[Reply]] = []
    site.bench.journal.broken = "disk full"
    site.bench.at(5.0, lambda: setattr(site.toy, "wanted", [QUARANTINE]))
    site.bench.at(5.0, lambda: setattr(site.bench.journal, "broken", ""))
    site.run(30.0, lambda: answers.append(site.send(Verb.STOP)))
    assert answers == [[Reply(problem="it is not written down: disk full")]]
    assert site.bench.action.performed == []
    assert site.engine.state.remedies["n1"].pursuing == QUARANTINE


def test_an_approval_is_answered_at_once_when_the_journal_cannot_be_written(site: Site) -> None:
    """It is no fault of the scheduler."""
    answers: list[list[Reply]] = []
    site.bench.journal.broken = "disk full"
    site.bench.at(5.0, lambda: answers.append(site.send(Verb.APPROVE)))
    site.run(7.0)
    text = "nothing new is done while the journal cannot be written: disk full"
    assert answers == [[Reply(problem=text)]]


def test_a_stop_that_was_not_written_ends_with_a_start(site: Site) -> None:
    answers: list[list[Reply]] = []
    site.bench.journal.broken = "disk full"
    site.bench.at(5.0, lambda: setattr(site.toy, "wanted", [QUARANTINE]))
    site.bench.at(5.0, lambda: setattr(site.bench.journal, "broken", ""))
    site.bench.at(20.0, lambda: answers.append(site.send(Verb.START)))
    site.run(30.0, lambda: answers.append(site.send(Verb.STOP)))
    assert [one.time >= START + 20.0 for one in site.bench.world.effects] == [True]


def test_an_engine_that_ends_answers_whoever_waits(site: Site) -> None:
    answers: list[list[Reply]] = []

    site.bench.at(2.0, lambda: setattr(site.bench.journal, "hangs_s", lambda _: 3600.0))
    site.bench.at(3.0, lambda: answers.append(site.send(Verb.STOP)))
    site.bench.at(4.0, lambda: answers.append(site.send(Verb.STOP)))
    site.run(5.0)
    site.bench.loop.run_until_complete(asyncio.sleep(0))
    assert answers == [[Reply(problem="the engine ends; ask again")]] * 2
    assert site.ask(Verb.STOP).problem == "nothing is decided any more; see the log"


def test_only_a_person_takes_upon_himself_what_nobody_knows(site: Site) -> None:
    ticket = intent(IntentKind.SERVICE)
    site.toy.wanted = [ticket]
    site.bench.action.answers = [Report(status=ReportStatus.UNKNOWN, text="cut off")]
    site.run(300.0)
    assert [one.result for one in pursued(site)] == [PursuitResult.UNKNOWN]
    assert len(site.bench.action.performed) == 1
    site.engine = site.new()
    site.run(60.0, lambda: site.send(Verb.RETRY))
    assert [one.state for one in site.bench.operations()] == [
        OperationState.FAILED,
        OperationState.OBSERVED,
    ]
    first = site.bench.operations()[0]
    assert (first.by, first.text) == ("anna", "retry: looked at it")
    assert site.bench.world.count("ticket", "n1") == 1


def unknown(site: Site) -> None:
    """Nobody knows whether a ticket was written, and an engine begins anew."""
    site.toy.wanted = [intent(IntentKind.SERVICE)]
    site.bench.action.answers = [Report(status=ReportStatus.UNKNOWN, text="cut off")]
    site.run(300.0)
    site.engine = site.new()


@pytest.mark.parametrize("verb", [Verb.RELEASE, Verb.RECOVERED, Verb.HOLD])
def test_what_nobody_knows_is_settled_by_no_other_word(site: Site, verb: Verb) -> None:
    unknown(site)
    answers: list[list[Reply]] = []
    site.run(60.0, lambda: answers.append(site.send(verb)))
    assert [one.problem for one in answers[0]] == [""]
    assert [one.state for one in site.bench.operations()] == [OperationState.UNKNOWN]


def test_a_word_that_could_not_be_decided_settles_nothing(site: Site) -> None:
    unknown(site)
    answers: list[list[Reply]] = []
    site.bench.at(5.0, lambda: setattr(site, "mistake", KeyError("n1")))
    site.bench.at(6.0, lambda: answers.append(site.send(Verb.RETRY)))
    site.run(60.0)
    assert ["could not be decided" in one.problem for one in answers[0]] == [True]
    assert [one.state for one in site.bench.operations()] == [OperationState.UNKNOWN]


def test_what_is_not_wanted_any_more_is_cancelled(site: Site) -> None:
    site.bench.world.unavailable = "connection refused"
    site.toy.wanted = [QUARANTINE]
    site.bench.at(5.0, lambda: setattr(site.toy, "unwanted", [QUARANTINE]))
    site.bench.at(20.0, lambda: setattr(site.bench.world, "unavailable", ""))
    site.run(60.0)
    assert [one.result for one in pursued(site)] == [PursuitResult.CANCELLED]
    assert site.bench.action.performed == []


def test_what_no_action_can_do_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.bench.action, "intents", frozenset({IntentKind.RELEASE}))
    site.toy.wanted = [QUARANTINE]
    site.run(5.0)
    (end,) = pursued(site)
    assert (end.result, end.text) == (
        PursuitResult.REFUSED,
        "no action in remedy.actions can do it: quarantine",
    )


def test_a_decision_that_fails_starts_nothing_and_is_tried_again(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.toy.wanted = [QUARANTINE]
    site.run(0.0)
    site.engine = site.new()
    site.mistake = KeyError("n1")
    seen: list[tuple[str, ...]] = []
    site.bench.at(3.0, lambda: seen.append(site.engine.problems))
    site.bench.at(4.0, lambda: setattr(site, "mistake", None))
    site.run(10.0)
    assert seen == [("a decision about remedies failed: KeyError('n1')",)]
    assert site.engine.problems == ()


def test_a_pursuit_that_ends_by_a_mistake_is_not_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("accelwatch.remediation.execution.pursuits.pursuit.Pursuit.run", broken)
    site.toy.wanted = [QUARANTINE]
    site.run(5.0)
    (end,) = pursued(site)
    assert (end.result, "mistake of ours" in end.text) == (PursuitResult.UNKNOWN, True)


def test_it_reports_what_it_is_doing(site: Site) -> None:
    site.bench.world.unavailable = "connection refused"
    site.toy.wanted = [QUARANTINE]
    seen: list[object] = []
    site.bench.at(5.0, lambda: seen.append(dict(site.engine.doing)))
    site.bench.at(5.0, lambda: seen.append(site.engine.problems))
    site.run(6.0)
    text = "fake does not answer: connection refused"
    assert seen == [{"n1": text}, (text,)]


def test_the_world_is_not_kept(site: Site) -> None:
    site.run(3.0)
    assert restored(site.bench.journal.states()).world == World()
