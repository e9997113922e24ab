"""What `accelwatch check` does: how this node is, in one line and an exit code, within a deadline."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from accelwatch.base.durations import deadline
from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.arguments import split_list
from accelwatch.cli.check.check_options import CheckOptions
from accelwatch.cli.output import complain, write_stdout

if TYPE_CHECKING:
    from accelwatch.alerting.rules.loading.rule_files import RuleFiles
    from accelwatch.cli.check.check_report import Report, Status

# Of the time that is left, for the agent's answer.
_AGENT_SHARE = 0.3
_READING_SHARE = 0.6
# Before the deadline, for saying that there was no time.
_REPORTING_S = 0.03


def run(options: CheckOptions) -> int:
    """Print this node's health; returns the exit code."""
    from accelwatch.cli.check.check_report import Report, document, nagios, slurm

    try:
        seconds = deadline(options.timeout)
        left = _Left(seconds)
        report = _report(options, left)
    except AccelwatchError as error:
        report = Report(host=os.uname().nodename, blind=(str(error),))
    signal.setitimer(signal.ITIMER_REAL, 0)
    if options.as_json:
        data = document(report)
    else:
        text = slurm(report) if options.slurm else nagios(report, verbose=options.verbose)
        data = text.encode()
    return int(_printed(data, report.status))


def _printed(data: bytes, status: "Status") -> "Status":
    """The exit code after writing: without its line a check is unknown, but stays critical.

    The code of other commands that cannot write is 1, which here would say that a node is usable.
    """
    from accelwatch.cli.check.check_report import Status

    try:
        write_stdout(data)
    except AccelwatchError as error:
        complain(str(error))
        return Status.CRITICAL if status is Status.CRITICAL else Status.UNKNOWN
    return status


class _Left:
    """The time that is left, counted from the start of this process; when it is over, so is it."""

    def __init__(self, seconds: float) -> None:
        from accelwatch.cli.check.check_report import Status

        self._until = time.monotonic() - _age_s() + seconds

        def over(_number: int, _frame: Any) -> None:
            text = f"ACCELWATCH UNKNOWN - not done within {seconds:g} s | devices=0\n"
            try:
                os.write(2 if sys.stdout is None else 1, text.encode())  # None: it was closed
            except OSError as error:
                complain(f"cannot write to stdout: {error.strerror}")
            os._exit(Status.UNKNOWN)

        signal.signal(signal.SIGALRM, over)
        signal.setitimer(signal.ITIMER_REAL, max(self() - _REPORTING_S, 0.001))

    def __call__(self) -> float:
        """In seconds."""
        return self._until - time.monotonic()


def _age_s() -> float:
    """How long this process has run: field 22 of /proc/self/stat, proc(5)."""
    try:
        fields = Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - started, 0.0)
    except (OSError, ValueError, AttributeError):
        return 0.0


def _report(options: CheckOptions, left: _Left) -> "Report":
    from accelwatch.cli.check.check_sources import AgentSilent, expecting

    report, why = None, ""
    if options.agent != "none" and not options.reads_here:
        try:
            report = _of_agent(options, left)
        except AgentSilent as error:
            why = str(error)
    if options.replay is not None:
        report = _of_file(options.replay, options, left)
    elif report is None:
        report = _on_the_spot(options, left)
        if why:
            report = msgspec.structs.replace(report, notes=(*report.notes, why))
    return report if options.expect is None else expecting(report, options.expect)


def _of_agent(options: CheckOptions, left: _Left) -> "Report":
    """What the agent knows. Raises AgentSilent."""
    from accelwatch.cli.check.check_sources import AgentSilent, fetch, of_incidents, of_snapshot
    from accelwatch.schema.json.wire import decode

    if not (options.rules or options.pack):
        try:
            return of_incidents(fetch(options.agent, "/v1/incidents", left() * _AGENT_SHARE))
        except AgentSilent:
            pass  # no rules or another version; the next fetch reports a missing agent
    page = fetch(options.agent, "/v1/snapshot", left() * _AGENT_SHARE)
    return of_snapshot(decode(page), _files(options), "readings of the agent", listened=True)


def _on_the_spot(options: CheckOptions, left: _Left) -> "Report":
    from accelwatch.cli.check.check_sources import of_snapshot
    from accelwatch.cli.plan import of_machine
    from accelwatch.node.collecting import installed, opt_in
    from accelwatch.node.sampler.one_shot import OneShot
    from accelwatch.node.sampler.protocol.settings import CollectSettings
    from accelwatch.schema.snapshot import NO_ACCELERATORS

    settings = CollectSettings(
        one_shot=True,
        timeout_s=max(left() * _READING_SHARE, 0.01),
        without=NO_ACCELERATORS,
        processes=False,
    )
    backends = installed(split_list(options.backend), "--backend")
    groups = opt_in(split_list(options.collect))
    reading = OneShot(of_machine(settings, options.root, backends, groups))
    files = _files(options)  # while the devices are read
    return of_snapshot(reading.finish(), files, "live reading", listened=False)


def _of_file(name: str, options: CheckOptions, left: _Left) -> "Report":
    """What a recording or scenario has at its beginning; a recording has the events of before."""
    from accelwatch.archive.recording import may_be_recording
    from accelwatch.cli.check.check_sources import of_snapshot
    from accelwatch.cli.replay_file import replay_file, replayed

    snapshot = replayed(name, max(left() * _READING_SHARE, 0.01))
    recorded = may_be_recording(Path(replay_file(name)))
    return of_snapshot(snapshot, _files(options), f"replay of {name}", listened=recorded)


def _files(options: CheckOptions) -> "RuleFiles":
    from accelwatch.alerting.rules.loading.pack_files import (
        pack_file,
        pack_names,
        refuse_empty_folders,
    )
    from accelwatch.alerting.rules.loading.rule_files import RuleFiles

    refuse_empty_folders(options.rules)
    names = options.pack or ([] if options.rules else pack_names())
    paths = [*(pack_file(name) for name in names), *options.rules]
    return RuleFiles(paths, tests=False)
