"""Reservations of ours end when no move needs them, whoever made them and whatever becomes of nodes."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind, JobKey
from accelwatch.action.observed import ReservationObservation
from accelwatch.action.step import Report, ReportStatus
from accelwatch.remediation.execution.polling import POLL_EVERY_S
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.changes import Command, Verb
from accelwatch.remediation.policy.state.clocks import RETRY_S
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.step.reservations import is_being_moved
from accelwatch.remediation.settings import SpareSettings
from remediation.bench import Bench, intent
from remediation.crash import KilledError, Point, kill_at
from remediation.fleet_watch import FleetWatch
from support.remediation.small_fleet import JOB, SETTINGS, Ground, job_policy

MOVE, RESTORE, DRAW = IntentKind.MOVE_JOB, IntentKind.RESTORE_JOB, IntentKind.DRAW_SPARE
LOOKED_AROUND_S = 240.0
SEEN = ReservationObservation(name="job-17", node="n05", job=JOB)


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[FleetWatch]:
    watch = FleetWatch(tmp_path)
    yield watch
    watch.bench.loop.close()


def reserve(watch: FleetWatch, id_: str = "17") -> None:
    """A job that runs has a reservation of which the journal knows nothing."""
    job = watch.bench.world.add_job(id_, "n04", exclude="n05")
    watch.bench.at(LOOKED_AROUND_S, lambda: setattr(job, "reserved", ("n04", "n06")))


def test_one_that_the_journal_does_not_know_is_given_back_within_two_rounds(
    watch: FleetWatch,
) -> None:
    reserve(watch)
    watch.run(LOOKED_AROUND_S + 2 * POLL_EVERY_S)
    job = watch.bench.world.jobs["17"]
    assert (job.reserved, job.exclude, job.nodes) == ((), "n05", ("n04",))
    assert not watch.engine.state.chores
    assert [one.kind for one in watch.bench.world.effects] == ["restore"]


def test_it_is_given_back_also_after_stop(watch: FleetWatch) -> None:
    reserve(watch)
    stop = Command(verb=Verb.STOP, by="anna", at=0.0)
    watch.bench.at(LOOKED_AROUND_S - 20.0, lambda: watch.engine.submit_changes([stop]))
    watch.run(LOOKED_AROUND_S + 2 * POLL_EVERY_S)
    assert watch.bench.world.jobs["17"].reserved == ()


def kill_all_at(bench: Bench, point: Point) -> None:
    """The whole process ends with the task that is killed."""
    kill_at(bench, point, 0)
    for owner, name in (
        (bench.journal, "before"),
        (bench.journal, "after"),
        (bench.action, "before_effect"),
        (bench.action, "after_effect"),
    ):
        setattr(owner, name, partial(_stopping, bench, getattr(owner, name)))


def _stopping(bench: Bench, hook: Callable[[object], None], what: object) -> None:
    try:
        hook(what)
    except KilledError:
        bench.loop.stop()
        raise


@pytest.mark.parametrize("point", Point)
def test_a_kill_at_any_time_leaves_none_behind(watch: FleetWatch, point: Point) -> None:
    reserve(watch)
    kill_all_at(watch.bench, point)
    with pytest.raises(RuntimeError, match="loop stopped"):
        watch.run(LOOKED_AROUND_S + 60.0)
    watch.bench.end_all()
    watch.bench.journal.before = watch.bench.journal.after = lambda _: None
    watch.bench.action.before_effect = watch.bench.action.after_effect = lambda _: None
    watch.engine = watch.new()
    watch.run(60.0)
    job = watch.bench.world.jobs["17"]
    assert (job.reserved, job.exclude) == ((), "n05")
    assert not watch.engine.state.chores
    assert not any(one.is_open for one in watch.bench.operations())


def test_one_that_cannot_be_given_back_is_reported_once_and_tried_again(watch: FleetWatch) -> None:
    reserve(watch)
    no = Report(status=ReportStatus.REFUSED, text="Access denied")
    watch.bench.action.answers = [no, no]
    watch.run(LOOKED_AROUND_S + 2.5 * RETRY_S)
    assert watch.bench.world.jobs["17"].reserved == ()
    notes = [one for one in watch.notes if "could not be given back" in one.text]
    assert [one.loudness for one in notes] == [Loudness.ALERT]
    assert "Access denied" in notes[0].text


def moving(*, reservations: tuple[ReservationObservation, ...] = (SEEN,)) -> Ground:
    """A job is being moved off n03."""
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.step()
    ground.fault("n03", policy=job_policy())
    ground.end("n03")
    assert ground.flying["n03"].kind is MOVE
    ground.reservations = reservations
    ground.wait(20, every=5)
    return ground


def given_back(ground: Ground) -> list[Intent]:
    return [one for one in ground.started if one.kind is RESTORE]


@pytest.mark.parametrize(
    ("ending", "moved_to"), [(PursuitResult.ACHIEVED, ("n05",)), (PursuitResult.FAILED, ())]
)
def test_it_ends_with_the_move_though_the_node_stays_out(
    ending: PursuitResult, moved_to: tuple[str, ...]
) -> None:
    ground = moving()
    assert given_back(ground) == []
    ground.end("n03", ending, moved_to=moved_to)
    (intent,) = given_back(ground)
    assert (intent.job, intent.node, dict(intent.original)) == (JOB, "n05", {})
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.hold is not None
    ground.reservations = ()
    ground.end_chore(RESTORE)
    ground.wait(60, every=5)
    assert len(given_back(ground)) == 1


def test_it_is_requested_again_only_when_a_later_poll_shows_it() -> None:
    ground = moving()
    ground.end("n03", moved_to=("n05",))
    ground.end_chore(RESTORE)
    ground.step(look=False)
    assert len(given_back(ground)) == 1
    ground.now += 5
    ground.step()
    assert len(given_back(ground)) == 2


def test_nothing_is_remembered_of_one_that_is_gone_before_its_return_has_ended() -> None:
    ground = moving()
    ground.end("n03", moved_to=("n05",))
    ground.reservations = ()
    ground.wait(10, every=5)
    ground.end_chore(RESTORE)
    assert not ground.state.world.not_before


def test_the_spare_of_a_job_that_is_moved_next_stays_reserved() -> None:
    spares = SpareSettings(nodes=("n30",), alike=(), test_max_age_s=0.0)
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=spares))
    ground.nodes["n03"].jobs = (JOB,)
    ground.fault("n03", policy=job_policy(draw_spare=True, ladder=()))
    ground.end("n03")
    assert (ground.flying["n03"].kind, ground.flying["n03"].job) == (DRAW, JOB)
    ground.reservations = (SEEN,)
    ground.wait(20, every=5)
    ground.end("n03")
    assert ground.kinds("n03")[-1] is MOVE
    assert given_back(ground) == []


@pytest.mark.parametrize("killed", [False, True])
def test_a_move_that_starts_meanwhile_keeps_it(killed: bool) -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.reservations = (SEEN,)
    ground.step()
    (back,) = given_back(ground)
    ground.fault("n03", policy=job_policy())
    ground.end("n03")
    assert ground.flying["n03"].kind is MOVE
    assert ground.cancelled == [back]
    if killed:
        ground.killed()
    ground.nodes["n03"].jobs = ()
    ground.wait(20, every=5)
    assert given_back(ground) == [back]
    ground.end("n03", moved_to=("n05",))
    assert len(given_back(ground)) == 2


def test_a_move_of_another_job_cancels_no_return() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    other = JobKey("c", "18", JOB.submitted)
    ground.reservations = (ReservationObservation(name="job-18", node="n05", job=other),)
    ground.fault("n03", policy=job_policy())
    ground.end("n03")
    assert ground.flying["n03"].kind is MOVE
    assert ground.cancelled == []


def test_components_of_a_job_are_moved_together_and_tasks_are_not() -> None:
    def moved(part: str) -> RemedyState:
        move = intent(MOVE, job=JobKey("c", "17", 1.0, part))
        return RemedyState(chores={"revive 17": move})

    key = JobKey("c", "17", 2.0, "+1")
    assert is_being_moved(moved("+0"), key)
    assert not is_being_moved(moved("1"), key)
    assert not is_being_moved(moved("+0"), JobKey("c", "18", 2.0, "+1"))
    assert not is_being_moved(moved("+0"), JobKey("d", "17", 2.0, "+1"))


def test_nobody_takes_a_spare_before_the_job_that_it_is_drawn_for() -> None:
    bench = Bench()
    job = bench.job("n1", "n2")
    rival = bench.world.add_job("99", state=bench.world.jobs["17"].state.WAITING)
    rival.may_start = 0.0
    for busy in ("n3", "n4"):
        bench.world.add_job(f"on-{busy}", busy)
    drawn = bench.pursue(intent(DRAW, spare="s1", job=job))
    assert drawn is not None
    assert drawn.result is PursuitResult.ACHIEVED
    assert [kind for kind, _ in dict.fromkeys(bench.lives())][:1] == ["keep_place"]
    bench.pursue(intent(MOVE, spare="s1", job=job))
    assert bench.world.jobs["17"].nodes == ("s1",)
    assert "s1" not in rival.nodes
    bench.loop.close()
