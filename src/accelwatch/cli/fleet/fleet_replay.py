"""`accelwatch fleet --replay DIR`: the dashboard over an archive, or one moment of it as a document."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.fleet.fleet_plan import DisplayOptions, PrintOptions, Targeting
from accelwatch.cli.parameters import option

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.once import FleetDocuments
    from accelwatch.fleet.picture.model import FleetView
    from accelwatch.fleet.picture.timeline import Marker
    from accelwatch.fleet.replay.archive import ReplayedArchive


class Replaying(msgspec.Struct, frozen=True, kw_only=True):
    """Which archive is replayed, and from when."""

    replay: Annotated[
        Path | None,
        option(
            "--replay",
            metavar="DIR",
            help="Show a history archive instead (docs/history.md).",
        ),
    ] = None
    at: Annotated[
        str | None,
        option(
            "--at",
            metavar="TIME",
            help="With --replay: start there, or print that time: 2026-03-14, '2026-03-14 10:32'.",
        ),
    ] = None
    incidents: Annotated[
        Path | None,
        option(
            "--incidents",
            metavar="FILE",
            help="With --replay: show the incidents in FILE, from rules backtest --format ndjson.",
        ),
    ] = None
    rules: Annotated[
        list[str] | None,
        option(
            "--rules",
            metavar="FILE",
            help="With --replay: find incidents with this rule file or pack; default: all packs.",
        ),
    ] = None
    no_backtest: Annotated[
        bool, option("--no-backtest", help="With --replay: do not compute incidents.")
    ] = False


NO_REPLAY = Replaying()


def check_replaying(replaying: Replaying, targeting: Targeting, printing: PrintOptions) -> None:
    """Raise UsageError for options that contradict each other."""
    if replaying.replay is None:
        if replaying != Replaying():
            raise UsageError("--at, --incidents, --rules and --no-backtest go with --replay DIR")
        return
    if replaying.rules and (replaying.no_backtest or replaying.incidents is not None):
        raise UsageError("--rules is for the back-test; leave --incidents and --no-backtest out")
    if msgspec.structs.replace(targeting, no_state=False) != Targeting():
        raise UsageError(
            "--replay has its own nodes; leave --targets, -c, --hub and --state-dir out"
        )
    if printing.form == "prometheus" or printing.watch is not None:
        raise UsageError("--replay prints one moment, as table, json or csv")


def run_replay(
    replaying: Replaying, printing: PrintOptions, display: DisplayOptions, *, printed: bool
) -> int:
    """Show the archive until the user quits, or print a moment; returns the exit code.

    Raises AccelwatchError before the terminal is touched.
    """
    from accelwatch.cli.history.archive_arguments import need_pyarrow

    need_pyarrow()
    assert replaying.replay is not None
    markers = _read_markers(replaying)
    if printed:
        return _print(replaying, printing)
    return _show(replaying, markers, display)


def _read_markers(replaying: Replaying) -> "list[Marker]":
    from accelwatch.fleet.replay.incidents import read_markers

    return [] if replaying.incidents is None else read_markers(replaying.incidents)


def _time_of(at: str | None, archive: "ReplayedArchive", otherwise: int) -> float:
    """Unix seconds of `--at`. Raises UsageError for one that is outside the archive."""
    from accelwatch.fleet.picture.time_parsing import parse_time
    from accelwatch.schema.timestamps import timestamp

    contents = archive.contents
    first, last = contents.first / 1000, contents.last / 1000
    if at is None:
        return otherwise / 1000
    time = parse_time(at, first, last if at.startswith("-") else first, last)
    if not first <= time <= last:
        span = f"{timestamp(first)} to {timestamp(last)}"
        raise UsageError(f"--at {at} is outside the archive, which is from {span}")
    return time


def _opened(path: Path) -> "ReplayedArchive":
    """Raises ArchiveError that says what to do."""
    from accelwatch.archive.history.layout import ArchiveError
    from accelwatch.fleet.replay.archive import ReplayedArchive

    try:
        return ReplayedArchive(path)
    except ArchiveError as error:
        hint = f"`accelwatch history check {path}` lists every error of an archive"
        raise ArchiveError(f"{error}; {hint}") from error


def _print(replaying: Replaying, printing: PrintOptions) -> int:
    from accelwatch.cli.fleet.fleet_once import status
    from accelwatch.cli.output import complain, emit
    from accelwatch.fleet.replay.document import ReplayQuery, answered

    assert replaying.replay is not None
    archive = _opened(replaying.replay)
    now = round(_time_of(replaying.at, archive, archive.contents.last) * 1000)
    request = ReplayQuery(
        rows=printing.rows,
        condition=printing.condition,
        fields=printing.field_names,
        by=printing.by or "",
    )
    answer, view = answered(archive, now, request)
    for problem in (*answer.fleet.outage_lines, *answer.fleet.problems):
        complain(problem)
    document = _document(printing, answer, view, f"archive {replaying.replay}")
    emit(printing.output, document, printing.permissions)
    return status(answer, strict=printing.strict)


def _document(
    printing: PrintOptions, answer: "FleetDocuments", view: "FleetView", name: str
) -> bytes:
    from accelwatch.cli.fleet.tables.devices import device_csv
    from accelwatch.cli.fleet.tables.documents import json_document
    from accelwatch.cli.fleet.tables.groups import group_csv
    from accelwatch.cli.fleet.tables.nodes import node_csv
    from accelwatch.schema.display import stdout_is_terminal

    if printing.form == "json":
        pretty = printing.pretty or (printing.output == "-" and stdout_is_terminal())
        return json_document(answer, rows=printing.rows, pretty=pretty)
    if printing.form == "csv":
        match printing.rows:
            case "devices":
                return device_csv(answer, printing.field_names)
            case "groups":
                return group_csv(answer)
        return node_csv(view)
    from accelwatch.cli.fleet.fleet_once import table_of

    return table_of(printing, answer, view, name)


def backtest_argv(replaying: Replaying, archive: "ReplayedArchive") -> list[str]:
    """The words that start the back-test; none where incidents are given or not wanted.

    Raises ConfigError for rules that cannot be read.
    """
    if replaying.no_backtest or replaying.incidents is not None:
        return []
    from accelwatch.alerting.rules.loading.pack_files import pack_names
    from accelwatch.cli.fleet.fleet_backtest import BacktestRequest
    from accelwatch.cli.rules.rule_loading import load_rules

    shipped, requested = set(pack_names()), replaying.rules or []
    files = tuple(name for name in requested if name not in shipped)
    packs = tuple(name for name in requested if name in shipped)
    if requested:
        load_rules([Path(name) for name in files], list(packs))
    contents = archive.contents
    request = BacktestRequest(
        folder=str(contents.folder),
        start=contents.first / 1000,
        end=contents.last / 1000 + contents.interval_s,
        files=files,
        packs=packs,
    )
    return request.command()


def _show(replaying: Replaying, markers: "list[Marker]", display: DisplayOptions) -> int:
    from accelwatch.cli.startup.dashboard import override, run_to_end
    from accelwatch.fleet.replay.source import ArchiveSource
    from accelwatch.schema.display import utf8
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.state.board import Board
    from accelwatch.tui.theme.appearance import appearance_for
    from accelwatch.tui.theme.preferences import load, path_of

    preferences_path = path_of(os.environ)
    preferences, complaint = load(preferences_path)
    override(preferences, None, display.theme)
    path = replaying.replay
    assert path is not None
    archive = _opened(path)
    backtest = backtest_argv(replaying, archive)
    source = ArchiveSource(archive, f"archive {path}", incidents=markers, backtest_command=backtest)
    source.seek(_time_of(replaying.at, archive, archive.contents.first))
    appearance = appearance_for(os.environ, utf8=utf8(sys.stdout), ascii_only=display.ascii_only)
    app = Dashboard(
        Board(preferences, appearance), None, fleet=source, preferences_path=preferences_path
    )
    if display.condition:
        assert app.fleet_controller is not None
        app.fleet_controller.set_filter(display.condition)
    if complaint:
        app.call_later(app.show_message, complaint)
    try:
        run_to_end(app)
    finally:
        source.close()
    return OK
