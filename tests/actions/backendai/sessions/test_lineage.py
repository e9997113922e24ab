"""Which sessions are one job, and how such a job is shown."""

import pytest

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobState
from accelwatch_backendai.api.sessions import Kernel, Session
from accelwatch_backendai.api.tags import MOST_TAG, first_of, tag_of
from accelwatch_backendai.sessions.lineage import (
    Lineage,
    is_successor,
    key_of,
    lineage_of,
)
from accelwatch_backendai.sessions.observed_job import observed_job
from accelwatch_backendai.sessions.states import has_died, is_kernel_finished, state_of
from support.backendai.moving import FIRST, KEY, NOW, SECOND, ended, session, successor


def test_a_tag_fits_its_column_and_names_the_first_and_the_one_before() -> None:
    tag = tag_of(FIRST, SECOND)
    assert tag == f"accelwatch:{FIRST}:37546188c4eb"
    assert len(tag) <= MOST_TAG


def test_a_session_that_replaces_another_is_the_same_job() -> None:
    assert key_of("cluster", successor()) == JobKey("cluster", FIRST, 0.0)
    assert key_of("cluster", session()) == JobKey("cluster", FIRST, 0.0)
    assert is_successor(successor(), FIRST)
    assert not is_successor(successor(), SECOND)
    assert not is_successor(session(), FIRST)


@pytest.mark.parametrize(
    "tag",
    [
        "",
        "nightly",
        f"accelwatch:{FIRST}",
        f"accelwatch:{FIRST[:-1]}:123456789012",
        f"accelwatch:{FIRST}:12345",
        f"accelwatch:{'x' * 36}:123456789012",
        f"accelwatch:{FIRST.upper()}:123456789012",
        f"somebody:{FIRST}:123456789012",
    ],
)
def test_a_tag_that_is_not_ours_means_nothing(tag: str) -> None:
    assert first_of(session(SECOND, tag=tag)) == SECOND


def test_sessions_of_the_same_name_are_distinguished_by_their_tags() -> None:
    lineage = lineage_of(FIRST, [successor(), ended(), session("other"), ended()])
    assert [each.id for each in lineage.sessions] == [FIRST, SECOND]
    assert lineage.restarts == 1
    assert [each.id for each in lineage.live] == [SECOND]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("PENDING", JobState.WAITING),
        ("PULLING", JobState.WAITING),
        ("RUNNING", JobState.RUNNING),
        ("RUNNING_DEGRADED", JobState.RUNNING),
        ("TERMINATING", JobState.COMPLETING),
        ("TERMINATED", JobState.FINISHED),
        ("CANCELLED", JobState.FINISHED),
        ("ERROR", JobState.FINISHED),
        ("OF_A_LATER_RELEASE", JobState.WAITING),
    ],
)
def test_how_far_a_session_is(status: str, state: JobState) -> None:
    assert state_of(status) is state


@pytest.mark.parametrize(
    ("status", "info", "result", "kernel", "died"),
    [
        # 26.9.6
        ("TERMINATED", "task-failed", "FAILURE", "task-failed", True),
        ("TERMINATED", "task-finished", "SUCCESS", "task-finished", False),
        ("TERMINATED", "task-timeout", "FAILURE", "task-timeout", False),
        ("TERMINATED", "user-requested", "SUCCESS", "user-requested", False),
        ("TERMINATED", "force-terminated", "UNDEFINED", "", False),
        ("TERMINATED", "idle-timeout", "FAILURE", "idle-timeout", False),
        # 26.1.0
        ("TERMINATED", "scheduled", "FAILURE", "task-failed", True),
        ("TERMINATED", "scheduled", "FAILURE", "already-terminated", True),
        ("TERMINATED", "scheduled", "FAILURE", "task-timeout", False),
        ("TERMINATED", "scheduled", "SUCCESS", "already-terminated", False),
        ("TERMINATED", "user-requested", "FAILURE", "user-requested", False),
        ("CANCELLED", "user-requested", "UNDEFINED", "user-requested", False),
        ("ERROR", "", "UNDEFINED", "", True),
        ("RUNNING", "", "FAILURE", "", False),
    ],
)
def test_what_has_died_and_what_was_ended(
    status: str, info: str, result: str, kernel: str, died: bool
) -> None:
    kernels = (Kernel(agent="gpu1", status="TERMINATED", status_info=kernel),)
    shown = Session(id=FIRST, status=status, status_info=info, result=result, kernels=kernels)
    assert has_died(shown) is died


@pytest.mark.parametrize(
    ("status", "forced", "is_finished"),
    [
        ("TERMINATED", False, True),
        ("TERMINATED", True, False),
        ("CANCELLED", True, True),
        ("PENDING", True, True),
        ("RUNNING", False, False),
        ("TERMINATING", False, False),
    ],
)
def test_a_kernel_has_ended_by_the_word_of_its_agent(
    status: str, forced: bool, is_finished: bool
) -> None:
    assert is_kernel_finished(status, forced=forced) is is_finished


def test_a_job_is_shown_by_its_newest_session() -> None:
    lineage = Lineage((ended(), successor(("gpu3", "gpu2"), started=NOW - 3.0, user="Ada")))
    job = observed_job(KEY, lineage, "", requeueable=True)
    assert job.key == KEY
    assert (job.state, job.restarts, job.started) == (JobState.RUNNING, 1, NOW - 3.0)
    assert (job.nodes, job.user, job.requeueable) == (("gpu2", "gpu3"), "Ada", True)
    assert not job.failed


def test_a_job_that_has_failed_is_on_no_node() -> None:
    lineage = Lineage((ended(status_info="task-failed", result="FAILURE"),))
    job = observed_job(KEY, lineage, "", requeueable=False)
    assert (job.state, job.failed, job.nodes) == (JobState.FINISHED, True, ())
    assert (job.text, job.requeueable) == ("task-failed", False)


def test_a_job_that_waits_says_why_and_one_without_sessions_is_missing() -> None:
    waits = Lineage((session(agents=(), status="PENDING"),))
    assert observed_job(KEY, waits, "no agents", requeueable=True).text == "no agents"
    assert observed_job(KEY, Lineage(), "", requeueable=True).state is JobState.MISSING


def test_an_interactive_session_is_named_as_one() -> None:
    lineage = Lineage((session(type="interactive"),))
    assert observed_job(KEY, lineage, "", requeueable=False).interactive
