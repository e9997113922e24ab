"""What a hub does about incidents, as a dashboard sees it: what comes next on a node, in words.

The structs are those of the hub's own pages.
"""

from collections.abc import Coroutine, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import msgspec

from accelwatch.fleet.picture.incidents import seconds_of
from accelwatch.schema.timestamps import timestamp

if TYPE_CHECKING:
    from accelwatch.alerting.evaluation.documents import IncidentDocument
    from accelwatch.fleet.documents.remedies import Commanded, RemediesPage, RemedyDocument
    from accelwatch.remediation.policy.plan.model import Plan
    from accelwatch.remediation.policy.state.node_tests import VerificationResult

# Words to a hub that are about all nodes.
STOP, START, RESET_BREAKER = "stop", "start", "reset_breaker"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says to a hub."""

    # `approve`, `deny`, `hold` ... of a node, or one of those about all.
    verb: str
    node: str = ""
    reason: str
    # How long a no or a hold counts, such as `4h`.
    lasts: str = ""
    # Digest of the plan that is approved.
    plan: str = ""


class RemedySource(Protocol):
    """A dashboard's source of remedies, and its way to send commands. Nothing blocks the event loop."""

    def page(self) -> "RemediesPage | None":
        """The newest; None until the hub has sent one."""
        ...

    def problem(self) -> str:
        """Why there is nothing new, on one line; empty while there is."""
        ...

    def plan(self, node: str) -> "Coroutine[None, None, Plan]":
        """What would be done for a node now. Raises AccelwatchError."""
        ...

    def send_command(self, command: Command) -> "Coroutine[None, None, Commanded]":
        """Say it; it counts when this returns.

        Raises AccelwatchError when it was refused, UncertainError when it is unknown whether it counts.
        """
        ...


# What is on its way, by the kind of intent.
_DESIRED: Mapping[str, str] = MappingProxyType(
    {
        "quarantine": "is taken out of the pool",
        "signal_job": "its jobs get a checkpoint signal",
        "fence": "nothing may run there any more",
        "swap_in_job": "its jobs continue without it",
        "move_job": "its jobs are moved",
        "draw_spare": "a spare is drawn",
        "reset_device": "a device is reset",
        "reboot": "reboots",
        "power_cycle": "is switched off and on",
        "test": "is tested",
        "service": "a ticket is opened",
        "release": "is given back",
    }
)
# What a stage waits for when nothing else is known, and what its clock leads to.
_STAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "suspect": ("to be decided", "decided"),
        "suppressed": ("no remedy acts on it now", "checked again"),
        "awaiting_approval": ("your yes or no", "runs out"),
        "unreachable": ("waits for its answer", "acted on"),
        "quarantining": ("is taken out of the pool", "due"),
        "held_by_other": ("its holder must return it", "checked again"),
        "quarantined": ("what is next is decided", "decided"),
        "fencing": ("nothing may run there any more", "due"),
        "draining": ("its jobs leave", "people are notified"),
        "remediating": ("is mended", "due"),
        "verifying": ("is given back when it looks well", "people are notified"),
        "releasing": ("is given back", "due"),
        "probation": ("watched", "over"),
        "service": ("only a repair helps", "due"),
        "failed": ("a person has to look", "tried again"),
        "unknown": ("unknown whether it was done: check, then retry", "due"),
        "overridden": ("left alone, a person undid it", "ends"),
    }
)


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """What comes next on a node."""

    # `awaiting approval`.
    stage: str
    text: str
    # What happens when the clock runs out: `tried again`.
    on_timeout: str = ""
    # Unix seconds at which it does; 0 where there is no clock.
    at: float = 0.0
    # Whether something stands in the way.
    blocked: bool = False


def next_step(remedy: "RemedyDocument") -> NextStep:
    """What stands in the way, else what is on its way, else what the stage waits for."""
    stage = remedy.stage.replace("_", " ")
    usual, on_timeout = _STAGES.get(remedy.stage, ("", "due"))
    desired = _DESIRED.get(remedy.intent, "")
    text = remedy.trouble or remedy.blocked_by
    awaits_approval = remedy.stage == "awaiting_approval"
    if awaits_approval or not text:
        text = (
            usual if awaits_approval else ": ".join(filter(None, (desired, remedy.doing))) or usual
        )
    if remedy.latest_test and remedy.latest_test not in text:
        text = f"{text} (latest test: {remedy.latest_test})"
    return NextStep(
        stage=stage,
        text=text,
        on_timeout=on_timeout,
        at=seconds_of(remedy.due),
        blocked=bool(remedy.blocked_by) and not awaits_approval,
    )


def result_text(result: "VerificationResult") -> str:
    """What a test of a node came to, what was run, and when."""
    command = f", by {result.command}" if result.command else ""
    return f"{result.text}{command}, at {timestamp(result.time).partition('.')[0]}"


def remedies_of(
    by_node: "Mapping[str, RemedyDocument]", incident: "IncidentDocument"
) -> "list[RemedyDocument]":
    """Those that are about an incident or a member of it, its own node's first."""
    nodes = dict.fromkeys((incident.node, *incident.nodes))
    matches = (by_node[node] for node in nodes if node in by_node)
    ids = {incident.id, *incident.members}
    return [
        remedy
        for remedy in matches
        if remedy.incident in ids or not ids.isdisjoint(remedy.incidents)
    ]


class CommandOutcome(StrEnum):
    """What a person's word has come to."""

    DONE = "done"
    # It changes nothing.
    REFUSED = "refused"
    # Nobody knows whether what is on its way there was done.
    UNKNOWN = "unknown"
    # A person still has to approve.
    NEEDS_APPROVAL = "needs approval"


# Words after which something is expected to go on.
_MOVES = frozenset({"approve", "quarantine", "release", "force_release", "recovered", "retry"})


def outcome_of(verb: str, notes: Iterable[str], stage: str) -> CommandOutcome:
    """From the hub's answer: its notes, and the stage of the node by then; empty where there is none."""
    if any("changes nothing" in text for text in notes):
        return CommandOutcome.REFUSED
    if verb in _MOVES and stage == "unknown":
        return CommandOutcome.UNKNOWN
    if verb in _MOVES and stage == "awaiting_approval":
        return CommandOutcome.NEEDS_APPROVAL
    return CommandOutcome.DONE
