"""What a scheduler says to a drain stands in the plan; what it does not say is reported, too."""

import asyncio
from collections.abc import Sequence
from typing import cast

import msgspec
import pytest

from accelwatch.action.contract import Action, ActionUnavailableError
from accelwatch.base.clock import ManualClock
from accelwatch.fleet.remedies.previewing import drain_preview
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.settings import RemedySettings
from remediation.fake_scheduler import FakeAction, FakeScheduler

NOW = 1_800_000_000.0


class Previewing:
    """An action that can ask its scheduler."""

    def __init__(self, answer: Sequence[str] | Exception) -> None:
        self.answer = answer
        self.requests: list[tuple[str, str]] = []

    async def preview(self, node: str, device: str) -> Sequence[str]:
        self.requests.append((node, device))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def previewed(action: object) -> tuple[str, ...]:
    state = RemedyState()
    world = msgspec.structs.replace(state.world, shown_by={"n1": "cluster"})
    state = msgspec.structs.replace(state, world=world)
    ctx = StepContext(state, RemedySettings(), NOW)
    return asyncio.run(drain_preview(ctx, "n1", {"cluster": cast("Action", action)}))


def test_the_scheduler_of_the_node_is_queried() -> None:
    action = Previewing(["2 pods would be evicted"])
    assert previewed(action) == ("2 pods would be evicted",)
    assert action.requests == [("n1", "")]


@pytest.mark.parametrize(
    ("error", "why"),
    [(ActionUnavailableError("refused"), "refused"), (TimeoutError(), "no answer within 10 s")],
)
def test_what_it_does_not_say_is_reported(error: Exception, why: str) -> None:
    assert previewed(Previewing(error)) == (f"it is not known what cluster would refuse: {why}",)


def test_an_action_without_a_query_says_nothing() -> None:
    assert previewed(FakeAction(FakeScheduler(ManualClock(), ["n1"]))) == ()
