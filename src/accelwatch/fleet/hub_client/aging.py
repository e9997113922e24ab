"""The view of a silent node: its devices, as old as they are, and why. Pure."""

from collections.abc import Sequence

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.version import __version__
from accelwatch.fleet.documents.fleet import TargetNote
from accelwatch.fleet.follow.failures.faults import Reason
from accelwatch.fleet.names import SILENT_SOURCE
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import (
    BackendState,
    BackendStatus,
    DeviceView,
    ReadFailure,
    Snapshot,
)

_REMEDIES: dict[str, str] = {
    Reason.DNS: "check the name in the targets, and that the hub's machine can resolve it",
    Reason.CONNECT: "see that the node is on, that its agent runs (systemctl status accelwatch-agent)"
    " and that no firewall is between the hub and it",
    Reason.TLS: "check the certificate and its names, and the authority that the hub is given for it",
    Reason.TIMEOUT: "see that the node and the network are not overloaded; its agent took too long",
    Reason.CREDENTIALS: "check the token or password that the hub sends against the agent's",
    Reason.BUSY: "its agent has too many clients: let fewer ask it, or less often",
    Reason.REDIRECT: "write the address that it leads to into the targets",
    Reason.STATUS: "something else is listening on that port: it does not answer as an exporter",
    Reason.TOO_LARGE: "something else is listening on that port: its answer is too long for an exporter",
    Reason.GARBAGE: "something else is listening on that port: its answer is in no known format",
    Reason.CLOSED: "look into its agent's log: it has ended the connection",
}
# Of hosts that are reached by ssh.
_BY_SSH: dict[str, str] = {
    Reason.DNS: "check the name, or give it a HostName in ssh's configuration",
    Reason.CONNECT: "see that the host is on, and that its sshd can be reached from the hub",
    Reason.TIMEOUT: "log in by hand: ssh to it from where the hub runs; something there hangs",
    Reason.CREDENTIALS: "give the hub's user a key: ssh-add, or IdentityFile in ssh's configuration",
    Reason.HOST_KEY: "log in by hand once, and look at the key that the host shows",
    Reason.STATUS: "log in by hand: the login shell there does not run commands",
    Reason.NO_SOURCE: "install the command that came with the vendor's driver, or accelwatch, there",
    Reason.TOO_LARGE: "see what is printed there at a login or by the vendor's command",
}
_UNKNOWN_BY_SSH = "log in by hand: ssh to it from where the hub runs, and see what it says"
_UNKNOWN = "see that the node is on, and that its agent runs (systemctl status accelwatch-agent)"
FORGOTTEN = "it is no longer a target; check the hub's targets"
NO_HUB = "see that the hub runs, and that it can be reached from here"


class NodeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The hub's answer about a node."""

    snapshot: Snapshot
    # Monotonic seconds.
    at: float
    # Why its values are not of now; empty when they are.
    silent: str = ""
    # What a person can do about that.
    remedy: str = ""


def aged(snapshot: Snapshot, wall: float, older_s: float) -> Snapshot:
    """The snapshot `older_s` seconds later, with nothing newer."""
    return msgspec.structs.replace(
        snapshot, time=wall, devices=tuple(_older(view, older_s) for view in snapshot.devices)
    )


def silenced(
    snapshot: Snapshot | None,
    node: str,
    trouble: str,
    wall: float,
    older_s: float,
    *,
    remedy: str = "",
) -> Snapshot:
    """The last snapshot `older_s` seconds later: every device stale, for this reason."""
    status = BackendStatus(
        name=SILENT_SOURCE,
        vendor="",
        state=BackendState.UNAVAILABLE,
        reason="stale",
        message=trouble,
        remedy=remedy,
    )
    if snapshot is None:
        return Snapshot(time=wall, host=node, version=__version__, backends=(status,))
    views = tuple(_silenced(view, trouble, older_s) for view in snapshot.devices)
    failures = tuple(
        ReadFailure(
            backend=SILENT_SOURCE, device_id=view.device.id, absence=Absence.STALE, message=trouble
        )
        for view in views
        if view.state is not DeviceState.LOST
    )
    return msgspec.structs.replace(
        snapshot,
        time=wall,
        devices=views,
        node=None if snapshot.node is None else _older(snapshot.node, older_s),
        backends=(*snapshot.backends, status),
        errors=(*snapshot.errors, *failures),
    )


def _silenced(view: DeviceView, trouble: str, older_s: float) -> DeviceView:
    older = _older(view, older_s)
    if view.state is DeviceState.LOST:
        return older
    since = view.state_since if view.sample_time is None else view.sample_time
    return msgspec.structs.replace(
        older,
        state=DeviceState.UNRESPONSIVE,
        state_since=since,
        reading=wholly_absent(view.device.id, Absence.STALE),
        health=Health.UNKNOWN,
        health_reasons=(trouble,),
    )


def _older(view: DeviceView, older_s: float) -> DeviceView:
    age = view.sample_age_s
    return view if age is None else msgspec.structs.replace(view, sample_age_s=age + older_s)


def explain(node: str, state: str, targets: Sequence[TargetNote]) -> tuple[str, str]:
    """(what is wrong with a silent node, what to do), for a person."""
    failing = next((target for target in targets if target.fault is not None), None)
    fault = None if failing is None else failing.fault
    if failing is None or fault is None or not fault.message:
        return f"{node} is {state}", _UNKNOWN
    text = f"{node} is {state}: {fault.message}"
    if failing.address.startswith("ssh://"):
        return text, _BY_SSH.get(fault.reason, _UNKNOWN_BY_SSH)
    return text, _REMEDIES.get(fault.reason, _UNKNOWN)
