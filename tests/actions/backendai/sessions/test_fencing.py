"""When it is proven that nothing runs on a node: its agent answers, or it has no power."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, OwnerAnnotation
from accelwatch.action.step import Achieved, Refusal, RefusalKind, Step, Wait
from accelwatch_backendai.proposals.fencing import propose_fence
from accelwatch_backendai.tables import effects_of
from support.backendai.moving import OPTIONS, agent, intent, job_context

OURS = OwnerAnnotation("inc-1", 3)
SWITCHED = msgspec.structs.replace(
    OPTIONS, power_off=["/bin/off", "{node}"], power_state=["/bin/state", "{node}"]
)


@pytest.mark.parametrize(
    ("status", "schedulable", "held", "off", "by_job", "outcome"),
    [
        ("ALIVE", False, True, (), False, Achieved),
        ("ALIVE", True, False, (), False, Achieved),
        ("LOST", False, True, ("gpu1",), False, Achieved),
        ("LOST", False, False, ("gpu1",), False, Achieved),
        ("LOST", False, True, ("gpu2",), False, Wait),
        ("LOST", False, True, (), False, Wait),
        ("LOST", False, True, (), True, Achieved),
        ("LOST", True, True, (), True, Refusal),
        ("LOST", False, False, (), True, Refusal),
        ("TERMINATED", False, True, (), False, Wait),
        ("RESTARTING", False, True, (), True, Wait),
    ],
)
def test_a_silent_agent_is_fenced_by_power_or_by_the_job(
    status: str, schedulable: bool, held: bool, off: tuple[str, ...], by_job: bool, outcome: type
) -> None:
    context = job_context(
        agent=agent("gpu1", status=status, schedulable=schedulable),
        annotation=OURS if held else None,
        off=off,
    )
    proposal = propose_fence(intent(IntentKind.FENCE, fenced_by_job=by_job), context)
    assert isinstance(proposal, outcome)
    if isinstance(proposal, Refusal):
        assert proposal.kind is RefusalKind.FOREIGN


@pytest.mark.parametrize(("off", "outcome"), [((), Refusal), (("gpu1",), Achieved)])
def test_an_agent_that_is_gone_proves_nothing_of_its_machine(
    off: tuple[str, ...], outcome: type
) -> None:
    proposal = propose_fence(intent(IntentKind.FENCE), job_context(off=off))
    assert isinstance(proposal, outcome)
    if isinstance(proposal, Refusal):
        assert proposal.kind is RefusalKind.UNSAFE


@pytest.mark.parametrize(("held", "outcome"), [(True, Step), (False, Refusal)])
def test_only_a_node_that_we_hold_is_powered_off(held: bool, outcome: type) -> None:
    context = job_context(
        agent=agent("gpu1", status="LOST", schedulable=False),
        annotation=OURS if held else None,
        options=SWITCHED,
    )
    proposal = propose_fence(intent(IntentKind.FENCE), context)
    assert isinstance(proposal, outcome)
    if isinstance(proposal, Step):
        assert (proposal.kind, proposal.arguments) == ("power_off", {"node": "gpu1"})


def test_a_node_that_answers_is_not_powered_off() -> None:
    context = job_context(agent=agent("gpu1", schedulable=False), annotation=OURS, options=SWITCHED)
    assert isinstance(propose_fence(intent(IntentKind.FENCE), context), Achieved)


def test_the_command_that_powers_off_may_take_its_time() -> None:
    slow = msgspec.structs.replace(OPTIONS, power_timeout_s=300.0)
    assert effects_of(slow)["power_off"].kind.timeout_s > 300.0
