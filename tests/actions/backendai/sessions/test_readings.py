"""What is read of a job: its sessions, their agents, and why it waits."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import IntentKind
from accelwatch.action.kit.checkpoint_search import CheckpointSearch
from accelwatch.action.kit.effects import Reading
from accelwatch.action.observed import JobState
from accelwatch.api_client.backendai.errors import BackendAiRefusedError, Problem
from accelwatch_backendai.api.tags import tag_of
from accelwatch_backendai.observed_context import AGENT, OFF
from accelwatch_backendai.readings.jobs import read_job
from accelwatch_backendai.sessions.job_view import (
    AGENTS,
    SESSIONS,
    UNSPECIFIED,
    WAITS,
    agents_in,
    sessions_in,
)
from support.backendai.few_rows import Access, Manager, row
from support.backendai.moving import FIRST, OPTIONS, SECOND, intent

TAG = tag_of(FIRST, FIRST)
EARLY, LATE = "2026-11-29T00:00:00+00:00", "2026-11-29T01:00:00+00:00"


def reading(
    manager: Manager, *off: str, kind: IntentKind = IntentKind.MOVE_JOB, known: bool = True
) -> Reading:
    access: Any = Access(manager, *off, known=known)
    return asyncio.run(_read(access, kind))


async def _read(access: Any, kind: IntentKind) -> Reading:
    return await read_job(access, intent(kind), {})


def test_the_agent_of_an_intent_is_the_same_in_all_of_an_observation() -> None:
    manager = Manager(
        row(FIRST, "TERMINATING", agents=("gpu1", "gpu2")), agents={"gpu1": "LOST", "gpu2": "LOST"}
    )
    access: Any = Access(manager)
    shown = msgspec.json.encode({"id": "gpu1", "status": "ALIVE", "schedulable": False}).decode()
    read = asyncio.run(read_job(access, intent(IntentKind.MOVE_JOB), {AGENT: shown}))
    statuses = {agent.id: agent.status for agent in agents_in(read.own[AGENTS])}
    assert statuses == {"gpu1": "ALIVE", "gpu2": "LOST"}


def ids(shown: Reading) -> list[str]:
    return [session.id for session in sessions_in(shown.own[SESSIONS])]


def test_a_job_is_read_by_its_first_session_and_the_name_of_that() -> None:
    manager = Manager(
        row(FIRST, "TERMINATED", agents=("gpu1",), created_at=EARLY),
        row(SECOND, "RUNNING", TAG, agents=("gpu3",), created_at=LATE),
        row("of-another-user", "RUNNING", TAG, access_key="ANOTHER"),
        row("of-no-job", "TERMINATED"),
        agents={"gpu1": "ALIVE", "gpu3": "ALIVE"},
    )
    shown = reading(manager)
    assert ids(shown) == [FIRST, SECOND]
    assert shown.job is not None
    assert (shown.job.state, shown.job.nodes) == (JobState.RUNNING, ("gpu3",))
    # Nothing of the owner's key is in an observation.
    assert "OWNERS-KEY" not in str(shown)


def test_a_session_that_its_user_has_renamed_is_still_the_job() -> None:
    manager = Manager(
        row(FIRST, "TERMINATED", agents=("gpu1",), created_at=EARLY),
        row(SECOND, "RUNNING", TAG, agents=("gpu3",), created_at=LATE, name="final-run"),
        row("of-another-user", "RUNNING", TAG, access_key="ANOTHER", name="final-run"),
        agents={"gpu1": "ALIVE", "gpu3": "ALIVE"},
    )
    shown = reading(manager)
    assert ids(shown) == [FIRST, SECOND]
    assert shown.job is not None
    assert shown.job.state is JobState.RUNNING


def test_a_first_session_that_was_deleted_is_found_by_one_that_runs() -> None:
    manager = Manager(row(SECOND, "RUNNING", TAG, agents=("gpu1",)), agents={"gpu1": "ALIVE"})
    assert ids(reading(manager)) == [SECOND]


def test_a_job_that_nobody_knows_is_missing() -> None:
    shown = reading(Manager())
    assert shown.job is not None
    assert shown.job.state is JobState.MISSING


@pytest.mark.parametrize(
    ("status", "agent", "off"),
    [
        # Only an agent that does not answer is asked about.
        ("RUNNING", "ALIVE", ""),
        ("RUNNING", "LOST", "gpu1"),
        ("TERMINATED", "LOST", ""),
    ],
)
def test_power_is_read_of_what_may_still_run(status: str, agent: str, off: str) -> None:
    manager = Manager(row(FIRST, status, agents=("gpu1",)), agents={"gpu1": agent})
    assert reading(manager, "gpu1").own[OFF] == off


@pytest.mark.parametrize(
    ("kind", "known", "missing"),
    [
        (IntentKind.MOVE_JOB, False, "nobody knows it"),
        (IntentKind.RESTORE_JOB, False, "nobody knows it"),
        (IntentKind.MOVE_JOB, True, ""),
        (IntentKind.FOLLOW_JOB, False, ""),
    ],
)
def test_a_specification_is_requested_where_it_is_needed(
    kind: IntentKind, known: bool, missing: str
) -> None:
    manager = Manager(row(FIRST, "RUNNING", agents=("gpu1",)), agents={"gpu1": "ALIVE"})
    assert reading(manager, kind=kind, known=known).own[UNSPECIFIED] == missing


@pytest.mark.parametrize(
    ("status", "agent", "missing"),
    [
        ("RUNNING", "gpu1", "nobody knows it"),
        ("RUNNING", "gpu3", ""),
        ("TERMINATED", "gpu3", "nobody knows it"),
        ("TERMINATING", "gpu1", ""),
        ("PENDING", "", ""),
    ],
)
def test_it_is_requested_before_a_session_is_ended_or_created(
    status: str, agent: str, missing: str
) -> None:
    manager = Manager(row(FIRST, status, agents=(agent,) if agent else ()), answer={})
    assert reading(manager, known=False).own[UNSPECIFIED] == missing


def _refused(status: int, **problem: Any) -> BackendAiRefusedError:
    return BackendAiRefusedError("refused", status=status, problem=Problem(**problem))


@pytest.mark.parametrize(
    "error", [_refused(429), _refused(401), _refused(200, kind="graphql", started=True)]
)
def test_a_refusal_for_now_says_nothing_of_a_specification(error: BackendAiRefusedError) -> None:
    """It would be the end of a move whose session has ended already."""
    with pytest.raises(ActionUnavailableError, match="refused"):
        ended_and_refused(error)


def test_a_refusal_for_good_leaves_it_unknown() -> None:
    assert ended_and_refused(_refused(403)).own[UNSPECIFIED] == "refused"


def ended_and_refused(error: BackendAiRefusedError) -> Reading:
    manager = Manager(row(FIRST, "TERMINATED", agents=("gpu1",)), agents={"gpu1": "ALIVE"})
    access: Any = Access(manager)
    access.specifications.error = error
    return asyncio.run(_read(access, IntentKind.MOVE_JOB))


def test_one_that_is_pending_says_why_in_the_managers_words() -> None:
    tries = [
        {"result": "NEED_RETRY", "message": "no agents passed\nthe filter"},
        {"result": "SUCCESS", "message": "enqueue success"},
    ]
    pending = Manager(row(FIRST, "PENDING"), answer={"items": tries})
    assert reading(pending).own[WAITS] == "no agents passed the filter"
    running = Manager(row(FIRST, "RUNNING", status_info="scheduled"))
    assert reading(running).own[WAITS] == ""


def test_the_newest_checkpoint_is_searched_by_project_and_name(tmp_path: Path) -> None:
    (tmp_path / "ml" / "train" / "step-7").mkdir(parents=True)
    pattern = f"{tmp_path}/{{project}}/{{job}}/step-{{step}}"
    options = msgspec.structs.replace(OPTIONS, checkpoints=CheckpointOptions(pattern=pattern))

    def step(project: str) -> int | None:
        manager = Manager(row(FIRST, "RUNNING", group_name=project))
        access: Any = Access(manager, options=options)

        async def read() -> Reading:
            access.checkpoints = CheckpointSearch()
            try:
                return await _read(access, IntentKind.FOLLOW_JOB)
            finally:
                access.checkpoints.close()

        job = asyncio.run(read()).job
        assert job is not None
        return job.step

    assert step("ml") == 7
    assert step("other") is None
    assert step("..") is None
