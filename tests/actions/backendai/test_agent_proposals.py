"""What is proposed for an agent, and what has become of a step, by what its row and the journal show."""

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind, OwnerAnnotation
from accelwatch.action.observed import HoldState, Observed
from accelwatch.action.step import (
    Achieved,
    Recovery,
    Refusal,
    RefusalKind,
    Report,
    ReportStatus,
    StartedStep,
    Step,
    Wait,
)
from accelwatch.base.errors import ConfigError
from accelwatch_backendai.api.agents import Agent
from accelwatch_backendai.observed_context import (
    AGENT,
    ANNOTATION,
    GROUP,
    SPARE,
    observed_context_of,
    text_of,
)
from accelwatch_backendai.observer import observed_node
from accelwatch_backendai.recovering import recovered
from accelwatch_backendai.settings.options import BackendAiOptions, GroupOptions
from accelwatch_backendai.tables import PROPOSALS, effects_of

SERVER = {"url": "http://m:8080", "access_key": "AK", "secret_key_file": "/k"}
OPTIONS = msgspec.convert(
    {"server": SERVER, "groups": {"default": {"spares": "spare"}, "big": {"spares": "big-spare"}}},
    BackendAiOptions,
)
MARK = OwnerAnnotation("i1", 2)
BAD = Agent(
    id="i-bad",
    status="ALIVE",
    resource_group="default",
    capacity={"cpu": 64.0, "mem": 1000.0, "cuda.device": 8.0},
    occupied={"cpu": 8.0, "mem": 500.0, "cuda.device": 8.0},
)
FREE = Agent(
    id="i-spare",
    status="ALIVE",
    resource_group="spare",
    capacity={"cpu": 64.0, "mem": 990.0, "cuda.device": 8.0},
    occupied={"cuda.device": 0.0},
)
replace = msgspec.structs.replace


def intent(kind: IntentKind, **more: object) -> Intent:
    return msgspec.structs.replace(Intent(kind=kind, mark=MARK, node="i-bad", deadline=9e9), **more)


def observed(
    agent: Agent | None = BAD,
    annotation: OwnerAnnotation | None = None,
    spare: Agent | None = None,
    time: float = 1000.0,
) -> Observed:
    own = {AGENT: text_of(agent), ANNOTATION: text_of(annotation), SPARE: text_of(spare)}
    return Observed(time=time, own=own)


def proposed(kind: IntentKind, seen: Observed, **more: object) -> object:
    return PROPOSALS[kind](intent(kind, **more), observed_context_of(seen, OPTIONS))


CLOSED = replace(BAD, schedulable=False)


def test_an_open_agent_is_made_unschedulable() -> None:
    step = proposed(IntentKind.QUARANTINE, observed())
    assert isinstance(step, Step)
    assert step.original, "what tells the journal later that the hold is ours"


def test_a_lost_agent_is_made_unschedulable_too() -> None:
    assert isinstance(proposed(IntentKind.QUARANTINE, observed(replace(BAD, status="LOST"))), Step)


def test_what_the_journal_does_not_know_is_somebody_elses() -> None:
    refusal = proposed(IntentKind.QUARANTINE, observed(CLOSED))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.FOREIGN
    assert isinstance(proposed(IntentKind.RELEASE, observed(CLOSED)), Achieved)


def test_our_own_hold_is_enough_for_every_incident() -> None:
    assert isinstance(proposed(IntentKind.QUARANTINE, observed(CLOSED, MARK)), Achieved)
    other = OwnerAnnotation("i0", 1)
    assert isinstance(proposed(IntentKind.QUARANTINE, observed(CLOSED, other)), Achieved)


@pytest.mark.parametrize("other", [OwnerAnnotation("i0", 1), OwnerAnnotation("i1", 3)])
def test_a_hold_of_another_incident_or_a_newer_engine_is_not_given_back(
    other: OwnerAnnotation,
) -> None:
    refusal = proposed(IntentKind.RELEASE, observed(CLOSED, other))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.FOREIGN


def test_our_hold_is_given_back_and_then_it_is_done() -> None:
    assert isinstance(proposed(IntentKind.RELEASE, observed(CLOSED, MARK)), Step)
    assert isinstance(proposed(IntentKind.RELEASE, observed(BAD, MARK)), Achieved)
    assert isinstance(proposed(IntentKind.RELEASE, observed(None)), Achieved)


def test_an_agent_that_is_not_there_cannot_be_taken_out() -> None:
    refusal = proposed(IntentKind.QUARANTINE, observed(None))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IMPOSSIBLE


@pytest.mark.parametrize(
    ("agent", "annotation", "state"),
    [
        (BAD, None, HoldState.OPEN),
        (BAD, MARK, HoldState.OPEN),
        (CLOSED, MARK, HoldState.OURS),
        (CLOSED, None, HoldState.FOREIGN),
        (replace(BAD, status="LOST"), None, HoldState.OPEN),
    ],
)
def test_whose_an_agent_is(
    agent: Agent, annotation: OwnerAnnotation | None, state: HoldState
) -> None:
    node = observed_node(agent, annotation)
    assert node.hold_state is state
    assert (node.annotation == MARK) == (state is HoldState.OURS)
    assert node.pools == ("default",)


@pytest.mark.parametrize(
    ("status", "answers"),
    [("ALIVE", True), ("LOST", False), ("TERMINATED", False), ("RESTARTING", None)],
)
def test_whether_an_agent_answers(status: str, answers: bool | None) -> None:
    assert observed_node(replace(BAD, status=status), None).answering is answers


def drawn(spare: Agent | None, bad: Agent | None = BAD, group: str = "", **more: object) -> object:
    seen = observed(bad, spare=spare)
    seen = replace(seen, own={**seen.own, GROUP: group})
    return proposed(IntentKind.DRAW_SPARE, seen, spare="i-spare", **more)


def test_a_spare_is_moved_into_the_group_of_the_bad_agent() -> None:
    step = drawn(FREE)
    assert isinstance(step, Step)
    assert step.arguments == {"agent": "i-spare", "group": "default"}
    assert step.original == {"group": "spare", "drawn to": "default"}
    moved = replace(FREE, resource_group="default")
    assert isinstance(drawn(moved, original=step.original), Achieved)
    refusal = drawn(moved)
    assert isinstance(refusal, Refusal), "a person has put it there"
    assert refusal.kind is RefusalKind.FOREIGN


def test_a_spare_is_moved_into_the_group_of_the_job() -> None:
    """A person may have moved the bad agent out of it meanwhile."""
    step = drawn(FREE, replace(BAD, resource_group="workshop"), group="default")
    assert isinstance(step, Step)
    assert step.arguments["group"] == "default"
    refusal = drawn(FREE, group="big")
    assert isinstance(refusal, Refusal), "the spare of another group"
    assert refusal.kind is RefusalKind.FOREIGN


@pytest.mark.parametrize(
    ("spare", "kind"),
    [
        (None, RefusalKind.IMPOSSIBLE),
        # Another group's spare.
        (replace(FREE, resource_group="big-spare"), RefusalKind.FOREIGN),
        (replace(FREE, status="LOST"), RefusalKind.IMPOSSIBLE),
        (replace(FREE, schedulable=False), RefusalKind.FOREIGN),
        (replace(FREE, occupied={"cpu": 1.0}), RefusalKind.FOREIGN),
        (replace(FREE, capacity={**FREE.capacity, "cuda.device": 4.0}), RefusalKind.IMPOSSIBLE),
        (replace(FREE, capacity={**FREE.capacity, "mem": 499.0}), RefusalKind.IMPOSSIBLE),
    ],
)
def test_a_spare_that_does_not_fit_is_not_drawn(spare: Agent | None, kind: RefusalKind) -> None:
    refusal = drawn(spare)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is kind


def test_a_group_without_spares_of_its_own_has_none() -> None:
    refusal = drawn(FREE, replace(BAD, resource_group="lab"))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IMPOSSIBLE
    assert isinstance(drawn(FREE, None), Refusal)


def returned(spare: Agent | None, **original: str) -> object:
    return proposed(
        IntentKind.RETURN_SPARE, observed(spare=spare), spare="i-spare", original=original
    )


def test_a_spare_goes_back_when_it_is_idle() -> None:
    used = replace(FREE, resource_group="default")
    step = returned(used)
    assert isinstance(step, Step)
    assert step.arguments["group"] == "spare"
    assert isinstance(returned(replace(used, occupied={"cpu": 1.0})), Wait)
    assert isinstance(returned(replace(used, status="LOST")), Wait)
    assert isinstance(returned(FREE), Achieved)
    assert isinstance(returned(None), Achieved)


# Of a draw: the group has other spares in the configuration by now.
DRAWN = {"group": "old-spare", "drawn to": "default"}


def test_a_spare_goes_back_to_the_group_that_it_was_drawn_from() -> None:
    step = returned(replace(FREE, resource_group="default"), **DRAWN)
    assert isinstance(step, Step)
    assert step.arguments["group"] == "old-spare"
    assert isinstance(returned(replace(FREE, resource_group="old-spare"), **DRAWN), Achieved)


@pytest.mark.parametrize("group", ["big", "big-spare", "spare", "lab"])
def test_a_drawn_spare_that_a_person_has_moved_on_is_left_there(group: str) -> None:
    refusal = returned(replace(FREE, resource_group=group), **DRAWN)
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.FOREIGN


def test_a_spare_that_somebody_else_has_moved_is_left_there() -> None:
    refusal = returned(replace(FREE, resource_group="lab"))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.FOREIGN


UNKNOWN = Report(status=ReportStatus.UNKNOWN)


def became(
    step: object, seen: Observed, report: Report | None = None, started: float | None = 990.0
) -> Recovery:
    assert isinstance(step, Step)
    started_step = StartedStep(step=step, started=started, report=report)
    return recovered(
        started_step, effects_of(OPTIONS)[step.kind], observed_context_of(seen, OPTIONS)
    )


def test_what_was_not_answered_may_still_come() -> None:
    step = proposed(IntentKind.QUARANTINE, observed())
    assert became(step, observed(CLOSED, MARK)) is Recovery.DONE
    assert became(step, observed(), UNKNOWN) is Recovery.UNKNOWN
    assert became(step, observed(time=1100.0), UNKNOWN) is Recovery.REDO
    assert became(step, observed(), Report(status=ReportStatus.RETRY)) is Recovery.REDO
    assert became(step, observed(), started=None) is Recovery.REDO
    assert became(step, observed(), Report(status=ReportStatus.DONE)) is Recovery.REDO


def test_a_release_is_done_when_the_hold_is_no_longer_ours() -> None:
    step = proposed(IntentKind.RELEASE, observed(CLOSED, MARK))
    assert became(step, observed()) is Recovery.DONE
    assert became(step, observed(CLOSED)) is Recovery.DONE, "a person's by now"
    assert became(step, observed(None)) is Recovery.DONE
    assert became(step, observed(CLOSED, MARK)) is Recovery.UNKNOWN


def test_a_spare_is_drawn_when_it_is_in_its_group() -> None:
    step = drawn(FREE)
    moved = replace(FREE, resource_group="default")
    assert became(step, observed(spare=moved)) is Recovery.DONE
    assert became(step, observed(spare=FREE)) is Recovery.UNKNOWN
    assert became(step, observed(spare=FREE, time=1100.0)) is Recovery.REDO
    assert became(step, observed()) is Recovery.UNKNOWN, "nobody has looked"


def test_spares_must_not_be_in_a_group_with_spares() -> None:
    groups = {"a": GroupOptions(spares="b"), "b": GroupOptions(spares="c")}
    with pytest.raises(ConfigError, match=r"groups\.a\.spares"):
        BackendAiOptions(server=OPTIONS.server, groups=groups)


def test_a_power_switch_needs_its_proof() -> None:
    with pytest.raises(ConfigError, match="power_state"):
        BackendAiOptions(server=OPTIONS.server, power_off=["/usr/bin/off", "{node}"])
