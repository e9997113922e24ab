"""The proof that a node of the hub and a node of the scheduler are one machine. Pure.

A name proves nothing: it is a label here and a line of a file there. The host name that the machine
itself reports must be the one by which the scheduler reaches it, and something must be equal that no
other machine has: boot id, the system's uuid, or the boot time where a scheduler reports nothing better.
A pair that a person configured is believed unless both report boots that differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind

# Both sides count the boot back from now, in whole seconds.
BOOT_TIME_APART_S = 3.0


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the hub, and what its agent reports of the machine."""

    # The hub's name.
    node: str
    host: str = ""
    boot_id: str = ""
    system_uuid: str = ""
    # Unix seconds, on the node's own clock.
    boot_time: float | None = None


class ProofKind(StrEnum):
    """What proves it."""

    MAP = "map"
    BOOT_ID = "boot_id"
    SYSTEM_UUID = "system_uuid"
    BOOT_TIME = "boot_time"


class Proof(msgspec.Struct, frozen=True, kw_only=True, tag="proof"):
    """They are one machine."""

    # The hub's name.
    node: str
    # The scheduler's.
    name: str
    kind: ProofKind


def prove(
    machine: Machine,
    machines: Iterable[Machine],
    scheduler_nodes: Sequence[NodeObservation],
    mapped: Mapping[str, str],
) -> Proof | Denial:
    """The scheduler's node that a node of the hub is, or what is missing to be sure.

    `machines` are all nodes of the hub, `scheduler_nodes` all of the scheduler; `mapped` is
    `remedy.nodes`.
    """
    # A person's map comes first: it is written where names cannot be proven.
    if machine.node in mapped:
        return _by_map(machine, mapped[machine.node], scheduler_nodes)
    if not machine.host:
        return _denial(machine, "no accelwatch agent reports its host name")
    named = [
        node for node in scheduler_nodes if _same_host(machine.host, node.address or node.name)
    ]
    if not named:
        return _denial(machine, f"the scheduler reaches no node by its host name {machine.host}")
    if len(named) > 1:
        names = ", ".join(sorted(node.name for node in named))
        return _denial(machine, f"the scheduler has several nodes on {machine.host}: {names}")
    (candidate,) = named
    # Two nodes of the hub must not act on one node of the scheduler.
    if candidate.name in mapped.values():
        return _denial(machine, f"{candidate.name} stands for another node in remedy.nodes")
    # Two agents with one host name: a copied image, or one machine under two names. Nobody knows
    # which of them is the scheduler's node.
    others = [
        other.node for other in machines if other.node != machine.node and _alike(other, machine)
    ]
    if others:
        return _denial(
            machine, f"{', '.join(sorted(others))} reports the identity of the same machine"
        )
    if machine.node != candidate.name and any(
        node.name == machine.node for node in scheduler_nodes
    ):
        text = f"its host name is {machine.host}, and the scheduler has another {machine.node}"
        return _denial(machine, text)
    return _by_boot(machine, candidate)


def _by_map(
    machine: Machine, name: str, scheduler_nodes: Sequence[NodeObservation]
) -> Proof | Denial:
    candidate = next((node for node in scheduler_nodes if node.name == name), None)
    if candidate is None or candidate.hold_state is HoldState.MISSING:
        return _denial(
            machine, f"remedy.nodes says it is {name}, which the scheduler does not know"
        )
    if machine.boot_id and candidate.boot_id and not _same(machine.boot_id, candidate.boot_id):
        return _denial(machine, f"remedy.nodes says it is {name}, but their boot ids differ")
    return Proof(node=machine.node, name=name, kind=ProofKind.MAP)


def _by_boot(machine: Machine, candidate: NodeObservation) -> Proof | Denial:
    for kind, ours, theirs, label in (
        (ProofKind.BOOT_ID, machine.boot_id, candidate.boot_id, "boot ids"),
        (ProofKind.SYSTEM_UUID, machine.system_uuid, candidate.system_uuid, "system uuids"),
    ):
        if ours and theirs:
            if _same(ours, theirs):
                return Proof(node=machine.node, name=candidate.name, kind=kind)
            return _denial(machine, f"the {label} of it and of {candidate.name} differ")
    if machine.boot_time is None or candidate.boot_time is None:
        whose = "the agent" if machine.boot_time is None else "the scheduler"
        text = f"{whose} reports no boot id, system UUID or boot time that both have"
        return _denial(machine, text)
    apart = abs(machine.boot_time - candidate.boot_time)
    if apart > BOOT_TIME_APART_S:
        return _denial(machine, f"it and {candidate.name} were booted {apart:.0f} s apart")
    return Proof(node=machine.node, name=candidate.name, kind=ProofKind.BOOT_TIME)


def _denial(machine: Machine, text: str) -> Denial:
    hint = f"If you know which it is, write `{machine.node}: NAME` under remedy.nodes"
    return Denial(
        why=DenialKind.IDENTITY,
        text=f"it is not proven which machine {machine.node} is: {text}. {hint}",
    )


def _alike(machine: Machine, other: Machine) -> bool:
    hosts = _same_host(machine.host, other.host)
    boots = bool(machine.boot_id and other.boot_id) and _same(machine.boot_id, other.boot_id)
    return hosts or boots


def _same(first: str, other: str) -> bool:
    return first.casefold().strip() == other.casefold().strip()


def _same_host(host: str, other: str) -> bool:
    """Whether two host names can be of one host: in full, or by the first label of a short one."""
    long, short = sorted(
        (host.casefold().rstrip("."), other.casefold().rstrip(".")), key=len, reverse=True
    )
    if not short:
        return False
    return long == short or ("." not in short and long.partition(".")[0] == short)
