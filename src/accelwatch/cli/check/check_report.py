"""What `accelwatch check` says: a line for Nagios, a reason for Slurm, or JSON; and its exit code."""

from enum import IntEnum

import msgspec

from accelwatch.agent.rules.counts import DeviceCounts
from accelwatch.agent.rules.snapshot_check import Finding
from accelwatch.alerting.rules.document import Severity
from accelwatch.base.untrusted_text import escaped

SCHEMA = "accelwatch.check/1"
# A reason that is longer is cut (Slurm keeps more, its tables show less).
SLURM_BYTES = 200


class Status(IntEnum):
    """The exit codes of a Nagios plug-in (nagios-plugins.org/doc/guidelines.html)."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How the node is."""

    host: str = ""
    source: str = ""
    devices: DeviceCounts = DeviceCounts()
    rules: int = 0
    findings: tuple[Finding, ...] = ()
    # Why the node's health is unknown.
    blind: tuple[str, ...] = ()
    # Of the agent itself, such as rules that it cannot read.
    problems: tuple[str, ...] = ()
    # For the caller: what was read, and what was not evaluated.
    notes: tuple[str, ...] = ()
    # Rules that one reading cannot evaluate.
    unknown: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """The worst; an unknown health is worse than a warning."""
        severities = {finding.severity for finding in self.findings}
        if Severity.CRITICAL in severities:
            return Status.CRITICAL
        if self.blind:
            return Status.UNKNOWN
        return Status.WARNING if Severity.WARNING in severities else Status.OK

    @property
    def causes(self) -> list[str]:
        """What the status rests on, the worst first."""
        ordered = sorted(self.findings, key=lambda finding: -finding.severity.weight)
        loud = [
            _finding_text(finding) for finding in ordered if finding.severity is not Severity.INFO
        ]
        critical = sum(finding.severity is Severity.CRITICAL for finding in self.findings)
        return [*loud[:critical], *self.blind, *loud[critical:]]


def nagios(report: Report, *, verbose: bool = False) -> str:
    """A line with performance data, then one for each finding; of a healthy node the first alone."""
    causes = report.causes
    many = f"; {len(causes) - 1} more" if len(causes) > 1 else ""
    summary = f" {causes[0]}{many}" if causes else f": {_healthy(report)}"
    counts = report.devices
    data = f"devices={counts.total} lost={counts.lost} silent={counts.silent}"
    lines = [f"ACCELWATCH {report.status.name} - {_plain(report.host + summary)} | {data}"]
    ordered = sorted(report.findings, key=lambda finding: -finding.severity.weight)
    lines += [
        f"[{finding.severity.value}] {_plain(_finding_text(finding))} {finding.rule}"
        for finding in ordered
    ]
    # A single reason stands in the first line already.
    blind = report.blind if len(causes) > 1 else ()
    lines += [_plain(text) for text in (*blind, *report.problems)]
    if verbose:
        lines += [_plain(note) for note in report.notes]
        lines += [f"source: {_plain(report.source)}"] if report.source else []
    return "\n".join(line.rstrip() for line in lines) + "\n"


def slurm(report: Report) -> str:
    """A reason of at most 200 ASCII characters; nothing when there is none."""
    if not report.causes:
        return ""
    text = _plain("; ".join(report.causes)).encode("ascii", "replace").decode()
    reason = f"accelwatch: {text}".replace('"', "'")
    return (reason if len(reason) <= SLURM_BYTES else reason[: SLURM_BYTES - 3] + "...") + "\n"


def document(report: Report) -> bytes:
    """As JSON."""
    fields = {
        "schema": SCHEMA,
        "status": report.status.name.lower(),
        "exit_code": int(report.status),
        **msgspec.to_builtins(report),
    }
    return msgspec.json.encode(fields) + b"\n"


def _healthy(report: Report) -> str:
    return f"{report.devices.total} devices, {report.rules} rules"


def _finding_text(finding: Finding) -> str:
    where = f"{finding.device}: " if finding.device else ""
    return f"{where}{finding.title}" + (f" ({finding.text})" if finding.text else "")


def _plain(text: str) -> str:
    """One line without what ends the text of a plug-in."""
    return escaped(" ".join(text.split()).replace("|", "/"))
