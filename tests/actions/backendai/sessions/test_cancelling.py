"""How a job is ended for good, and what is begun again that a move has ended."""

from typing import Any

import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Step, Wait
from accelwatch_backendai.proposals.cancelling import (
    propose_cancel,
    propose_follow,
    propose_restore,
)
from accelwatch_backendai.settings.options import BackendAiOptions
from accelwatch_backendai.settings.session_rules import Leave, SessionRule
from support.backendai.moving import (
    FIRST,
    NOW,
    OPTIONS,
    after_end,
    ended,
    intent,
    job_context,
    session,
    successor,
)

CANCEL = intent(IntentKind.CANCEL_JOB)


def test_a_session_is_ended_and_not_noted_as_one_to_create_anew() -> None:
    step = propose_cancel(CANCEL, job_context(session()))
    assert isinstance(step, Step)
    assert (step.kind, step.arguments) == ("end_session", {"session": FIRST})
    assert step.original == {}


@pytest.mark.parametrize(
    ("sessions", "outcome"),
    [
        ((), Achieved),
        ((ended(),), Achieved),
        ((session(agents=("gpu2",)),), Achieved),
        ((session(agents=("gpu2", "gpu1")),), Step),
        ((session(agents=(), status="PENDING"),), Step),
        ((session(status="TERMINATING"),), Wait),
        ((session(type="interactive"),), Refusal),
        ((ended(), successor(("gpu1",))), Step),
    ],
)
def test_what_is_not_there_any_more_is_cancelled(sessions: Any, outcome: type) -> None:
    assert isinstance(propose_cancel(CANCEL, job_context(*sessions)), outcome)


def test_what_the_rules_leave_to_its_user_is_not_cancelled() -> None:
    options = BackendAiOptions(
        server=OPTIONS.server, sessions=[SessionRule(names=["train"], leave=Leave.STAY)]
    )
    refusal = propose_cancel(CANCEL, job_context(session(), options=options))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED


def test_what_others_depend_on_is_not_cancelled() -> None:
    context = job_context(session(), dependents="session eval (e)")
    refusal = propose_cancel(CANCEL, context)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert "session eval (e) would start without its result, or never" in refusal.text


DIED = {"status": "TERMINATED", "result": "FAILURE", "status_info": "task-failed"}
DONE = {"status": "TERMINATED", "result": "SUCCESS", "status_info": "task-finished"}


@pytest.mark.parametrize(
    ("sessions", "restarts", "outcome"),
    [
        ((ended(), successor(started=NOW - 400.0)), 1, Achieved),
        ((ended(), successor(started=NOW - 200.0)), 1, Wait),
        ((ended(), successor(status="PENDING")), 0, Wait),
        ((session(started=NOW - 400.0),), 0, Achieved),
        ((session(status="TERMINATING"),), 0, Wait),
        ((ended(), successor(**DIED)), 1, Refusal),
        ((ended(), successor(**DONE)), 1, Achieved),
    ],
)
def test_a_job_is_followed_by_its_newest_session(
    sessions: Any, restarts: int, outcome: type
) -> None:
    wanted = intent(IntentKind.FOLLOW_JOB, restarts=restarts, run_s=300.0)
    assert isinstance(propose_follow(wanted, job_context(*sessions)), outcome)


def test_a_job_that_was_restarted_since_has_died() -> None:
    since = intent(IntentKind.FOLLOW_JOB, restarts=0, run_s=300.0)
    refusal = propose_follow(since, job_context(ended(), successor(started=NOW - 400.0)))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.DIED


RESTORE = after_end(kind=IntentKind.RESTORE_JOB)


@pytest.mark.parametrize(
    ("wanted", "sessions", "off", "outcome"),
    [
        # A move has ended it and was given up: nobody else would begin it again.
        (RESTORE, (ended(),), (), Step),
        (RESTORE, (session(status="TERMINATING"),), (), Wait),
        (RESTORE, (ended(status_info="force-terminated"),), (), Refusal),
        (RESTORE, (ended(status_info="force-terminated"),), ("gpu1",), Step),
        # It was never ended, ended by its user, or begun anew already.
        (RESTORE, (session(),), (), Achieved),
        (intent(IntentKind.RESTORE_JOB), (ended(),), (), Achieved),
        (RESTORE, (ended(), successor()), (), Achieved),
        (RESTORE, (), (), Achieved),
    ],
)
def test_what_a_move_has_ended_is_created_when_it_is_given_up(
    wanted: Any, sessions: Any, off: tuple[str, ...], outcome: type
) -> None:
    proposal = propose_restore(wanted, job_context(*sessions, off=off))
    assert isinstance(proposal, outcome)
    if isinstance(proposal, Step):
        assert proposal.kind == "create_session"
