"""`accelwatch backends` and `accelwatch doctor`: what was looked for, found, and what to do."""

import os
from typing import Annotated

import click
import msgspec

from accelwatch.backend import Check, Context
from accelwatch.base.durations import deadline
from accelwatch.base.exit_codes import OK
from accelwatch.base.untrusted_text import printable
from accelwatch.cli.options import command
from accelwatch.cli.output import write_stdout
from accelwatch.cli.parameters import option
from accelwatch.node.diagnosis import BackendReport, Diagnosis, Verdict, diagnose, probe_all
from accelwatch.schema.display import counted
from accelwatch.schema.snapshot import BackendState

_JSON = Annotated[bool, option("--json", help="One JSON document.")]
_ALL = Annotated[
    bool,
    option("-a", "--all", help="Also what backends without devices searched for."),
]
_TIMEOUT = Annotated[str, option(metavar="DURATION", help="Deadline of the reading.")]

_ABSENT = {True: "present, not read", False: "not present"}
_VERDICTS = {
    Verdict.FINE: "all that is here can be read",
    Verdict.IMPAIRED: "something that is here cannot be read, or not fully",
    Verdict.BROKEN: "devices are here, and none can be read",
}


def _diagnosis(timeout: str) -> Diagnosis:
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.node.snapshots import read_once

    probed = probe_all(Context(environ=dict(os.environ), one_shot=True))
    snapshot = read_once(CollectSettings(one_shot=True, timeout_s=deadline(timeout)))
    return diagnose(snapshot, probed)


@command
def backends_command(as_json: _JSON = False, timeout: _TIMEOUT = "5s") -> None:
    """List the backends: hardware present, source, versions."""
    diagnosis = _diagnosis(timeout)
    if as_json:
        write_stdout(msgspec.json.encode(diagnosis.backends) + b"\n")
    else:
        write_stdout(
            "".join(f"{printable(_line(report))}\n" for report in diagnosis.backends).encode()
        )
    raise click.exceptions.Exit(OK)


@command
def doctor_command(
    as_json: _JSON = False, everything: _ALL = False, timeout: _TIMEOUT = "5s"
) -> None:
    """Show what is broken and what to do, then what is used; exit 0 fine, 1 impaired, 2 broken."""
    diagnosis = _diagnosis(timeout)
    if as_json:
        write_stdout(msgspec.json.encode(diagnosis) + b"\n")
    else:
        write_stdout(_report(diagnosis, everything=everything).encode())
    raise click.exceptions.Exit(int(diagnosis.verdict))


def _line(report: BackendReport) -> str:
    status = report.status
    if report.problem:
        return f"{report.name:12} cannot be used: {report.problem}"
    if status is None:
        return f"{report.name:12} {_ABSENT[report.present]}"
    versions = " ".join(f"{name} {version}" for name, version in status.versions.items())
    source = f" through {status.source}" if status.source else ""
    trouble = f": {status.message or status.reason}" if status.message or status.reason else ""
    devices = f", {counted(status.devices, 'device')}" if status.devices else ""
    return f"{report.name:12} {status.state}{source}{devices} {versions}".rstrip() + trouble


def _check_lines(checks: tuple[Check, ...], *, advise: bool = True) -> list[str]:
    """Lines of the checks; advice is left out where nothing of the kind is in the machine."""
    lines: list[str] = []
    for check in checks:
        sign = "ok " if check.ok else "-- "
        lines.append(f"    {sign} {check.subject}{': ' + check.found if check.found else ''}")
        if advise and check.remedy and not check.ok:
            lines.append(f"        do: {check.remedy}")
    return lines


def _misspelled(report: BackendReport) -> list[str]:
    return [f"    --  the plug-in: {complaint}" for complaint in report.near_misses]


def _headline(diagnosis: Diagnosis) -> str:
    """What it comes to, in one line."""
    verdict = _VERDICTS[diagnosis.verdict]
    nothing = diagnosis.verdict is Verdict.FINE and not diagnosis.devices
    return f"no accelerator was found; {verdict}" if nothing else verdict


def _report(diagnosis: Diagnosis, *, everything: bool = False) -> str:
    """What is broken stands first, what is not here in one line at the end."""
    lines = [
        f"accelwatch {diagnosis.version} on {diagnosis.host}: {_headline(diagnosis)}",
        f"python {diagnosis.python}, kernel {diagnosis.kernel},"
        f" {counted(diagnosis.devices, 'accelerator')}",
    ]
    if diagnosis.unhealthy:
        lines += ["", "devices that are not well"]
        lines += [
            f"    {device.name}: {device.state}; {device.reason}" for device in diagnosis.unhealthy
        ]
    broken = [report for report in diagnosis.backends if _is_broken(report)]
    used = [report for report in diagnosis.backends if _is_used(report)]
    for report in broken:
        lines += ["", _line(report)]
        if report.present and report.status is not None and report.status.remedy:
            lines.append(f"    do: {report.status.remedy}")
        lines += _check_lines(report.checks, advise=report.present)
        lines += _misspelled(report)
    lines += ["", "in use"]
    for report in used:
        lines.append(f"    {_line(report)}")
        lines += _check_lines(report.checks, advise=False) if everything else []
        lines += _misspelled(report)
    lines += ["", "surroundings", *_check_lines(diagnosis.surroundings)]
    unused = [
        report for report in diagnosis.backends if report not in broken and report not in used
    ]
    if everything:
        for report in unused:
            lines += ["", _line(report), *_check_lines(report.checks, advise=False)]
    elif unused:
        names = ", ".join(report.name for report in unused)
        lines += ["", f"not here: {names} (details: accelwatch doctor --all)"]
    return "".join(f"{printable(line)}\n" for line in lines)


def _is_broken(report: BackendReport) -> bool:
    """Whether it cannot be used, or finds its hardware and reads nothing."""
    if report.problem:
        return True
    state = BackendState.ABSENT if report.status is None else report.status.state
    return state not in (BackendState.OK, BackendState.ABSENT) or (
        report.present and state is BackendState.ABSENT
    )


def _is_used(report: BackendReport) -> bool:
    return not _is_broken(report) and report.present
