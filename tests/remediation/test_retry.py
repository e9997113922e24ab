"""When a job is restarted without a person, and when it is left to one."""

from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.guards.retry.job_events import (
    MOST_DEATHS,
    died,
    forgotten,
    not_resumed,
    resumed,
    tidied,
)
from accelwatch.remediation.policy.guards.retry.job_history import (
    Death,
    JobHistory,
    RetryState,
    Run,
    Try,
)
from accelwatch.remediation.policy.guards.retry.resume_guard import may_resume
from accelwatch.remediation.settings import Resume

LIMITS = Resume()
JOB = "cluster/17"
HOUR = 3600.0
FIRST = Try(nodes=("n1", "n2"))


def attempt(number: int) -> Try:
    """A resume that differs from all others."""
    return Try(nodes=("n1", f"s{number}"))


def death(at: float, tried: Try = FIRST, **others: Any) -> Death:
    return Death(at=at, tried=tried, **others)


def after(*deaths: Death, ran_s: float = 60.0) -> RetryState:
    state = RetryState()
    for one in deaths:
        state = died(state, JOB, one, ran_s, LIMITS)
    return state


def resumable(state: RetryState, tried: Try, now: float, limits: Resume = LIMITS) -> Answer:
    return may_resume(state, JOB, tried, now, limits)


def text_of(answer: Answer) -> str:
    assert isinstance(answer, Denial)
    assert answer.why is DenialKind.RETRY
    return answer.text


def until(answer: Answer) -> float | None:
    text_of(answer)
    assert isinstance(answer, Denial)
    return answer.until


def test_the_first_resume_is_at_once() -> None:
    assert resumable(after(death(100.0)), attempt(1), 100.0) == PERMIT
    assert resumable(RetryState(), attempt(1), 100.0) == PERMIT


def test_the_delays_grow_and_the_last_stays() -> None:
    many = Resume(most=100)
    state, now, waited = RetryState(), 0.0, []
    for number in range(7):
        state = died(state, JOB, death(now), 60.0, many)
        answer = resumable(state, attempt(number), now, many)
        due = now if answer == PERMIT else until(answer)
        assert due is not None
        waited.append(due - now)
        assert resumable(state, attempt(number), due, many) == PERMIT
        state = resumed(state, JOB, attempt(number), due, many)
        now = due + 100.0
    for wait, delay in zip(waited, [0.0, 60.0, 120.0, 240.0, 480.0, 480.0, 480.0], strict=True):
        assert 0.8 * delay <= wait <= 1.2 * delay


def test_jobs_that_die_together_do_not_start_together() -> None:
    limits = Resume(delays_s=(100.0,))

    def due(job: str, at: float) -> float:
        state = died(RetryState(), job, death(at), 60.0, limits)
        at_first, at_second = (
            until(may_resume(state, job, attempt(1), now, limits)) for now in (at, at + 1.0)
        )
        assert at_first == at_second
        assert at_first is not None
        return at_first - at

    waits = [due(f"cluster/{number}", 50.0) for number in range(200)]
    assert all(80.0 <= wait <= 120.0 for wait in waits)
    assert min(waits) < 85.0
    assert max(waits) > 115.0
    assert due("cluster/1", 50.0) != due("cluster/1", 51.0)


def test_just_before_its_time_a_resume_waits() -> None:
    state = resumed(after(death(0.0)), JOB, attempt(1), 0.0, LIMITS)
    state = died(state, JOB, death(100.0), 60.0, LIMITS)
    due = until(resumable(state, attempt(2), 100.0))
    assert due is not None
    answer = resumable(state, attempt(2), due - 0.1)
    assert until(answer) == due
    assert text_of(answer).endswith("just now; the next resume waits a little longer")
    assert resumable(state, attempt(2), due) == PERMIT


@pytest.mark.parametrize(("ran_s", "free"), [(1799.9, False), (1800.0, True)])
def test_after_half_an_hour_of_work_the_delays_start_anew(ran_s: float, free: bool) -> None:
    state = resumed(after(death(0.0)), JOB, attempt(1), 0.0, LIMITS)
    state = died(state, JOB, death(2000.0), ran_s, LIMITS)
    assert (resumable(state, attempt(2), 2000.0) == PERMIT) is free


def test_three_resumes_in_six_hours() -> None:
    state = RetryState()
    for number, now in enumerate((0.0, HOUR, 2 * HOUR)):
        state = died(state, JOB, death(now), HOUR, LIMITS)
        assert resumable(state, attempt(number), now) == PERMIT
        state = resumed(state, JOB, attempt(number), now, LIMITS)
    state = died(state, JOB, death(3 * HOUR), HOUR, LIMITS)
    answer = resumable(state, attempt(9), 3 * HOUR)
    assert until(answer) == 6 * HOUR
    assert "3 times within 6 h" in text_of(answer)
    assert resumable(state, attempt(9), 6 * HOUR) == PERMIT
    assert may_resume(state, "cluster/18", attempt(9), 3 * HOUR, LIMITS) == PERMIT
    assert resumable(forgotten(state, JOB), attempt(9), 3 * HOUR) == PERMIT


def test_where_the_site_wants_none_there_is_none() -> None:
    answer = resumable(RetryState(), attempt(1), 0.0, Resume(most=0))
    assert (until(answer), "remedy.resume.most is 0" in text_of(answer)) == (None, True)


SAME = Try(nodes=("n2", "s1"), checkpoint="100", cleared="")


@pytest.mark.parametrize(
    ("again", "differs"),
    [
        ({}, False),
        ({"nodes": ("s1", "n2")}, False),
        ({"nodes": ("n2", "s2")}, True),
        ({"nodes": ("n2",)}, True),
        ({"checkpoint": "90"}, True),
        ({"checkpoint": ""}, False),
        ({"cleared": "storm-1"}, True),
    ],
)
def test_every_resume_differs_from_the_last(again: dict[str, Any], differs: bool) -> None:
    state = resumed(after(death(0.0)), JOB, SAME, 0.0, LIMITS)
    state = died(state, JOB, death(100.0, SAME), 60.0, LIMITS)
    tried = msgspec.structs.replace(SAME, **again)
    answer = resumable(state, tried, 200.0)
    assert (answer == PERMIT) is differs
    if not differs:
        assert "same nodes and the same checkpoint" in text_of(answer)
        assert until(answer) is None


def test_a_checkpoint_that_was_not_known_before_is_no_difference() -> None:
    state = resumed(RetryState(), JOB, FIRST, 0.0, LIMITS)
    assert resumable(state, Try(nodes=FIRST.nodes, checkpoint="90"), 200.0) != PERMIT


def test_one_signal_that_has_cleared_is_a_difference_once() -> None:
    cleared = msgspec.structs.replace(SAME, cleared="storm-1")
    state = resumed(RetryState(), JOB, cleared, 0.0, LIMITS)
    assert resumable(state, cleared, 200.0) != PERMIT
    assert resumable(state, SAME, 200.0) != PERMIT
    another = msgspec.structs.replace(SAME, cleared="storm-2")
    assert resumable(state, another, 200.0) == PERMIT


def test_the_first_retry_of_an_applications_own_fault_may_be_on_the_same_nodes() -> None:
    assert resumable(after(death(0.0)), FIRST, 100.0) == PERMIT


@pytest.mark.parametrize(
    ("tried", "well"),
    [
        (FIRST, False),
        (Try(nodes=FIRST.nodes, checkpoint="90"), False),
        (Try(nodes=FIRST.nodes, cleared="reset-1"), True),
        (Try(nodes=("n1", "s1")), True),
    ],
)
def test_after_a_fault_of_a_device_it_never_runs_there_again(tried: Try, well: bool) -> None:
    broken = death(0.0, msgspec.structs.replace(FIRST, checkpoint="100"), device_fault=True)
    answer = resumable(after(broken), tried, 100.0)
    assert (answer == PERMIT) is well
    if not well:
        assert "a fault of a device ended it" in text_of(answer)


def test_two_deaths_at_one_step_without_a_fault_of_a_device_are_the_jobs_own() -> None:
    answer = resumable(after(death(0.0, step=500), death(10.0, step=500)), attempt(1), 9 * HOUR)
    assert "it ended 2 times at step 500 without a fault of a device" in text_of(answer)
    assert until(answer) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"step": 500}, {"step": 501}),
        ({"step": 500}, {}),
        ({}, {"step": 500}),
        ({}, {}),
        ({"step": 500, "device_fault": True}, {"step": 500}),
        ({"step": 500}, {"step": 500, "device_fault": True}),
    ],
)
def test_anything_else_is_not(first: dict[str, Any], second: dict[str, Any]) -> None:
    state = after(death(0.0, **first), death(10.0, **second))
    assert resumable(state, attempt(1), HOUR) == PERMIT


def test_one_death_at_a_step_is_not() -> None:
    assert resumable(after(death(0.0, step=500)), attempt(1), HOUR) == PERMIT
    between = after(death(0.0, step=500), death(1.0, step=7), death(2.0, step=500))
    assert resumable(between, attempt(1), HOUR) == PERMIT


def test_three_deaths_where_the_site_says_three() -> None:
    patient = Resume(same_step=3)
    two = after(death(0.0, step=500), death(1.0, step=500))
    assert resumable(two, attempt(1), HOUR, patient) == PERMIT
    three = died(two, JOB, death(2.0, step=500), 60.0, patient)
    assert "3 times at step 500" in text_of(resumable(three, attempt(1), HOUR, patient))


def test_what_is_kept_of_a_job_is_bounded() -> None:
    state = after(*(death(float(at)) for at in range(50)))
    assert [one.at for one in state.jobs[JOB].deaths] == [float(at) for at in range(42, 50)]
    assert MOST_DEATHS == 8
    many = Resume(most=1000)
    for at in range(50):
        state = resumed(state, JOB, FIRST, at * HOUR, many)
    assert len(state.jobs[JOB].resumed) == 6


def test_the_state_can_be_written_down() -> None:
    state = resumed(after(death(0.0, step=5)), JOB, SAME, 1.0, LIMITS)
    assert msgspec.json.decode(msgspec.json.encode(state), type=RetryState) == state


def test_what_it_has_died_with_before_is_not_tried_again() -> None:
    patient = Resume(same_step=9)
    state = after(death(0.0, SAME), death(10.0, msgspec.structs.replace(SAME, checkpoint="90")))
    answer = resumable(state, SAME, HOUR, patient)
    assert "died before with the same nodes and the same checkpoint" in text_of(answer)
    other = msgspec.structs.replace(SAME, checkpoint="80")
    assert resumable(state, other, HOUR, patient) == PERMIT


def test_where_no_step_is_known_the_newest_checkpoint_says_how_far_it_came() -> None:
    twice = after(death(0.0, newest="/c/9"), death(10.0, newest="/c/9"))
    assert "2 times at checkpoint /c/9" in text_of(resumable(twice, attempt(1), HOUR))
    further = after(death(0.0, newest="/c/9"), death(10.0, newest="/c/10"))
    assert resumable(further, attempt(1), HOUR) == PERMIT


def test_a_job_that_has_died_is_remembered_before_it_was_ever_restarted() -> None:
    state = after(death(0.0, step=5))
    assert tidied(state, HOUR, LIMITS) == state
    assert tidied(state, 7 * HOUR, LIMITS) == RetryState()


def test_a_job_that_was_resumed_is_remembered_as_long_as_that_counts() -> None:
    state = RetryState(jobs={JOB: JobHistory(resumed=(0.0,))})
    assert tidied(state, HOUR, LIMITS) == state
    assert tidied(state, 7 * HOUR, LIMITS) == RetryState()


def test_a_job_that_is_watched_is_remembered_however_long_that_takes() -> None:
    key, mark = JobKey("c", "17", 1.0), OwnerAnnotation(incident="i1", token=1)
    run = Run(
        node="n1",
        moved=Intent(kind=IntentKind.MOVE_JOB, mark=mark, node="n1", job=key, deadline=9.0),
        since=0.0,
        seen=JobObservation(key=key, state=JobState.RUNNING),
    )
    state = RetryState(jobs={JOB: JobHistory(run=run)})
    assert tidied(state, 99 * HOUR, LIMITS) == state


def test_a_resume_that_was_not_started_after_all_counts_no_more() -> None:
    dead = after(death(0.0))
    assert not_resumed(resumed(dead, JOB, attempt(1), 10.0, LIMITS), JOB) == dead
    once = resumed(dead, JOB, attempt(1), 10.0, LIMITS)
    again = not_resumed(resumed(once, JOB, attempt(2), 20.0, LIMITS), JOB).jobs[JOB]
    assert (again.resumed, again.in_a_row, again.deaths) == ((10.0,), 1, dead.jobs[JOB].deaths)


def test_a_job_with_which_nothing_else_has_happened_is_forgotten_then() -> None:
    state = resumed(RetryState(), JOB, attempt(1), 10.0, LIMITS)
    assert not_resumed(state, JOB) == RetryState()
    assert not_resumed(RetryState(), JOB) == RetryState()


def test_a_launcher_that_asks_for_no_restart_holds_it_back_until_a_later_run() -> None:
    why = "its own launcher asks that it is not restarted (exit code 93)"
    declined = death(100.0, declined=why, device_fault=True)
    assert text_of(resumable(after(declined), attempt(1), 5000.0)) == f"{why}; a person has to look"
    assert resumable(after(declined, death(200.0)), attempt(1), 5000.0) == PERMIT
