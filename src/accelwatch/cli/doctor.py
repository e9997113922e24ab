"""`accelwatch backends` and `accelwatch doctor`: what was looked for, found, and what to do."""

import os
from typing import Annotated

import msgspec
import typer

from accelwatch.backend import Check, Context
from accelwatch.cli.output import write_stdout
from accelwatch.diagnosis import BackendReport, Diagnosis, Verdict, diagnose, probe_all
from accelwatch.display import counted
from accelwatch.durations import deadline
from accelwatch.exit_codes import OK
from accelwatch.untrusted_text import printable

_JSON = Annotated[bool, typer.Option("--json", help="One JSON document.")]
_TIMEOUT = Annotated[str, typer.Option(metavar="DURATION", help="For the reading.")]

_ABSENT = {True: "present, not read", False: "nothing of its kind here"}
_VERDICTS = {
    Verdict.FINE: "all that is here can be read",
    Verdict.IMPAIRED: "something that is here cannot be read, or not fully",
    Verdict.BROKEN: "devices are here, and none can be read",
}


def _diagnosis(timeout: str) -> Diagnosis:
    from accelwatch.sampler.settings import CollectSettings
    from accelwatch.snapshots import read_once

    probes, problems = probe_all(Context(environ=dict(os.environ), one_shot=True))
    snapshot = read_once(CollectSettings(one_shot=True, timeout_s=deadline(timeout)))
    return diagnose(snapshot, probes, problems)


def backends_command(as_json: _JSON = False, timeout: _TIMEOUT = "5s") -> None:
    """List the backends: whether their hardware is here, what they read through, which versions."""
    diagnosis = _diagnosis(timeout)
    if as_json:
        write_stdout(msgspec.json.encode(diagnosis.backends) + b"\n")
    else:
        write_stdout(
            "".join(f"{printable(_line(report))}\n" for report in diagnosis.backends).encode()
        )
    raise typer.Exit(OK)


def doctor_command(as_json: _JSON = False, timeout: _TIMEOUT = "5s") -> None:
    """Say what was looked for, what was found, and what to do; exit 0 fine, 1 impaired, 2 broken."""
    diagnosis = _diagnosis(timeout)
    if as_json:
        write_stdout(msgspec.json.encode(diagnosis) + b"\n")
    else:
        write_stdout(_report(diagnosis).encode())
    raise typer.Exit(int(diagnosis.verdict))


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
        mark = "ok " if check.ok else "-- "
        lines.append(f"    {mark} {check.subject}{': ' + check.found if check.found else ''}")
        if advise and check.remedy and not check.ok:
            lines.append(f"        do: {check.remedy}")
    return lines


def _headline(diagnosis: Diagnosis) -> str:
    """What it comes to, in one line."""
    told = _VERDICTS[diagnosis.verdict]
    nothing = diagnosis.verdict is Verdict.FINE and not diagnosis.devices
    return f"no accelerator was found; {told}" if nothing else told


def _report(diagnosis: Diagnosis) -> str:
    lines = [
        f"accelwatch {diagnosis.version} on {diagnosis.host}: {_headline(diagnosis)}",
        f"python {diagnosis.python}, kernel {diagnosis.kernel},"
        f" {counted(diagnosis.devices, 'accelerator')}",
    ]
    for report in diagnosis.backends:
        lines += ["", _line(report), *_check_lines(report.checks, advise=report.present)]
        if report.present and report.status is not None and report.status.remedy:
            lines.append(f"        do: {report.status.remedy}")
    if diagnosis.unwell:
        lines += ["", "devices that are not well"]
        lines += [
            f"    {device.name}: {device.state}; {device.reason}" for device in diagnosis.unwell
        ]
    lines += ["", "surroundings", *_check_lines(diagnosis.surroundings)]
    return "".join(f"{printable(line)}\n" for line in lines)
