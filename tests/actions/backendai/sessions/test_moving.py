"""Which step moves a job: its session is ended, seen to have ended, and created anew once."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Step, Wait
from accelwatch.base.errors import ConfigError
from accelwatch_backendai.api.tags import tag_of
from accelwatch_backendai.proposals.moving import propose_move
from accelwatch_backendai.sessions.job_view import FORCED
from accelwatch_backendai.settings.options import BackendAiOptions
from accelwatch_backendai.settings.session_rules import Leave, SessionRule, SessionType
from support.backendai.moving import (
    FIRST,
    NOW,
    OPTIONS,
    SECOND,
    after_end,
    agent,
    ended,
    intent,
    job_context,
    session,
    successor,
)

THIRD = "289904a2-43c1-4d7d-bb93-d360b0f6d317"


def refused(proposal: Any) -> Refusal:
    assert isinstance(proposal, Refusal)
    return proposal


def rules(*entries: SessionRule) -> BackendAiOptions:
    return msgspec.structs.replace(OPTIONS, sessions=list(entries))


def test_a_session_on_the_bad_agent_is_ended_by_its_id() -> None:
    step = propose_move(intent(), job_context(session(agents=("gpu1", "gpu2"))))
    assert isinstance(step, Step)
    assert step.kind == "end_session"
    assert step.arguments == {"session": FIRST}
    assert step.original == {f"ended {FIRST}": "train on gpu1,gpu2"}
    assert step.text == f"end session train ({FIRST})"


def test_one_on_another_bad_agent_is_ended_too() -> None:
    context = job_context(session(agents=("gpu2",)))
    assert isinstance(propose_move(intent(bad_nodes=("gpu1", "gpu2")), context), Step)
    assert isinstance(propose_move(intent(bad_nodes=("gpu1",)), context), Achieved)


def test_a_job_that_runs_elsewhere_has_moved() -> None:
    there = propose_move(after_end(), job_context(ended(), successor(("gpu3", "gpu2"))))
    assert isinstance(there, Achieved)
    assert there.moved_to == ("gpu2", "gpu3")


def test_it_is_created_anew_when_it_has_ended_and_we_ended_it() -> None:
    step = propose_move(after_end(), job_context(ended()))
    assert isinstance(step, Step)
    assert step.kind == "create_session"
    assert step.arguments == {"session": FIRST, "first": FIRST, "tag": tag_of(FIRST, FIRST)}
    assert step.original == {}


def test_its_users_own_tag_is_noted() -> None:
    step = propose_move(after_end(), job_context(ended(tag="nightly")))
    assert isinstance(step, Step)
    assert step.original == {f"tag {FIRST}": "nightly"}


def test_a_session_that_its_user_has_ended_is_not_created_anew() -> None:
    refusal = refused(propose_move(intent(), job_context(ended())))
    assert refusal.kind is RefusalKind.IMPOSSIBLE
    assert refusal.text == f"session train ({FIRST}) has ended: user-requested"


def test_a_successor_that_its_user_has_ended_is_not_created_anew() -> None:
    context = job_context(ended(), successor(status="TERMINATED", status_info="user-requested"))
    assert refused(propose_move(after_end(), context)).kind is RefusalKind.IMPOSSIBLE


def test_a_second_move_names_the_first_session_and_the_one_before() -> None:
    context = job_context(ended(), successor(status="TERMINATED", status_info="user-requested"))
    step = propose_move(after_end(SECOND), context)
    assert isinstance(step, Step)
    assert step.arguments == {"session": SECOND, "first": FIRST, "tag": tag_of(FIRST, SECOND)}
    # The user's own tag was noted by the first one.
    assert step.original == {}


@pytest.mark.parametrize(
    ("status_info", "result", "revive", "created"),
    [
        ("task-failed", "FAILURE", True, True),
        ("task-failed", "FAILURE", False, False),
        ("task-timeout", "FAILURE", True, False),
        ("task-finished", "SUCCESS", True, False),
        ("user-requested", "SUCCESS", True, False),
    ],
)
def test_only_one_that_has_died_is_revived(
    status_info: str, result: str, revive: bool, created: bool
) -> None:
    context = job_context(ended(status_info=status_info, result=result))
    proposal = propose_move(intent(revive=revive), context)
    assert isinstance(proposal, Step if created else Refusal)


def test_a_name_that_is_still_terminating_is_waited_for() -> None:
    context = job_context(session(status="TERMINATING", status_info="user-requested"))
    waits = propose_move(after_end(), context)
    assert isinstance(waits, Wait)
    assert waits.text == f"session train ({FIRST}) is terminating on gpu1"
    others = propose_move(intent(), context)
    assert isinstance(others, Wait)
    assert "another user or tool" in others.text


@pytest.mark.parametrize(
    "status", ["PENDING", "SCHEDULED", "PREPARING", "CREATING", "SOMETHING_NEW"]
)
def test_a_session_that_does_not_run_yet_is_waited_for_in_the_managers_words(status: str) -> None:
    context = job_context(
        ended(), successor((), status=status), waits="no agents passed the filter"
    )
    waits = propose_move(after_end(), context)
    assert isinstance(waits, Wait)
    assert waits.text == (
        f"session train ({SECOND}) is {status.lower()}: no agents passed the filter"
    )


def test_a_job_that_was_scheduled_on_a_bad_agent_is_left_to_a_person() -> None:
    refusal = refused(propose_move(after_end(), job_context(ended(), successor(("gpu1", "gpu3")))))
    assert refusal.kind is RefusalKind.UNSAFE
    assert "was placed on gpu1" in refusal.text


def test_one_whose_agent_went_bad_later_is_moved_again() -> None:
    context = job_context(ended(), successor(("gpu3",)))
    step = propose_move(intent(node="gpu3", bad_nodes=("gpu3",)), context)
    assert isinstance(step, Step)
    assert step.arguments == {"session": SECOND}


@pytest.mark.parametrize(
    ("status", "words", "often"),
    [
        ("PENDING", "no agents passed the filter", False),
        ("PENDING", "", True),
        ("PREPARING", "no agents passed the filter", True),
    ],
)
def test_one_without_agents_is_looked_at_less_often_than_one_that_may_run_soon(
    status: str, words: str, often: bool
) -> None:
    context = job_context(ended(), successor((), status=status), waits=words)
    terminating = propose_move(after_end(), job_context(TERMINATING))
    waits = propose_move(after_end(), context)
    assert isinstance(terminating, Wait)
    assert isinstance(waits, Wait)
    assert (waits.seconds == terminating.seconds) is often
    assert (waits.seconds > terminating.seconds) is not often


def test_one_that_is_forced_to_end_later_is_looked_at_less_often() -> None:
    wanted = after_end(asked=NOW)
    lost = propose_move(wanted, job_context(TERMINATING, agents={"gpu1": "LOST"}, off=("gpu1",)))
    answering = propose_move(wanted, job_context(TERMINATING))
    assert isinstance(lost, Wait)
    assert isinstance(answering, Wait)
    assert lost.seconds > answering.seconds


def test_two_sessions_of_one_job_are_never_touched() -> None:
    refusal = refused(propose_move(after_end(), job_context(session(), successor())))
    assert refusal.kind is RefusalKind.UNSAFE
    assert FIRST in refusal.text
    assert SECOND in refusal.text


def test_a_session_without_agents_does_not_count_as_one_that_runs_elsewhere() -> None:
    assert isinstance(propose_move(intent(), job_context(session(agents=()))), Wait)


def test_a_job_that_the_manager_does_not_know_cannot_be_moved() -> None:
    assert refused(propose_move(intent(), job_context())).kind is RefusalKind.IMPOSSIBLE


def test_what_others_depend_on_stays_and_names_them() -> None:
    refusal = propose_move(intent(), job_context(session(), dependents="session eval (e)"))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert refusal.text == (
        f"session train ({FIRST}) stays on gpu1: session eval (e) would start without its result, or"
        " never, if it were ended; a rule with `ignore_dependents: true` moves it all the same"
    )


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (SessionRule(leave=Leave.MOVE, ignore_dependents=True), Step),
        (SessionRule(leave=Leave.MOVE), Refusal),
        (SessionRule(names=["other"], leave=Leave.MOVE, ignore_dependents=True), Refusal),
    ],
)
def test_only_a_rule_that_says_so_moves_what_others_depend_on(
    rule: SessionRule, outcome: type
) -> None:
    context = job_context(session(), dependents="session eval (e)", options=rules(rule))
    assert isinstance(propose_move(intent(), context), outcome)


def test_a_rule_that_moves_nothing_cannot_ignore_dependents() -> None:
    with pytest.raises(ConfigError, match="ignore_dependents"):
        SessionRule(leave=Leave.STAY, ignore_dependents=True)


@pytest.mark.parametrize(
    ("session_type", "options", "reason"),
    [
        ("interactive", rules(), "it is interactive"),
        ("inference", rules(SessionRule(leave=Leave.MOVE)), "its model service decides"),
        ("system", rules(SessionRule(leave=Leave.MOVE)), "it is a system session"),
        ("batch", rules(SessionRule(projects=["m*"], leave=Leave.STAY)), "not resumed by us"),
        ("batch", rules(SessionRule(names=["tr*"], leave=Leave.STAY)), "not resumed by us"),
        ("batch", rules(SessionRule(tags=["pipeline-*"], leave=Leave.STAY)), "not resumed by us"),
        ("batch", rules(SessionRule(types=[SessionType.BATCH], leave=Leave.STAY)), "not resumed"),
    ],
)
def test_what_the_rules_leave_is_named_and_stays(
    session_type: str, options: BackendAiOptions, reason: str
) -> None:
    context = job_context(session(type=session_type, tag="pipeline-7"), options=options)
    refusal = refused(propose_move(intent(), context))
    assert refusal.kind is RefusalKind.NOT_ALLOWED
    assert reason in refusal.text


@pytest.mark.parametrize(
    "options",
    [
        rules(SessionRule(projects=["other"], leave=Leave.STAY)),
        rules(SessionRule(names=["other*"], leave=Leave.STAY)),
        rules(SessionRule(tags=["pipeline-*"], leave=Leave.STAY)),
        rules(SessionRule(types=[SessionType.INTERACTIVE], leave=Leave.STAY)),
        rules(
            SessionRule(names=["tr*"], leave=Leave.MOVE),
            SessionRule(leave=Leave.STAY),
        ),
        rules(SessionRule(names=["tr*"], projects=["other"], leave=Leave.STAY)),
    ],
)
def test_a_rule_that_does_not_fit_or_comes_later_changes_nothing(options: BackendAiOptions) -> None:
    assert isinstance(propose_move(intent(), job_context(session(), options=options)), Step)


def test_a_rule_about_a_tag_still_fits_what_we_created() -> None:
    options = rules(SessionRule(tags=["pipeline-*"], leave=Leave.STAY))
    away = intent(node="gpu3", bad_nodes=("gpu3",))
    context = job_context(ended(tag="pipeline-7"), successor(("gpu3",)), options=options)
    assert refused(propose_move(away, context)).kind is RefusalKind.NOT_ALLOWED
    context = job_context(ended(tag="nightly"), successor(("gpu3",)), options=options)
    assert isinstance(propose_move(away, context), Step)


def test_an_interactive_session_is_moved_where_a_rule_says_so() -> None:
    options = rules(SessionRule(types=[SessionType.INTERACTIVE], leave=Leave.MOVE))
    context = job_context(session(type="interactive"), options=options)
    assert isinstance(propose_move(intent(), context), Step)


@pytest.mark.parametrize("first", [session(), ended()])
def test_without_a_specification_nothing_is_ended_or_created(first: Any) -> None:
    wanted = after_end() if first.status == "TERMINATED" else intent()
    context = job_context(first, unspecified="26.1 does not show it, and no file has it")
    refusal = refused(propose_move(wanted, context))
    assert refusal.kind is RefusalKind.IMPOSSIBLE
    assert "not resumed by us: 26.1 does not show it" in refusal.text


@pytest.mark.parametrize(
    ("agents", "off", "by_job", "ends"),
    [
        ({}, (), False, True),
        ({"gpu1": "LOST"}, (), False, False),
        ({"gpu2": "LOST"}, (), False, False),
        ({"gpu1": "LOST"}, ("gpu1",), False, True),
        ({"gpu1": "LOST", "gpu2": "LOST"}, ("gpu1",), False, False),
        ({"gpu1": "LOST"}, (), True, True),
    ],
)
def test_a_session_with_a_lost_agent_is_ended_only_once_nothing_can_run_there(
    agents: dict[str, str], off: tuple[str, ...], by_job: bool, ends: bool
) -> None:
    context = job_context(session(agents=("gpu1", "gpu2")), agents=agents, off=off)
    proposal = propose_move(intent(fenced_by_job=by_job), context)
    if ends:
        assert isinstance(proposal, Step)
        # The agents that answer are asked first.
        assert "forced" not in proposal.arguments
    else:
        assert refused(proposal).kind is RefusalKind.UNSAFE


TERMINATING = session(agents=("gpu1", "gpu2"), status="TERMINATING", status_info="user-requested")


@pytest.mark.parametrize(
    ("since_s", "off", "by_job", "outcome"),
    [
        (-61.0, ("gpu1",), False, Step),
        (-59.0, ("gpu1",), False, Wait),
        (-61.0, (), False, Refusal),
        (-61.0, (), True, Step),
        (-59.0, (), True, Wait),
    ],
)
def test_force_comes_past_the_deadline_and_with_the_fence_proven(
    since_s: float, off: tuple[str, ...], by_job: bool, outcome: type
) -> None:
    wanted = after_end(asked=NOW + since_s, fenced_by_job=by_job)
    context = job_context(TERMINATING, agents={"gpu1": "LOST"}, off=off)
    proposal = propose_move(wanted, context)
    assert isinstance(proposal, outcome)
    if isinstance(proposal, Step):
        # The proof that is looked at again when it is sent.
        proof = "" if by_job else "gpu1"
        assert proposal.arguments == {"session": FIRST, "forced": "true", "off": proof}
        assert proposal.original == {FORCED + FIRST: "gpu1"}


def test_an_agent_that_answers_is_waited_for_however_long_it_takes() -> None:
    waits = propose_move(after_end(asked=0.0), job_context(TERMINATING, off=("gpu1",)))
    assert isinstance(waits, Wait)


@pytest.mark.parametrize(
    ("status_info", "kernels", "off", "original", "by_job", "created"),
    [
        ("user-requested", "TERMINATED", (), {}, False, True),
        # Not begun on any agent.
        ("user-requested", "CANCELLED", (), {}, False, True),
        # Ended in the manager's rows alone: by somebody else, then by us with the proof.
        ("force-terminated", "TERMINATED", (), {}, False, False),
        ("force-terminated", "TERMINATED", ("gpu1",), {}, False, True),
        ("force-terminated", "TERMINATED", (), {FORCED + FIRST: "gpu1"}, False, True),
        ("force-terminated", "TERMINATED", (), {FORCED + SECOND: "gpu1"}, False, False),
        ("force-terminated", "TERMINATED", (), {}, True, True),
        # An agent has not said that it has ended.
        ("user-requested", "RUNNING", (), {}, False, False),
    ],
)
def test_it_is_created_anew_only_once_nothing_of_it_can_run(
    status_info: str,
    kernels: str,
    off: tuple[str, ...],
    original: dict[str, str],
    by_job: bool,
    created: bool,
) -> None:
    context = job_context(ended(status_info=status_info, kernels=kernels), off=off)
    proposal = propose_move(after_end(original=original, fenced_by_job=by_job), context)
    if created:
        assert isinstance(proposal, Step)
    else:
        assert refused(proposal).kind is RefusalKind.UNSAFE


def test_a_third_session_is_known_by_the_first_ones_id() -> None:
    context = job_context(
        ended(),
        successor(status="TERMINATED"),
        successor(("gpu4",), of=SECOND, id=THIRD, created=NOW - 1.0),
    )
    achieved = propose_move(after_end(SECOND), context)
    assert isinstance(achieved, Achieved)
    assert achieved.moved_to == ("gpu4",)


def test_who_makes_the_agent_schedulable_again_keeps_its_sessions() -> None:
    ours, others = OwnerAnnotation("inc-1", 3), OwnerAnnotation("inc-2", 3)
    back, held = agent("gpu1", schedulable=True), agent("gpu1", schedulable=False)
    refusal = refused(propose_move(intent(), job_context(session(), agent=back, annotation=ours)))
    assert refusal.kind is RefusalKind.OVERRIDDEN
    for context in (
        job_context(session(), agent=held, annotation=ours),
        job_context(session(), agent=back, annotation=others),
        job_context(session(), agent=back),
        job_context(session(), annotation=ours),
    ):
        assert isinstance(propose_move(intent(), context), Step)
