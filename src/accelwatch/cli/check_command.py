"""`accelwatch check`: how this node is, in one line and an exit code, within a deadline."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand

from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.options import command, row
from accelwatch.cli.output import write_stdout
from accelwatch.config.model import DEFAULT_ADDRESS
from accelwatch.durations import deadline
from accelwatch.errors import AccelwatchError

if TYPE_CHECKING:
    from accelwatch.cli.check_report import Report
    from accelwatch.rules.rule import RuleSet

UNKNOWN = 3
_AGENT_SHARE = 0.3
"""Of the time that is left, for the agent's answer."""
_READING_SHARE = 0.6
_REPORTING_S = 0.03
"""Before the deadline, for saying that there was no time."""


class CheckCommand(TyperCommand):
    """A mistake on the command line is UNKNOWN, for 2 means CRITICAL here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As of any command."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # typer brings a click of its own, whose classes are not public.
            if hasattr(error, "exit_code"):
                error.exit_code = UNKNOWN
            raise


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """By which rules, whom to ask, and in which form it is told."""

    rules: Annotated[
        list[Path] | None,
        typer.Option("--rules", metavar="FILE", help="Rules instead of those that are shipped."),
    ] = None
    pack: Annotated[
        list[str] | None, typer.Option("-p", "--pack", metavar="NAME", help="A pack of rules.")
    ] = None
    agent: Annotated[
        str,
        typer.Option(
            "--agent", metavar="ADDRESS", help="Agent to ask: host:port, a socket, or 'none'."
        ),
    ] = DEFAULT_ADDRESS
    expect: Annotated[
        int | None,
        typer.Option("--expect", min=0, metavar="N", help="Devices that there must be."),
    ] = None
    slurm: Annotated[
        bool, typer.Option("--slurm", help="Only a reason, of at most 200 ASCII characters.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False
    machine: MachineOptions = MachineOptions()
    timeout: Annotated[str, row("timeout", "It ends by then, whatever a driver does.")] = "1s"


@command
def check_command(options: CheckOptions) -> None:
    """Tell whether this node is well: exit 0 ok, 1 warning, 2 critical, 3 unknown.

    The agent of this machine is asked; where none answers, the devices are read on the spot.
    """
    from accelwatch.cli.check_report import Report, document, nagios, slurm

    try:
        seconds = deadline(options.timeout)
        left = _Left(seconds)
        report = _report(options, left)
    except AccelwatchError as error:
        report = Report(host=os.uname().nodename, blind=(str(error),))
    signal.setitimer(signal.ITIMER_REAL, 0)
    if options.as_json:
        write_stdout(document(report))
    else:
        write_stdout((slurm if options.slurm else nagios)(report).encode())
    raise typer.Exit(int(report.status))


class _Left:
    """The time that is left, counted from the start of this process; when it is over, so is it."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() - _age_s() + seconds

        def over(_number: int, _frame: Any) -> None:
            text = f"ACCELWATCH UNKNOWN - not done within {seconds:g} s | devices=0\n"
            os.write(sys.stdout.fileno(), text.encode())
            os._exit(UNKNOWN)

        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, max(self() - _REPORTING_S, 0.001))

    def __call__(self) -> float:
        """In seconds."""
        return self._until - time.monotonic()


def _age_s() -> float:
    """How long this process has run: field 22 of /proc/self/stat, proc(5)."""
    try:
        fields = Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - began, 0.0)
    except (OSError, ValueError, AttributeError):
        return 0.0


def _report(options: CheckOptions, left: _Left) -> "Report":
    from accelwatch.cli.check_sources import AgentSilent, expecting

    report, why = None, ""
    if options.agent != "none" and not options.machine.words():
        try:
            report = _of_agent(options, left)
        except AgentSilent as error:
            why = str(error)
    if report is None:
        report = _on_the_spot(options, left)
        if why:
            report = msgspec.structs.replace(report, notes=(*report.notes, why))
    return report if options.expect is None else expecting(report, options.expect)


def _of_agent(options: CheckOptions, left: _Left) -> "Report":
    """What the agent knows. Raises AgentSilent."""
    from accelwatch.cli.check_sources import AgentSilent, ask, of_incidents, of_snapshot
    from accelwatch.schema.wire import decode

    if not (options.rules or options.pack):
        try:
            return of_incidents(ask(options.agent, "/v1/incidents", left() * _AGENT_SHARE))
        except AgentSilent:
            pass  # it has no rules, or is of another version; or is not there, which is told below
    page = ask(options.agent, "/v1/snapshot", left() * _AGENT_SHARE)
    return of_snapshot(decode(page), _loaded(options), "readings of the agent", listened=True)


def _on_the_spot(options: CheckOptions, left: _Left) -> "Report":
    from accelwatch.cli.check_sources import of_snapshot
    from accelwatch.sampler.one_shot import OneShot
    from accelwatch.sampler.settings import NO_ACCELERATORS, CollectSettings

    settings = options.machine.over(
        CollectSettings(
            one_shot=True,
            timeout_s=max(left() * _READING_SHARE, 0.01),
            without=NO_ACCELERATORS,
            processes=False,
        )
    )
    reading = OneShot(settings)
    loaded = _loaded(options)  # while the devices are read
    return of_snapshot(reading.finish(), loaded, "read on the spot", listened=False)


def _loaded(options: CheckOptions) -> "RuleSet":
    from accelwatch.rules.loading import load, pack_file, pack_names

    names = options.pack or ([] if options.rules else pack_names())
    return load([*(pack_file(name) for name in names), *(options.rules or [])])
