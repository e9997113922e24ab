"""What would have to run on the node that it takes down."""

import pytest

from accelwatch.action.contract import ActionContext
from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import Observed
from accelwatch.action.step import Refusal, RefusalKind
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.access.permissions import NEEDED
from support.kubernetes.nodes import NOW, intent


@pytest.mark.parametrize(
    "kind", [IntentKind.REBOOT, IntentKind.RESET_DEVICE, IntentKind.POWER_CYCLE, IntentKind.TEST]
)
def test_trap_23_no_pod_of_ours_reboots_or_resets_the_node_that_it_is_on(kind: IntentKind) -> None:
    """A pod that reboots its node ends with it, and starts again after it: who reboots is outside."""
    server = {"api_server": "https://127.0.0.1:1"}
    action = KubernetesAction(ActionContext(name="cluster", options={"server": server}))
    assert kind not in action.intents
    refusal = action.propose(intent(kind), Observed(time=NOW))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IMPOSSIBLE
    created = {(entry.resource, entry.subresource) for entry in NEEDED if entry.verb == "create"}
    assert created == {("pods", "eviction")}
