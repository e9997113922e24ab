"""Why nothing is heard of a node, and what a person can do about it, from what the hub tells. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.fleet.follow.faults import Reason

_REMEDIES: dict[str, str] = {
    Reason.DNS: "check the name in the targets, and that the hub's machine can resolve it",
    Reason.CONNECT: "see that the node is on, that its agent runs (systemctl status accelwatch-agent)"
    " and that no firewall is between the hub and it",
    Reason.TLS: "check the certificate and its names, and the authority that the hub is given for it",
    Reason.TIMEOUT: "see that the node and the network are not overloaded; its agent took too long",
    Reason.CREDENTIALS: "check the token or password that the hub sends against the agent's",
    Reason.BUSY: "its agent has too many clients: let fewer ask it, or less often",
    Reason.REDIRECT: "write the address that it leads to into the targets",
    Reason.STATUS: "see what listens there: it answers, but not as an exporter does",
    Reason.TOO_LARGE: "see what listens there: its answer is longer than any exporter's",
    Reason.GARBAGE: "see what listens there: it answers, but with nothing that is known",
    Reason.CLOSED: "look into its agent's log: it has ended the connection",
}
_UNKNOWN = "see that the node is on, and that its agent runs (systemctl status accelwatch-agent)"
FORGOTTEN = "it is no target any more: see the targets that the hub is given"
NO_HUB = "see that the hub runs, and that it can be reached from here"


class Fault(msgspec.Struct, frozen=True):
    """Why a target could not be read."""

    reason: str = ""
    message: str = ""


class Target(msgspec.Struct, frozen=True):
    """What is needed of a target of a node."""

    fault: Fault | None = None


def told(node: str, state: str, targets: Sequence[Target]) -> tuple[str, str]:
    """(what is wrong with a silent node, what to do), for a person."""
    fault = next((one.fault for one in targets if one.fault is not None), None)
    if fault is None or not fault.message:
        return f"{node} is {state}", _UNKNOWN
    return f"{node} is {state}: {fault.message}", _REMEDIES.get(fault.reason, _UNKNOWN)
