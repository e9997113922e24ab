"""The nodes that are in use because a test runs on them: its own node, and the peer beside it. Pure."""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.views import CaseView

# Continues the name of such a node, for people.
IN_A_TEST = "takes part in a test"


def nodes_in_tests(ctx: CaseView) -> frozenset[str]:
    """The scheduler's names of all nodes of tests that have not ended, or whose end nobody knows."""
    state = ctx.state
    own = (remedy.pursuing for remedy in state.remedies.values())
    intents = (*own, *state.chores.values(), *state.lingering.values())
    tests = [intent for intent in intents if intent is not None and intent.kind is Kind.TEST]
    return frozenset(name for test in tests for name in (test.node, test.peer) if name)
