"""What is seen decides: when something is achieved, waited for, refused or done. No hook is called."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    JobState,
    NodeObservation,
    Observed,
)
from accelwatch.action.step import (
    Achieved,
    Proposal,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch_script.evaluation import proposal, recovery
from accelwatch_script.settings import HookOptions
from support.actions.hooks import JOB, MARK, MOVE, intent

HOOK = HookOptions(argv=("/bin/true",))
TRUSTED = HookOptions(argv=("/bin/true",), trusted=True)
IDEMPOTENT = HookOptions(argv=("/bin/true",), idempotent=True)
OTHER = OwnerAnnotation(incident="i8", token=3)
NEWER = OwnerAnnotation(incident="i7", token=4)


def node(hold_state: HoldState = HoldState.OPEN, **more: Any) -> NodeObservation:
    return NodeObservation(name="n3", hold_state=hold_state, **more)


def job(state: JobState = JobState.RUNNING, **more: Any) -> JobObservation:
    given = {"nodes": ("n2", "n3"), "requeueable": True, **more}
    return JobObservation(key=JOB, state=state, **given)


def seen(own: dict[str, str] | None = None, **more: Any) -> Observed:
    return Observed(time=1_800_000_100.0, own=own or {}, **more)


def proposed(wanted: Intent, observed: Observed, hook: HookOptions | None = HOOK) -> Proposal:
    return proposal(wanted, observed, hook)


def of(kind: IntentKind, **more: Any) -> Intent:
    return intent(kind=kind, **more)


OURS = node(HoldState.OURS, annotation=MARK, boot_id="boot-1", answering=True)
REBOOT = of(IntentKind.REBOOT)
MOVED = intent(**MOVE)
ALIVE = node(HoldState.OURS, answering=True)


@pytest.mark.parametrize(
    ("wanted", "observed"),
    [
        (intent(), seen(node=OURS)),
        (intent(), seen(node=node(HoldState.OURS))),
        (intent(), seen(node=node(HoldState.OURS, annotation=OTHER))),
        (of(IntentKind.RELEASE), seen(node=node())),
        (of(IntentKind.RELEASE), seen(node=node(HoldState.FOREIGN))),
        (REBOOT, seen(node=node(HoldState.DOWN, boot_id="boot-2"))),
        (of(IntentKind.POWER_CYCLE), seen(node=node(boot_id="boot-2"))),
        (of(IntentKind.FENCE), seen(proven_dead=True)),
        (MOVED, seen(job=job(nodes=("n2", "n9")))),
        (of(IntentKind.TEST), seen({"achieved": "yes"})),
        (of(IntentKind.DRAW_SPARE), seen({"achieved": "yes"}, node=node(HoldState.FOREIGN))),
    ],
)
def test_achieved_is_what_is_seen(wanted: Intent, observed: Observed) -> None:
    assert isinstance(proposed(wanted, observed), Achieved)


def test_where_a_job_runs_is_reported() -> None:
    done = proposed(MOVED, seen(job=job(nodes=("n2", "n9"))))
    assert isinstance(done, Achieved)
    assert done.moved_to == ("n2", "n9")


@pytest.mark.parametrize(
    ("wanted", "observed"),
    [
        (intent(), seen(node=node())),
        (intent(), seen({"achieved": "no"}, node=OURS)),
        (of(IntentKind.RELEASE), seen(node=OURS)),
        (REBOOT, seen(node=OURS)),
        (REBOOT, seen(node=node(HoldState.DOWN, annotation=MARK, boot_id="boot-1"))),
        (of(IntentKind.FENCE), seen()),
        (MOVED, seen(job=job(), node=ALIVE)),
        (MOVED, seen(job=job(JobState.WAITING), proven_dead=True)),
        (intent(**MOVE, fenced_by_job=True), seen(job=job(JobState.WAITING))),
        (intent(**MOVE, force_requeue=True), seen(job=job(requeueable=False), node=ALIVE)),
        (of(IntentKind.SIGNAL_JOB, job=JOB), seen({"achieved": "no"}, job=job())),
        (of(IntentKind.TEST), seen({"achieved": "no"})),
    ],
)
def test_the_hook_is_called_for_what_is_not_so(wanted: Intent, observed: Observed) -> None:
    step = proposed(wanted, observed)
    assert isinstance(step, Step)
    assert step.kind == wanted.kind.value
    assert msgspec.json.decode(step.arguments["intent"], type=Intent) == wanted
    assert proposed(wanted, observed) == step


UNSAFE, FOREIGN = RefusalKind.UNSAFE, RefusalKind.FOREIGN
IMPOSSIBLE, NOT_ALLOWED = RefusalKind.IMPOSSIBLE, RefusalKind.NOT_ALLOWED


@pytest.mark.parametrize(
    ("wanted", "observed", "kind", "text"),
    [
        (intent(), seen(), UNSAFE, "not observed"),
        (intent(), seen(node=node(HoldState.FOREIGN, set_by="ann")), FOREIGN, "held by ann"),
        (intent(), seen(node=node(maintenance=True)), FOREIGN, "held"),
        (intent(), seen(node=node(HoldState.DOWN)), FOREIGN, "given up"),
        (intent(), seen(node=node(HoldState.MISSING)), IMPOSSIBLE, "not known"),
        (intent(), seen(node=node(annotation=NEWER)), FOREIGN, "newer engine"),
        (of(IntentKind.RELEASE), seen(node=node(HoldState.OURS, annotation=OTHER)), FOREIGN, "i8"),
        (
            of(IntentKind.RELEASE),
            seen(node=node(HoldState.OURS, annotation=NEWER)),
            FOREIGN,
            "newer",
        ),
        (REBOOT, seen(node=node(boot_id="boot-1")), UNSAFE, "quarantined before"),
        (of(IntentKind.RESET_DEVICE), seen(node=node()), UNSAFE, "quarantined before"),
        (REBOOT, seen(node=node(HoldState.FOREIGN, boot_id="boot-1")), FOREIGN, "held"),
        (
            REBOOT,
            seen(node=node(HoldState.OURS, boot_id="boot-1", jobs=(JOB,))),
            UNSAFE,
            "still has jobs: 42",
        ),
        (REBOOT, seen(node=node(HoldState.OURS)), UNSAFE, "not observed"),
        (of(IntentKind.REBOOT, boot_id=""), seen(node=OURS), UNSAFE, "which boot it is from"),
        (of(IntentKind.TEST), seen(), UNSAFE, "not observed"),
        (of(IntentKind.SIGNAL_JOB, job=JOB), seen(job=job(JobState.FINISHED)), IMPOSSIBLE, "ended"),
        (MOVED, seen(node=ALIVE), UNSAFE, "does not report the job"),
        (MOVED, seen(job=job(JobState.FINISHED)), IMPOSSIBLE, "ended"),
        (MOVED, seen(job=job(JobState.MISSING)), IMPOSSIBLE, "missing"),
        (MOVED, seen(job=job(interactive=True)), IMPOSSIBLE, "only its user"),
        (MOVED, seen(job=job(JobState.HELD)), NOT_ALLOWED, "held"),
        (MOVED, seen(job=job(requeueable=False)), NOT_ALLOWED, "does not allow a restart"),
        (MOVED, seen(job=job()), UNSAFE, "old copy"),
        (MOVED, seen(job=job(), node=node(answering=False)), UNSAFE, "old copy"),
        (MOVED, seen(job=job(nodes=()), node=ALIVE), UNSAFE, "not observed"),
        (
            intent(**{**MOVE, "spare": ""}),
            seen(job=job(nodes=("n3",)), node=ALIVE),
            IMPOSSIBLE,
            "no node is left",
        ),
    ],
)
def test_what_is_refused(wanted: Intent, observed: Observed, kind: RefusalKind, text: str) -> None:
    refusal = proposed(wanted, observed)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is kind
    assert text in refusal.text


def test_what_has_no_hook_is_refused() -> None:
    refusal = proposed(intent(), seen(node=node()), None)
    assert isinstance(refusal, Refusal)
    assert refusal.text == "no hook quarantine is configured"


def test_a_job_that_is_ending_is_waited_for() -> None:
    assert isinstance(proposed(MOVED, seen(job=job(JobState.COMPLETING), node=ALIVE)), Wait)


def reported(status: ReportStatus, after_s: float = 1.0) -> dict[str, str]:
    return {
        "told": status.value,
        "told_for_s": str(after_s),
        "told_text": "so",
        "again_after_s": "9",
    }


def test_a_word_is_no_proof() -> None:
    own = reported(ReportStatus.DONE)
    assert isinstance(proposed(intent(), seen(own, node=node())), Wait)
    refusal = proposed(intent(), seen(reported(ReportStatus.DONE, 61.0), node=node()))
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.text) == (UNSAFE, "not observed 61 s after the hook said ok: so")


def test_a_trusted_word_counts_where_nothing_is_seen() -> None:
    wanted = of(IntentKind.SERVICE)
    assert isinstance(proposed(wanted, seen(), TRUSTED), Step)
    done = proposed(wanted, seen(reported(ReportStatus.DONE)), TRUSTED)
    assert isinstance(done, Achieved)
    assert done.text == "reported by the hook, which is trusted: so"


def test_what_is_seen_counts_more_than_a_trusted_word() -> None:
    own = reported(ReportStatus.DONE)
    assert isinstance(proposed(intent(), seen(own, node=node()), TRUSTED), Wait)


@pytest.mark.parametrize(
    ("status", "hook", "shape"),
    [
        (ReportStatus.ACCEPTED, HOOK, Wait),
        (ReportStatus.REFUSED, HOOK, Refusal),
        (ReportStatus.RETRY, HOOK, Step),
        (ReportStatus.UNKNOWN, HOOK, Refusal),
        (ReportStatus.UNKNOWN, IDEMPOTENT, Step),
    ],
)
def test_what_a_word_leaves_to_do(status: ReportStatus, hook: HookOptions, shape: type) -> None:
    assert isinstance(proposed(intent(), seen(reported(status), node=node()), hook), shape)


def test_what_was_accepted_is_polled_after_the_pause_it_named() -> None:
    wait = proposed(intent(), seen(reported(ReportStatus.ACCEPTED), node=node()))
    assert isinstance(wait, Wait)
    assert wait.seconds == 9.0


STEP = Step(kind="quarantine")
ACCEPTED, FAILED = reported(ReportStatus.ACCEPTED), reported(ReportStatus.REFUSED)
STARTED = 1_800_000_000.0


@pytest.mark.parametrize(
    ("started", "last_status", "hook", "observed", "expected"),
    [
        (STARTED, None, HOOK, seen(node=OURS), Recovery.DONE),
        (None, None, HOOK, seen(node=node()), Recovery.REDO),
        (STARTED, None, HOOK, seen(node=node()), Recovery.UNKNOWN),
        (STARTED, None, IDEMPOTENT, seen(node=node()), Recovery.REDO),
        (STARTED + 50.0, None, IDEMPOTENT, seen(node=node()), Recovery.UNKNOWN),
        (STARTED, ReportStatus.REFUSED, HOOK, seen(node=node()), Recovery.REDO),
        (STARTED, ReportStatus.RETRY, HOOK, seen(node=node()), Recovery.REDO),
        (STARTED, ReportStatus.DONE, HOOK, seen(node=node()), Recovery.UNKNOWN),
        (STARTED, ReportStatus.DONE, TRUSTED, seen(), Recovery.DONE),
        (STARTED, ReportStatus.ACCEPTED, HOOK, seen(), Recovery.UNKNOWN),
        (STARTED, ReportStatus.UNKNOWN, IDEMPOTENT, seen(), Recovery.REDO),
        (STARTED + 50.0, ReportStatus.UNKNOWN, IDEMPOTENT, seen(), Recovery.REDO),
        (STARTED, ReportStatus.ACCEPTED, IDEMPOTENT, seen(), Recovery.REDO),
        (STARTED, ReportStatus.ACCEPTED, IDEMPOTENT, seen(ACCEPTED), Recovery.UNKNOWN),
        (STARTED, ReportStatus.ACCEPTED, HOOK, seen(FAILED), Recovery.REDO),
        (STARTED, None, TRUSTED, seen(), Recovery.UNKNOWN),
    ],
)
def test_what_became_of_a_call_nobody_saw_the_end_of(
    started: float | None,
    last_status: ReportStatus | None,
    hook: HookOptions,
    observed: Observed,
    expected: Recovery,
) -> None:
    last = None if last_status is None else Report(status=last_status)
    started_step = StartedStep(step=STEP, started=started, report=last)
    assert recovery(started_step, intent(), observed, hook, longest_s=80.0) is expected


@pytest.mark.parametrize(
    ("revive", "dead", "comes"),
    [
        (True, job(JobState.FINISHED, failed=True), Step),
        (True, job(JobState.FINISHED), Refusal),
        (True, job(JobState.WAITING), Step),
        (True, job(JobState.MISSING), Refusal),
        (False, job(JobState.FINISHED, failed=True), Refusal),
    ],
)
def test_only_a_job_that_has_died_is_restarted_and_only_when_requested(
    revive: bool, dead: JobObservation, comes: type
) -> None:
    wanted = intent(**{**MOVE, "revive": revive})
    assert isinstance(proposed(wanted, seen(job=dead, node=ALIVE)), comes)


def test_a_job_that_has_died_may_be_restarted_where_it_was() -> None:
    wanted = intent(**{**MOVE, "revive": True, "bad_nodes": ("n2",)})
    there = seen(job=job(nodes=("n3",)), node=ALIVE)
    assert isinstance(proposed(wanted, there), Achieved)
    assert not isinstance(proposed(wanted, seen(job=job(nodes=("n2",)), node=ALIVE)), Achieved)


@pytest.mark.parametrize(
    ("own", "hook", "figure"),
    [
        ({"told": "done", "measured": "2.0 x"}, TRUSTED, (2.0, "x")),
        ({"achieved": "yes", "measured": "3.5 "}, HOOK, (3.5, "")),
        ({"achieved": "yes"}, HOOK, None),
    ],
)
def test_what_a_test_has_measured_comes_with_its_end(
    own: dict[str, str], hook: HookOptions, figure: tuple[float, str] | None
) -> None:
    end = proposed(of(IntentKind.TEST), seen(own), hook)
    assert isinstance(end, Achieved)
    measured = end.measured
    assert (None if measured is None else (measured.value, measured.unit)) == figure
    assert measured is None or measured.command == "/bin/true"
