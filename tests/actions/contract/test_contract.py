"""What every action keeps to: pure proposals, declared steps, bounded calls, nothing foreign touched."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.action.contract import OPTIONAL, Action, ActionUnavailableError
from accelwatch.action.step import (
    Achieved,
    Committed,
    Recovery,
    Refusal,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch.plugins import entry_points as plugins
from accelwatch.plugins.near_misses import near_misses
from support.actions.contract_subjects import BREAKAGES, NOW, SUBJECTS, Subject, breaks

subjects = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
breakages = pytest.mark.parametrize("breakage", BREAKAGES)
# A call that takes longer hangs.
GUARD_S = 20.0


def committed(step: Step, *, dry_run: bool = False, deadline: float = NOW + 600.0) -> Committed:
    mark = SUBJECTS[0].situations()[0][0].mark
    return Committed(
        operation="op1", attempt=1, annotation=mark, deadline=deadline, dry_run=dry_run
    )


@subjects
def test_it_is_found_by_its_entry_point(subject: Subject) -> None:
    made = plugins.load(plugins.ACTIONS, subject.name)
    assert made.intents
    assert made.steps


@subjects
def test_no_name_is_nearly_that_of_an_optional_ability(subject: Subject) -> None:
    """An ability that is misspelled is silently not there."""
    assert near_misses(subject.make(None), Action, OPTIONAL) == []


@subjects
def test_a_proposal_is_pure_and_its_steps_are_declared(subject: Subject) -> None:
    action, other = subject.make(None), subject.make(None)
    kinds = set()
    for intent, observed in subject.situations():
        proposal = action.propose(intent, observed)
        assert proposal == action.propose(intent, observed) == other.propose(intent, observed)
        assert msgspec.json.encode(proposal)
        if isinstance(proposal, Step):
            assert proposal.text
            assert proposal.kind in action.steps
            kinds.add(proposal.kind)
        elif isinstance(proposal, Wait):
            assert 0.0 < proposal.seconds <= 60.0
        else:
            assert proposal.text
        if intent.kind not in action.intents:
            assert isinstance(proposal, Refusal)
    assert len(kinds) >= 5


@subjects
def test_what_somebody_else_holds_is_not_touched(subject: Subject) -> None:
    action = subject.make(None)
    foreign = list(subject.foreign())
    assert foreign
    for intent, observed in foreign:
        assert isinstance(action.propose(intent, observed), Refusal), intent.kind


@subjects
def test_what_became_of_a_step_is_judged_purely(subject: Subject) -> None:
    action, other = subject.make(None), subject.make(None)
    observations = [observed for _, observed in subject.situations()][::23]
    assert observations
    assert subject.steps()
    for step in subject.steps():
        for started in (None, NOW - 1.0, NOW - 3600.0):
            started_step = StartedStep(step=step, started=started)
            for observed in observations:
                verdict = action.recover(started_step, observed)
                assert verdict == other.recover(started_step, observed)
                kind = action.steps[step.kind]
                if verdict is Recovery.REDO and started == NOW - 1.0:
                    assert kind.idempotent, step.kind


@subjects
@breakages
def test_no_look_hangs_or_concludes_anything(
    subject: Subject, breakage: str, tmp_path: Path
) -> None:
    action = breaks(tmp_path, subject, BREAKAGES[breakage])

    async def look() -> None:
        by_kind = {intent.kind: intent for intent, _ in subject.situations()}
        kinds = sorted(action.intents)[: 1 if breakage == "endless" else None]
        calls = [action.observe_all(), *(action.observe(by_kind[kind]) for kind in kinds)]
        ends = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), GUARD_S)
        for end in ends:
            assert isinstance(end, ActionUnavailableError), end
            assert str(end).isprintable()
        await action.close()

    asyncio.run(look())


@subjects
def test_no_step_is_done_whose_permission_was_withdrawn(subject: Subject, tmp_path: Path) -> None:
    action = breaks(tmp_path, subject, BREAKAGES["nothing"])

    async def act() -> list[Report]:
        permissions = (
            msgspec.structs.replace(committed(step), withdrawn=lambda: "stopped by ada")
            for step in subject.steps()
        )
        calls = map(action.perform, subject.steps(), permissions)
        return await asyncio.wait_for(asyncio.gather(*calls), GUARD_S)

    reports = asyncio.run(act())
    without_effect = {ReportStatus.NOT_STARTED, ReportStatus.RETRY, ReportStatus.REFUSED}
    assert reports
    assert {report.status for report in reports} <= without_effect


@subjects
@breakages
def test_no_step_hangs_or_raises(subject: Subject, breakage: str, tmp_path: Path) -> None:
    action = breaks(tmp_path, subject, BREAKAGES[breakage])

    async def act() -> None:
        steps = subject.steps()[: 2 if breakage == "endless" else None]
        calls = [action.perform(step, committed(step)) for step in steps]
        reports = await asyncio.wait_for(asyncio.gather(*calls), GUARD_S)
        for step, report in zip(steps, reports, strict=True):
            assert report.status is not ReportStatus.ACCEPTED, step.kind
            if breakage not in ("nothing", "garbage"):
                assert report.status is not ReportStatus.DONE, step.kind
        await action.close()

    asyncio.run(act())


@subjects
def test_a_dry_run_and_a_late_step_run_nothing(subject: Subject, tmp_path: Path) -> None:
    action = breaks(tmp_path, subject, f"touch {tmp_path}/ran")

    async def act() -> None:
        for step in subject.steps():
            dry = await action.perform(step, committed(step, dry_run=True))
            assert dry.status is ReportStatus.DONE
            late = await action.perform(step, committed(step, deadline=NOW - 1.0))
            assert late.status is ReportStatus.REFUSED
        stranger = Step(kind="no such step")
        assert (await action.perform(stranger, committed(stranger))).status is ReportStatus.REFUSED
        await action.close()

    asyncio.run(act())
    assert not (tmp_path / "ran").exists()


@subjects
def test_something_is_achieved_and_something_refused(subject: Subject) -> None:
    action = subject.make(None)
    kinds = {type(action.propose(*situation)) for situation in subject.situations()}
    assert {Step, Wait, Achieved, Refusal} <= kinds
