"""Where `accelwatch check` looks: at what this machine's agent knows, or at the devices."""

import http.client
import socket
import time
from collections.abc import Iterable

import msgspec

from accelwatch.agent.rules.counts import DeviceCounts, count_devices, is_silent
from accelwatch.agent.rules.own_health import unhealthy_devices
from accelwatch.agent.rules.snapshot_check import Finding, check_snapshot, concerned
from accelwatch.alerting.evaluation.documents import DeviceNote, IncidentDocument, IncidentsPage
from accelwatch.alerting.rules.document import Severity
from accelwatch.alerting.rules.loading.rule_files import RuleFiles
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.check.check_report import Report, Status
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import counted
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import BackendState, Snapshot, physical_devices

MOST_BYTES = 32 << 20
# How many of the rules that one reading cannot evaluate are named.
_SHOWN = 3
# Verdicts of an agent that has not judged for longer count for nothing.
_OLDEST_S = 10.0


class AgentSilent(AccelwatchError):  # noqa: N818 - a state of the agent, not a mistake
    """No usable answer within the time."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def fetch(address: str, path: str, timeout_s: float) -> bytes:
    """A page of an agent at `host:port` or a socket's path. Raises AgentSilent."""
    until = time.monotonic() + timeout_s
    connection: http.client.HTTPConnection
    if address.startswith("/"):
        connection = _UnixConnection(address, timeout_s)
    else:
        connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise AgentSilent(f"the agent at {address} answers {answer.status}")
        body = bytearray()
        while piece := answer.read1(1 << 16):
            body += piece
            if len(body) > MOST_BYTES or time.monotonic() > until:
                raise AgentSilent(f"the agent at {address} takes too long")
        return bytes(body)
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = getattr(error, "strerror", None) or error
        raise AgentSilent(f"no agent answers at {address}: {why}") from None
    finally:
        connection.close()


def of_incidents(page: bytes) -> Report:
    """What an agent with rules says. Raises AgentSilent for what cannot be relied on."""
    try:
        reply = msgspec.json.decode(page, type=IncidentsPage)
        findings = tuple(map(_of_incident, reply.incidents))
    except (*DECODE_ERRORS, ValueError) as error:
        raise AgentSilent(f"the agent's incidents cannot be read: {error}") from None
    age, interval_s, node = reply.evaluated_age_s, reply.interval_s, reply.node
    if age is None or interval_s is None or age > max(_OLDEST_S, 5 * interval_s):
        raise AgentSilent("the agent does not evaluate its rules")
    if node is None:
        raise AgentSilent("the agent's incidents cannot be read: they name no node")
    devices = DeviceCounts(
        total=node.devices, lost=node.lost, silent=node.silent, unread=node.unread
    )
    report = Report(
        host=node.host,
        source="incidents of the agent",
        devices=devices,
        rules=reply.rules,
        findings=findings,
        problems=reply.problems,
    )
    report = _with_health(report, node.unhealthy)
    for why in node.unusable:
        report = _blinded(report, f"backend {why}")
    if devices.lost and report.status is not Status.CRITICAL:
        verb = "is" if devices.lost == 1 else "are"
        title = f"{counted(devices.lost, 'device')} {verb} lost"
        lost = Finding(severity=Severity.CRITICAL, title=title)
        report = msgspec.structs.replace(report, findings=(*report.findings, lost))
    if devices.silent:
        report = _blinded(report, f"{counted(devices.silent, 'device')} without an answer")
    return report if devices.total else _blinded(report, "no accelerator was found")


def _of_incident(incident: IncidentDocument) -> Finding:
    return Finding(
        severity=Severity(incident.severity),
        device=incident.device_name,
        title=incident.title,
        text=incident.evidence[0].text if incident.evidence else "",
        rule=incident.rule,
        what_to_do=incident.what_to_do,
    )


def of_snapshot(snapshot: Snapshot, files: RuleFiles, source: str, *, listened: bool) -> Report:
    """Judge a snapshot once, by the rules that fit what is there. Raises ConfigError."""
    loaded = files.rules(concerned=concerned(snapshot))
    outcome = check_snapshot(snapshot, loaded, listened=listened)
    views = physical_devices(snapshot.devices)
    critical_devices = {
        finding.device for finding in outcome.findings if finding.severity is Severity.CRITICAL
    }
    lost = tuple(
        Finding(severity=Severity.CRITICAL, device=view.device.name, title="the device is lost")
        for view in views
        if view.state is DeviceState.LOST and view.device.name not in critical_devices
    )
    notes: list[str] = []
    if outcome.pending:
        notes.append(f"holds now, counts only after its `for`: {', '.join(outcome.pending)}")
    if outcome.unknown:
        shown = ", ".join(outcome.unknown[:_SHOWN])
        remaining = len(outcome.unknown) - _SHOWN
        more = f" and {remaining} more (--json names them)" if remaining > 0 else ""
        notes.append(f"not evaluated (needs history): {shown}{more}")
    report = Report(
        host=snapshot.host,
        source=source,
        devices=count_devices(snapshot),
        rules=len(loaded.rules),
        findings=(*outcome.findings, *lost),
        blind=tuple(
            f"{view.device.name}: {'; '.join(view.health_reasons) or 'does not answer'}"
            for view in views
            if is_silent(view)
        ),
        notes=tuple(notes),
        unknown=outcome.unknown,
    )
    report = _with_health(report, unhealthy_devices(snapshot))
    for status in snapshot.backends:
        if status.state not in (BackendState.OK, BackendState.ABSENT):
            report = _blinded(report, f"backend {status.name}: {status.message or status.state}")
    return report if views else _blinded(report, "no accelerator was found")


_SEVERITY = {Health.FAILED: Severity.CRITICAL, Health.DEGRADED: Severity.WARNING}


def _with_health(report: Report, unhealthy: Iterable[DeviceNote]) -> Report:
    """With each device that calls itself failed or degraded, where no rule says as much of it."""
    weights: dict[str, int] = {}
    for finding in report.findings:
        weights[finding.device] = max(weights.get(finding.device, 0), finding.severity.weight)
    more = tuple(
        Finding(
            severity=_SEVERITY[Health(note.health)],
            device=note.name,
            title=f"health is {note.health}",
            text=note.text,
            what_to_do=note.what_to_do,
        )
        for note in unhealthy
        if weights.get(note.name, 0) < _SEVERITY[Health(note.health)].weight
    )
    return msgspec.structs.replace(report, findings=(*report.findings, *more))


def _blinded(report: Report, why: str) -> Report:
    return msgspec.structs.replace(report, blind=(*report.blind, why))


def expecting(report: Report, count: int) -> Report:
    """With the number of devices that there must be."""
    counts = report.devices
    if counts.total != count:
        title = f"{counts.total} devices, {count} expected"
    elif counts.unread:
        read = count - counts.unread - counts.lost - counts.silent
        title = f"{read} of {count} devices can be read; {counts.unread} on the bus cannot"
    else:
        left = tuple(text for text in report.blind if text != "no accelerator was found")
        return msgspec.structs.replace(report, blind=left)
    short = Finding(severity=Severity.CRITICAL, title=title)
    return msgspec.structs.replace(report, findings=(*report.findings, short))
