"""Which step leads to a node on which provably nothing of a session runs. Pure.

Two proofs count: its agent answers, and says of each kernel itself when it has ended; or the site's own
command says that the machine has no power. An agent that is LOST proves nothing: its sessions stay
RUNNING in the manager's rows (26.9), and their processes may go on computing. Time proves nothing
either: an agent that comes back ends what the manager has given up meanwhile 10 to 15 minutes later.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.sessions import steps

# Between polls of what comes about by itself: agents report every 3 s, and are LOST after 40 s without.
_POLL_S = 2.0


def propose_fence(intent: Intent, context: ObservedContext) -> Proposal:
    """Prove that nothing runs there: by the agent, or by the power switch."""
    agent = context.agent
    if intent.node in context.off:
        return Achieved(f"nothing runs on {intent.node}: its power is off")
    if agent is None:
        text = (
            f"Backend.AI knows no agent {intent.node}, and nothing proves that its machine is off"
        )
        return Refusal(RefusalKind.UNSAFE, text)
    if agent.alive:
        text = f"{agent.id} answers: only the sessions that the manager shows run there"
        return Achieved(text)
    if agent.status == "RESTARTING":
        return Wait(_POLL_S, f"{agent.id} is being restarted")
    if context.hold_state is not HoldState.OURS:
        text = f"{agent.id} is not held by us any more, and does not answer"
        return Refusal(RefusalKind.FOREIGN, text)
    if intent.fenced_by_job:
        return Achieved(f"{agent.id} is held; the job itself keeps a second copy from writing")
    if context.options.power_off:
        return Step(
            kind=steps.POWER_OFF, arguments={"node": agent.id}, text=f"power {agent.id} off"
        )
    return Wait(_POLL_S, unproven_text(agent.id))


def unproven_text(agent: str) -> str:
    """Why an agent that is lost is not safe to leave, and what proves it."""
    return (
        f"unsafe: {agent} is lost, and nothing proves that its sessions have ended: "
        "power it off, or bring its agent back"
    )
