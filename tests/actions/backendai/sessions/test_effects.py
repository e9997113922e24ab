"""What is sent to end a session and to create one, and what becomes of it after a crash."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from accelwatch.action.contract import ActionUnavailableError
from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.kit.performing import ChangedError
from accelwatch.action.step import Committed, Recovery, Report, ReportStatus, StartedStep, Step
from accelwatch.api_client.backendai.errors import (
    BackendAiRefusedError,
    BackendAiUnavailableError,
    Problem,
)
from accelwatch_backendai.api.tags import tag_of
from accelwatch_backendai.effects.sessions import SESSION_EFFECTS
from support.backendai.few_rows import Access, Manager, row
from support.backendai.moving import FIRST, NOW, SECOND, ended, job_context, session, successor

TAG = tag_of(FIRST, FIRST)
END = Step(kind="end_session", arguments={"session": FIRST})
FORCE = Step(kind="end_session", arguments={"session": FIRST, "forced": "true", "off": "gpu1"})
CREATE = Step(kind="create_session", arguments={"session": FIRST, "first": FIRST, "tag": TAG})
OPERATION = Committed(
    operation="op-1", attempt=1, annotation=OwnerAnnotation("inc-1", 3), deadline=NOW + 60.0
)


def perform(step: Step, manager: Manager, *off: str, known: bool = True) -> Report:
    async def done() -> Report:
        access: Any = Access(manager, *off, known=known)
        return await SESSION_EFFECTS[step.kind].perform(access, step, OPERATION)

    return asyncio.run(done())


def test_a_session_is_ended_for_its_owner() -> None:
    manager = Manager(row(FIRST, "RUNNING"), answer={"stats": {"status": "terminated"}})
    assert perform(END, manager).status is ReportStatus.DONE
    assert manager.writes == [
        ("DELETE", f"/session/{FIRST}", {"owner_access_key": "OWNERS-KEY"}),
    ]


@pytest.mark.parametrize("status", ["TERMINATED", "CANCELLED", "ERROR", "TERMINATING"])
def test_what_ends_without_us_is_not_ended_by_us(status: str) -> None:
    manager = Manager(row(FIRST, status))
    with pytest.raises(ChangedError):
        perform(END, manager)
    assert manager.writes == []


def test_a_session_that_is_gone_is_not_ended() -> None:
    with pytest.raises(ChangedError):
        perform(END, Manager())


def test_force_is_sent_only_while_the_proof_stands() -> None:
    manager = Manager(row(FIRST, "TERMINATING"), answer={"stats": {"status": "terminated"}})
    with pytest.raises(ChangedError, match="gpu1 is not known to be off"):
        perform(FORCE, manager)
    assert manager.writes == []
    assert perform(FORCE, manager, "gpu1").status is ReportStatus.DONE
    query = {"owner_access_key": "OWNERS-KEY", "forced": "true"}
    assert manager.writes == [("DELETE", f"/session/{FIRST}", query)]


def test_a_release_that_forces_nothing_is_not_queried_twice() -> None:
    report = perform(FORCE, Manager(row(FIRST, "TERMINATING"), answer={"stats": {}}), "gpu1")
    assert report.status is ReportStatus.REFUSED
    assert "TERMINATING until its agents answer" in report.text


def test_a_session_that_its_user_has_renamed_is_not_created_twice() -> None:
    manager = Manager(row(FIRST, "TERMINATED"), row(SECOND, "RUNNING", TAG, name="final-run"))
    report = perform(CREATE, manager)
    assert (report.status, report.reference) == (ReportStatus.DONE, SECOND)
    assert manager.writes == []


def test_a_session_is_created_with_its_tag_for_its_owner() -> None:
    manager = Manager(row(FIRST, "TERMINATED"), answer={"sessionId": SECOND, "created": True})
    report = perform(CREATE, manager)
    assert (report.status, report.reference) == (ReportStatus.DONE, SECOND)
    body = {"name": "train", "tag": TAG, "owner_access_key": "OWNERS-KEY"}
    assert manager.writes == [("POST", "/session", body)]


def test_one_that_is_there_for_the_tag_is_not_created_again() -> None:
    # Whatever has become of it: it may have ended before our first request was answered.
    for status in ("PENDING", "RUNNING", "TERMINATED"):
        manager = Manager(row(FIRST, "TERMINATED"), row(SECOND, status, TAG))
        report = perform(CREATE, manager)
        assert (report.status, report.reference) == (ReportStatus.DONE, SECOND)
        assert manager.writes == []


@pytest.mark.parametrize("status", ["RUNNING", "TERMINATING", "PENDING"])
def test_nothing_is_created_beside_a_session_that_has_not_ended(status: str) -> None:
    manager = Manager(row(FIRST, status))
    with pytest.raises(ChangedError):
        perform(CREATE, manager)
    assert manager.writes == []


def test_an_older_session_of_the_name_is_none_of_ours() -> None:
    manager = Manager(row(FIRST, "TERMINATED"), answer={"sessionId": "another", "created": False})
    assert perform(CREATE, manager).status is ReportStatus.REFUSED


def test_nothing_is_created_that_nobody_knows() -> None:
    manager = Manager(row(FIRST, "TERMINATED"))
    assert perform(CREATE, manager, known=False).status is ReportStatus.REFUSED
    assert manager.writes == []


def refused(status: int = 400, existing: str = "") -> BackendAiRefusedError:
    problem = Problem(kind="session-already-exists", existing_session_id=existing)
    return BackendAiRefusedError("refused", status=status, problem=problem)


@pytest.mark.parametrize(
    ("status", "tag", "outcome"),
    [
        # Between the look for the tag and the request our own, late one came.
        ("RUNNING", TAG, ReportStatus.DONE),
        ("TERMINATING", "", ReportStatus.RETRY),
        ("TERMINATED", "", ReportStatus.RETRY),
        ("RUNNING", "", ReportStatus.REFUSED),
    ],
)
def test_a_name_that_is_in_use(status: str, tag: str, outcome: ReportStatus) -> None:
    manager = Manager(
        row(FIRST, "TERMINATED"),
        {**row(SECOND, status, tag), "name": "of another look"},
        answer=refused(existing=SECOND),
    )
    assert perform(CREATE, manager).status is outcome


def test_a_race_for_the_name_is_looked_at_again() -> None:
    manager = Manager(row(FIRST, "TERMINATED"), answer=refused(status=409))
    assert perform(CREATE, manager).status is ReportStatus.RETRY
    with pytest.raises(BackendAiRefusedError):
        perform(CREATE, Manager(row(FIRST, "TERMINATED"), answer=refused(status=400)))


@pytest.mark.parametrize("step", [END, CREATE])
def test_nothing_is_sent_while_the_manager_does_not_answer(step: Step) -> None:
    class Away(Manager):
        async def graphql(self, _: str, variables: Mapping[str, Any]) -> bytes:
            raise BackendAiUnavailableError("no answer", sent=True)

    manager = Away()
    with pytest.raises(ActionUnavailableError):
        perform(step, manager)
    assert manager.writes == []


def recovered(
    step: Step, context: Any, *, ago_s: float | None, report: ReportStatus | None = None
) -> Recovery:
    started = None if ago_s is None else NOW - ago_s
    answered = None if report is None else Report(status=report)
    effect = SESSION_EFFECTS[step.kind]
    assert effect.recover is not None
    return effect.recover(StartedStep(step=step, started=started, report=answered), context)


TERMINATING = session(status="TERMINATING")


@pytest.mark.parametrize(
    ("shown", "ago_s", "report", "outcome"),
    [
        # Its request may come yet.
        (session(), 1.0, None, Recovery.UNKNOWN),
        (session(), 1.0, ReportStatus.UNKNOWN, Recovery.UNKNOWN),
        (session(), 61.0, None, Recovery.REDO),
        (session(), 1.0, ReportStatus.DONE, Recovery.REDO),
        (TERMINATING, 1.0, None, Recovery.DONE),
        (TERMINATING, 1.0, ReportStatus.DONE, Recovery.DONE),
        (ended(), 1.0, ReportStatus.UNKNOWN, Recovery.DONE),
        # It ended without us: a step that was not sent has not ended it.
        (ended(), 1.0, ReportStatus.RETRY, Recovery.REDO),
        (ended(), 1.0, ReportStatus.REFUSED, Recovery.REDO),
        (ended(), None, None, Recovery.REDO),
    ],
)
def test_what_became_of_an_end(
    shown: Any, ago_s: float | None, report: ReportStatus | None, outcome: Recovery
) -> None:
    assert recovered(END, job_context(shown), ago_s=ago_s, report=report) is outcome


def test_an_end_by_force_is_done_only_when_it_has_ended() -> None:
    assert recovered(FORCE, job_context(TERMINATING), ago_s=1.0) is Recovery.UNKNOWN
    assert recovered(FORCE, job_context(TERMINATING), ago_s=61.0) is Recovery.REDO
    assert recovered(FORCE, job_context(ended()), ago_s=1.0) is Recovery.DONE


def test_of_a_session_that_is_not_shown_nothing_is_known() -> None:
    assert recovered(END, job_context(), ago_s=1.0) is Recovery.UNKNOWN


@pytest.mark.parametrize(
    ("sessions", "ago_s", "report", "outcome"),
    [
        ((ended(), successor(status="PENDING")), 1.0, None, Recovery.DONE),
        ((ended(), successor(status="TERMINATED")), 1.0, ReportStatus.UNKNOWN, Recovery.DONE),
        ((ended(), successor()), 1.0, ReportStatus.RETRY, Recovery.DONE),
        # A request that got no answer may come yet.
        ((ended(),), 59.0, None, Recovery.UNKNOWN),
        ((ended(),), 59.0, ReportStatus.UNKNOWN, Recovery.UNKNOWN),
        ((ended(),), 61.0, None, Recovery.REDO),
        ((ended(),), 61.0, ReportStatus.UNKNOWN, Recovery.REDO),
        ((ended(),), 1.0, ReportStatus.RETRY, Recovery.REDO),
        ((ended(),), None, None, Recovery.REDO),
        # It was said to be there: never a second one.
        ((ended(),), 61.0, ReportStatus.DONE, Recovery.UNKNOWN),
    ],
)
def test_what_became_of_a_creation(
    sessions: Any, ago_s: float | None, report: ReportStatus | None, outcome: Recovery
) -> None:
    assert recovered(CREATE, job_context(*sessions), ago_s=ago_s, report=report) is outcome


def test_a_successor_of_another_session_is_none_of_this_step() -> None:
    context = job_context(ended(), successor(of=SECOND, id="289904a2-43c1-4d7d-bb93-d360b0f6d317"))
    assert recovered(CREATE, context, ago_s=61.0) is Recovery.REDO
