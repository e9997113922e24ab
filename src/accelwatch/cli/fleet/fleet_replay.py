"""`accelwatch fleet --replay DIR`: the dashboard over an archive, or one moment of it as a document."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.flag import Flag
from accelwatch.cli.fleet.fleet_plan import Asking, Look, Targeting

if TYPE_CHECKING:
    from accelwatch.fleet.hub_client.once import Answer
    from accelwatch.fleet.picture.model import FleetView
    from accelwatch.fleet.picture.timeline import Mark
    from accelwatch.fleet.replay.archive import ReplayedArchive


class Replaying(msgspec.Struct, frozen=True, kw_only=True):
    """Which archive is looked at, and where it begins."""

    replay: Annotated[
        Path | None,
        Flag(
            ("--replay",),
            metavar="DIR",
            help="Look at a history archive instead (docs/history.md).",
        ),
    ] = None
    at: Annotated[
        str | None,
        Flag(
            ("--at",),
            metavar="TIME",
            help="With --replay: start there, or print that moment: 2026-03-14, '2026-03-14 10:32'.",
        ),
    ] = None
    incidents: Annotated[
        Path | None,
        Flag(
            ("--incidents",),
            metavar="FILE",
            help="With --replay: these incidents, of rules backtest --format ndjson, and no back-test.",
        ),
    ] = None
    rules: Annotated[
        list[str] | None,
        Flag(
            ("--rules",),
            metavar="FILE",
            help="With --replay: look for incidents by this rule file or pack; all packs without.",
        ),
    ] = None
    no_backtest: Annotated[
        bool, Flag(("--no-backtest",), help="With --replay: do not look for incidents.")
    ] = False


NO_REPLAY = Replaying()


def check_replaying(replaying: Replaying, wanted: Targeting, asking: Asking) -> None:
    """Raise UsageError for options that contradict each other."""
    if replaying.replay is None:
        if replaying != Replaying():
            raise UsageError("--at, --incidents, --rules and --no-backtest go with --replay DIR")
        return
    if replaying.rules and (replaying.no_backtest or replaying.incidents is not None):
        raise UsageError("--rules is for the back-test; leave --incidents and --no-backtest out")
    if msgspec.structs.replace(wanted, no_state=False) != Targeting():
        raise UsageError(
            "--replay has its own nodes; leave --targets, -c, --hub and --state-dir out"
        )
    if asking.form == "prometheus" or asking.watch is not None:
        raise UsageError("--replay prints one moment, as table, json or csv")


def run_replay(replaying: Replaying, asking: Asking, look: Look, *, printed: bool) -> int:
    """Show the archive until the user quits, or print a moment; returns the exit code.

    Raises AccelwatchError before the terminal is touched.
    """
    from accelwatch.cli.past.history_command import need_pyarrow

    need_pyarrow()
    assert replaying.replay is not None
    marks = _marks(replaying)
    if printed:
        return _print(replaying, asking)
    return _show(replaying, marks, look)


def _marks(replaying: Replaying) -> "list[Mark]":
    from accelwatch.fleet.replay.incidents import read_marks

    return [] if replaying.incidents is None else read_marks(replaying.incidents)


def _moment(at: str | None, archive: "ReplayedArchive", otherwise: int) -> float:
    """Unix seconds of `--at`. Raises UsageError for one that is outside the archive."""
    from accelwatch.fleet.picture.moments import moment_of
    from accelwatch.schema.moments import timestamp

    contents = archive.contents
    first, last = contents.first / 1000, contents.last / 1000
    if at is None:
        return otherwise / 1000
    moment = moment_of(at, first, last if at.startswith("-") else first, last)
    if not first <= moment <= last:
        span = f"{timestamp(first)} to {timestamp(last)}"
        raise UsageError(f"--at {at} is outside the archive, which is from {span}")
    return moment


def _opened(path: Path) -> "ReplayedArchive":
    """Raises ArchiveError that says what to do."""
    from accelwatch.archive.history.layout import ArchiveError
    from accelwatch.fleet.replay.archive import ReplayedArchive

    try:
        return ReplayedArchive(path)
    except ArchiveError as error:
        mend = f"`accelwatch history check {path}` lists every error of an archive"
        raise ArchiveError(f"{error}; {mend}") from error


def _print(replaying: Replaying, asking: Asking) -> int:
    from accelwatch.cli.fleet.fleet_once import status
    from accelwatch.cli.output import complain, emit
    from accelwatch.fleet.replay.document import Wanted, answered

    assert replaying.replay is not None
    archive = _opened(replaying.replay)
    now = round(_moment(replaying.at, archive, archive.contents.last) * 1000)
    wanted = Wanted(
        rows=asking.rows,
        condition=asking.condition,
        fields=asking.field_names,
        by=asking.by or "",
    )
    answer, view = answered(archive, now, wanted)
    for problem in (*answer.fleet.outage_lines, *answer.fleet.problems):
        complain(problem)
    document = _document(asking, answer, view, f"archive {replaying.replay}")
    emit(asking.output, document, asking.permissions)
    return status(answer, strict=asking.strict)


def _document(asking: Asking, answer: "Answer", view: "FleetView", name: str) -> bytes:
    from accelwatch.cli.fleet.fleet_devices import device_csv
    from accelwatch.cli.fleet.fleet_documents import json_document
    from accelwatch.cli.fleet.fleet_groups import group_csv
    from accelwatch.cli.fleet.fleet_nodes import node_csv
    from accelwatch.exposition.display import stdout_is_terminal

    if asking.form == "json":
        pretty = asking.pretty or (asking.output == "-" and stdout_is_terminal())
        return json_document(answer, rows=asking.rows, pretty=pretty)
    if asking.form == "csv":
        match asking.rows:
            case "devices":
                return device_csv(answer, asking.field_names)
            case "groups":
                return group_csv(answer)
        return node_csv(view)
    from accelwatch.cli.fleet.fleet_once import table_of

    return table_of(asking, answer, view, name)


def judging_words(replaying: Replaying, archive: "ReplayedArchive") -> list[str]:
    """The words that start the back-test; none where incidents are given or not wanted.

    Raises ConfigError for rules that cannot be read.
    """
    if replaying.no_backtest or replaying.incidents is not None:
        return []
    from accelwatch.alerting.rules.loading import pack_names
    from accelwatch.cli.fleet.fleet_backtest import Judged
    from accelwatch.cli.rules.rules_command import load_rules

    shipped, given = set(pack_names()), replaying.rules or []
    files = tuple(name for name in given if name not in shipped)
    packs = tuple(name for name in given if name in shipped)
    if given:
        load_rules([Path(name) for name in files], list(packs))
    contents = archive.contents
    judged = Judged(
        folder=str(contents.folder),
        begin=contents.first / 1000,
        end=contents.last / 1000 + contents.interval_s,
        files=files,
        packs=packs,
    )
    return judged.command()


def _show(replaying: Replaying, marks: "list[Mark]", look: Look) -> int:
    from accelwatch.cli.startup.dashboard import override, run_to_end
    from accelwatch.exposition.display import utf8
    from accelwatch.fleet.replay.source import ArchiveSource
    from accelwatch.tui.app import Dashboard
    from accelwatch.tui.drawing.looks import looks_for
    from accelwatch.tui.drawing.preferences import load, path_of
    from accelwatch.tui.state.board import Board

    preferences_path = path_of(os.environ)
    preferences, complaint = load(preferences_path)
    override(preferences, None, look.theme)
    path = replaying.replay
    assert path is not None
    archive = _opened(path)
    judging = judging_words(replaying, archive)
    source = ArchiveSource(archive, f"archive {path}", incidents=marks, judging=judging)
    source.seek(_moment(replaying.at, archive, archive.contents.first))
    looks = looks_for(os.environ, utf8=utf8(sys.stdout), ascii_only=look.ascii_only)
    app = Dashboard(
        Board(preferences, looks), None, fleet=source, preferences_path=preferences_path
    )
    if look.condition:
        assert app.fleet_controller is not None
        app.fleet_controller.set_filter(look.condition)
    if complaint:
        app.call_later(app.say, complaint)
    try:
        run_to_end(app)
    finally:
        source.close()
    return OK
