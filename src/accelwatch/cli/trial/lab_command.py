"""`accelwatch lab`: a cluster on this machine with a hub that acts, and how it recovers from faults."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.cli.progress import progress

if TYPE_CHECKING:
    from accelwatch_lab.cluster.lab import Lab, Record
    from accelwatch_lab.cluster.scenarios.report import Entry, ScenarioReport

lab = Group(
    "lab",
    help="Try remediation on this machine: a scheduler, simulated GPUs, a job, a hub that acts.",
)
_Folder = Annotated[
    Path | None,
    option(
        "--folder", metavar="DIR", help="Folder of the lab. Default: in the user's state folder."
    ),
]
_Scheduler = Annotated[
    str | None,
    option(
        "--scheduler",
        metavar="NAME",
        help="slurm, kubernetes, backendai, or stand-in. Default: Slurm where it is installed.",
    ),
]
_AsJson = Annotated[bool, option("--json", help="As JSON.")]


@subcommand(lab, "up")
def _up(folder: _Folder = None, scheduler: _Scheduler = None, as_json: _AsJson = False) -> None:
    """Start a lab and leave it running; prints what to try."""
    cluster = _lab(folder, scheduler)
    with progress("lab up") as bar:
        record = cluster.up(bar.at)
    if as_json:
        write_stdout(
            msgspec.json.encode({"folder": str(cluster.folder), **_addresses(record)}) + b"\n"
        )
    else:
        write_stdout(_to_try(cluster, record).encode())
    raise click.exceptions.Exit(OK)


@subcommand(lab, "run")
def _run(
    scenario: Annotated[
        str | None, argument(metavar="[SCENARIO]", help="Omit it to list the scenarios.")
    ] = None,
    folder: _Folder = None,
    scheduler: _Scheduler = None,
    as_json: _AsJson = False,
) -> None:
    """Play a scenario, from a fault to the restarted job, and print the time to recover.

    Uses a running lab, else starts one and stops it afterwards.
    """
    from accelwatch_lab.cluster.scenarios.catalogue import SCENARIOS

    if scenario is None:
        rows = (f"{name:<18}{definition.title}\n" for name, definition in SCENARIOS.items())
        write_stdout("".join(rows).encode())
        raise click.exceptions.Exit(OK)
    if scenario not in SCENARIOS:
        raise UsageError(f"no scenario {scenario!r}; there are {', '.join(SCENARIOS)}")
    raise click.exceptions.Exit(_played(_lab(folder, scheduler), scenario, as_json))


@subcommand(lab, "down")
def _down(folder: _Folder = None) -> None:
    """Stop a lab and remove its folder."""
    cluster = _lab(folder)
    stopped = cluster.down()
    complain(
        f"{stopped} processes stopped" if stopped else f"no lab is running in {cluster.folder}"
    )
    raise click.exceptions.Exit(OK)


def _played(cluster: "Lab", scenario: str, as_json: bool) -> int:
    from accelwatch_lab.cluster.scenarios.runner import check_playable, run_scenario

    check_playable(cluster, scenario)
    existing = cluster.record()
    if existing is None:
        complain(f"starting a lab with {cluster.scheduler.title} ...")
    with progress("lab up", shown=existing is None) as bar:
        record = existing or cluster.up(bar.at)
    report = None
    try:
        report = run_scenario(cluster, record, scenario, _silent if as_json else _print_entry)
    finally:
        if existing is None:
            well = report is not None and report.succeeded
            _stop(cluster, keep=not well)
    _print_outcome(report, as_json)
    return OK if report.succeeded else FAILED


def _stop(cluster: "Lab", *, keep: bool) -> None:
    if keep:
        cluster.stop()
        complain(f"the output of its processes is in {cluster.folder}")
    else:
        cluster.down()


def _silent(_report: "ScenarioReport", _entry: "Entry") -> None:
    """With --json the outcome is printed at the end only."""


def _print_entry(report: "ScenarioReport", entry: "Entry") -> None:
    from accelwatch_lab.cluster.scenarios.report import line_of

    if len(report.entries) == 1:
        write_stdout(f"{report.scenario}: {report.title}\n".encode())
    write_stdout(f"{line_of(report, entry)}\n".encode())


def _print_outcome(report: "ScenarioReport", as_json: bool) -> None:
    if as_json:
        write_stdout(msgspec.json.encode(report.document()) + b"\n")
        return
    for text in report.missing:
        complain(f"{report.scenario}: {text}")
    if report.recovered_s is not None:
        text = f"recovered: {report.recovered_s:.1f} s from the fault to the job's next step\n"
        write_stdout(text.encode())


def _lab(folder: Path | None, scheduler: str | None = None) -> "Lab":
    from accelwatch_lab.cluster.lab import Lab, usual_folder
    from accelwatch_lab.cluster.scheduler import SchedulerKind

    kinds = {kind.value: kind for kind in SchedulerKind}
    if scheduler is not None and scheduler not in kinds:
        raise UsageError(f"no scheduler {scheduler!r}; there are {', '.join(kinds)}")
    where = usual_folder() if folder is None else folder.absolute()
    return Lab(where, None if scheduler is None else kinds[scheduler])


def _addresses(record: "Record") -> dict[str, str]:
    return {
        "hub": f"http://{record.hub}",
        "simulator": f"http://{record.simulator}",
        "alerts": f"http://{record.alerts}",
    }


def _to_try(cluster: "Lab", record: "Record") -> str:
    from accelwatch_lab.cluster.lab import SPARE, usual_folder

    where = (
        "" if cluster.folder == usual_folder() else f" --folder {shlex.quote(str(cluster.folder))}"
    )
    hub = f"--hub http://{record.hub}"
    rows = (
        ("play a scenario", f"accelwatch lab run lost-gpu{where}"),
        ("all scenarios", "accelwatch lab run"),
        ("the dashboard", f"accelwatch fleet {hub}"),
        ("incidents", f"accelwatch incidents {hub}"),
        ("remedies in progress", f"accelwatch remedy list {hub}"),
        ("plan for a node", f"accelwatch remedy plan {hub} n001"),
        ("quarantine a node", f"accelwatch remedy quarantine {hub} n002 --reason 'a test'"),
        ("release it", f"accelwatch remedy release {hub} n002 --reason 'a test'"),
        ("the scheduler", cluster.scheduler.shown_by),
        ("alerts", f"tail -f {cluster.folder}/alerts.out"),
        ("stop everything", f"accelwatch lab down{where}"),
    )
    lines = [
        f"a hub that acts:   http://{record.hub}",
        f"simulated agents:  http://{record.simulator}",
        f"{cluster.kind + ':':<19}four nodes; {SPARE} is the spare",
        f"everything is in   {cluster.folder}",
        "",
        *(f"{what + ':':<22}{text}" for what, text in rows),
    ]
    return "\n".join(lines) + "\n"
