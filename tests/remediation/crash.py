"""The moments at which an engine may be killed, and what it may want while it is."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.action.observed import JobState
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.remediation.execution.operations.operation import KIND, OperationState, operation_of
from remediation.bench import MARK, Bench, intent


class KilledError(BaseException):
    """Nothing of the process runs on from here."""


class Point(StrEnum):
    """When it is killed."""

    BEFORE_RESERVE = "before reserve"
    AFTER_RESERVE = "after reserve"
    BEFORE_START = "before start"
    AFTER_START = "after start"
    BEFORE_EFFECT = "before effect"
    AFTER_EFFECT = "after effect"
    EFFECT_COMES_LATER = "effect comes later"
    BEFORE_REPORT = "before told"
    AFTER_REPORT = "after told"
    BEFORE_OBSERVED = "before observed"
    AFTER_OBSERVED = "after observed"


_AT_BATCH: Mapping[Point, tuple[str, OperationState]] = {
    Point.BEFORE_RESERVE: ("before", OperationState.RESERVED),
    Point.AFTER_RESERVE: ("after", OperationState.RESERVED),
    Point.BEFORE_START: ("before", OperationState.STARTED),
    Point.AFTER_START: ("after", OperationState.STARTED),
    Point.BEFORE_REPORT: ("before", OperationState.ANSWERED),
    Point.AFTER_REPORT: ("after", OperationState.ANSWERED),
    Point.BEFORE_OBSERVED: ("before", OperationState.OBSERVED),
    Point.AFTER_OBSERVED: ("after", OperationState.OBSERVED),
}
# By then the effect is there.
HAPPENED = frozenset(
    {Point.AFTER_EFFECT, Point.BEFORE_REPORT, Point.AFTER_REPORT}
    | {Point.BEFORE_OBSERVED, Point.AFTER_OBSERVED}
)


def kill_at(bench: Bench, point: Point, number: int) -> None:
    """Kill at a point of the step with that number, from 0."""
    if point in _AT_BATCH:
        when, state = _AT_BATCH[point]
        setattr(bench.journal, when, _counted(number, lambda batch: _comes_to(batch, state)))
    elif point is Point.AFTER_EFFECT:
        bench.action.after_effect = _counted(number, lambda _: True)
    elif point is Point.BEFORE_EFFECT:
        bench.action.before_effect = _counted(number, lambda _: True)
    else:
        bench.action.before_effect = _counted(number, lambda _: True, bench.apply_later)


def run_until_killed(bench: Bench, run: Callable[[], None], when: str, number: int) -> None:
    """Run, and kill `before` or `after` the commit of the journal with that number, from 0."""
    setattr(bench.journal, when, _counted(number, lambda _: True))
    try:
        run()
    except KilledError:
        pass
    finally:
        bench.journal.before = bench.journal.after = lambda _: None
        bench.end_all()


def spare(bench: Bench) -> None:
    """Nobody is killed any more."""
    bench.journal.before = bench.journal.after = lambda _: None
    bench.action.before_effect = bench.action.after_effect = lambda _: None


def _comes_to(batch: object, state: OperationState) -> bool:
    assert isinstance(batch, Batch)
    return any(
        isinstance(one, StateRecord) and one.kind == KIND and operation_of(one).state is state
        for one in batch.records
    )


def _counted(
    number: int, matters: Callable[[object], bool], first: Callable[[object], None] | None = None
) -> Callable[[object], None]:
    left = number

    def look(thing: object) -> None:
        nonlocal left
        if not matters(thing):
            return
        left -= 1
        if left < 0:
            if first is not None:
                first(thing)
            raise KilledError

    return look


# Makes the world such that an intent is worth something, and gives it.
Play = Callable[[Bench], Intent]


def _held(bench: Bench) -> None:
    node = bench.world.nodes["n1"]
    node.mark, node.reason, node.set_by = MARK, "accelwatch", "accelwatch"


def _release(bench: Bench) -> Intent:
    _held(bench)
    return intent(IntentKind.RELEASE)


def _fence(bench: Bench) -> Intent:
    _held(bench)
    bench.job("n1")
    bench.world.nodes["n1"].answering = False
    return intent(IntentKind.FENCE)


def _signal(bench: Bench) -> Intent:
    return intent(IntentKind.SIGNAL_JOB, job=bench.job("n1"), signal="USR1")


def _move(bench: Bench) -> Intent:
    _held(bench)
    job = bench.job("n1", exclude="n3")
    return intent(IntentKind.MOVE_JOB, job=job, bad_nodes=("n1",), spare="s1")


def revived(bench: Bench) -> Intent:
    """A job that has died, and is to be begun again where it was."""
    job = bench.job("n2", state=JobState.FINISHED, failed=True, restarts=1)
    return intent(IntentKind.MOVE_JOB, node="n2", job=job, revive=True, restarts=1)


def _restore(bench: Bench) -> Intent:
    job = bench.job("n2", exclude="n3,n1", reserved=("s1",))
    return intent(IntentKind.RESTORE_JOB, job=job, original={"exclude": "n3"})


def _return(bench: Bench) -> Intent:
    bench.world.spares["s1"] = MARK.incident
    return intent(IntentKind.RETURN_SPARE, spare="s1")


def _probe(bench: Bench) -> Intent:
    bench.job("n1")
    return intent(IntentKind.PROBE)


def _swap(bench: Bench) -> Intent:
    _held(bench)
    return intent(IntentKind.SWAP_IN_JOB, job=bench.job("n1", "n2"))


def _starts_anew(kind: IntentKind) -> Play:
    def play(bench: Bench) -> Intent:
        _held(bench)
        return intent(kind, boot_id="boot-1")

    return play


# All that have an effect.
PLAYS: Mapping[IntentKind, Play] = {
    IntentKind.QUARANTINE: lambda _: intent(IntentKind.QUARANTINE),
    IntentKind.RELEASE: _release,
    IntentKind.FENCE: _fence,
    IntentKind.SIGNAL_JOB: _signal,
    IntentKind.MOVE_JOB: _move,
    IntentKind.CANCEL_JOB: lambda bench: intent(IntentKind.CANCEL_JOB, job=bench.job("n1")),
    IntentKind.RESTORE_JOB: _restore,
    IntentKind.DRAW_SPARE: lambda _: intent(IntentKind.DRAW_SPARE, spare="s1"),
    IntentKind.RETURN_SPARE: _return,
    IntentKind.RESET_DEVICE: _starts_anew(IntentKind.RESET_DEVICE),
    IntentKind.REBOOT: _starts_anew(IntentKind.REBOOT),
    IntentKind.POWER_CYCLE: _starts_anew(IntentKind.POWER_CYCLE),
    IntentKind.TEST: _starts_anew(IntentKind.TEST),
    IntentKind.SERVICE: lambda _: intent(IntentKind.SERVICE),
    IntentKind.PROBE: _probe,
    IntentKind.SWAP_IN_JOB: _swap,
}
# How many steps an intent takes; one where nothing is said.
STEPS: Mapping[IntentKind, int] = {IntentKind.MOVE_JOB: 3}
CASES = [
    (kind, point, number)
    for kind in PLAYS
    for point in Point
    for number in range(STEPS.get(kind, 1))
]
