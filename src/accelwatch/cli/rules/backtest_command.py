"""`accelwatch rules backtest`: what rules would have found in an archive, a store or a recording."""

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.exit_codes import OK
from accelwatch.cli.options import command
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.cli.rules.backtest_source import Source, archive_of, complain_of_gaps, span_of
from accelwatch.schema.display import counted

if TYPE_CHECKING:
    from accelwatch.alerting.rules.rule import Rule
    from accelwatch.archive.history.reading.reader import Archive
    from accelwatch.fleet.backtest.incidents import Backtest, Helpers
    from accelwatch.fleet.backtest.line import Line

_SIDE_BY_SIDE = 2
# From this many intervals a second process pays; loading its rules takes seconds.
_LONG_STEPS = 2880


class Form(StrEnum):
    """How incidents are printed."""

    NDJSON = "ndjson"
    JSON = "json"
    TABLE = "table"


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """Which rules are judged; all packs when nothing is said."""

    files: tuple[Path, ...] = ()
    packs: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


def backtest(
    source: Source, chosen: Chosen, form: Form | None, processes: int | None = None
) -> int:
    """Play it, and print the incidents; exit code 0 when it was read to its end.

    Without a form: a table on a terminal, a line of JSON each on a pipe. Without a number, two
    `processes` judge a long archive where there are two processors.

    Raises AccelwatchError, UsageError and ConfigError.
    """
    from accelwatch.base.errors import UsageError
    from accelwatch.cli.history.archive_arguments import need_pyarrow

    need_pyarrow()
    if (
        sum(option is not None for option in (source.history, source.prometheus, source.replay))
        != 1
    ):
        raise UsageError("say one of --history DIR, --prometheus URL and --replay RECORDING")
    from accelwatch.archive.history.reading.reader import Archive
    from accelwatch.fleet.backtest.incidents import Backtest

    rules, digest = _rules(chosen)
    with archive_of(source) as folder:
        archive = Archive(folder)
        span = span_of(source, archive)
        helpers = _helpers(processes, archive, span, chosen, digest)
        test = Backtest(archive, rules, *span, helpers)
        complain_of_gaps(test)
        _print(archive, test, form or _usual_form(), span)
    return OK


def _usual_form() -> Form:
    from accelwatch.schema.display import stdout_is_terminal

    return Form.TABLE if stdout_is_terminal() else Form.NDJSON


def _rules(chosen: Chosen) -> "tuple[dict[str, Rule], str]":
    """The rules that are meant, and the digest of all that are loaded.

    Raises ConfigError, UnmetError for one that is not there.
    """
    from accelwatch.base.errors import UnmetError
    from accelwatch.base.names.nearest import nearest
    from accelwatch.cli.rules.rule_loading import load_rules

    rules = load_rules(list(chosen.files), list(chosen.packs))
    loaded = rules.rules
    for id_ in chosen.ids:
        if id_ not in loaded:
            close = nearest(id_, loaded)
            hint = f"; did you mean {close}?" if close else ""
            raise UnmetError(f"no rule {id_[:100]!r}{hint}")
    meant = {id_: rule for id_, rule in loaded.items() if not chosen.ids or id_ in chosen.ids}
    return meant, rules.digest


def _helpers(
    processes: int | None,
    archive: "Archive",
    span: tuple[float | None, float | None],
    chosen: Chosen,
    digest: str,
) -> "Helpers | None":
    """Who judges beside this process; None where it judges alone."""
    from accelwatch.cli.rules.backtest_share import Share
    from accelwatch.fleet.backtest.incidents import Helpers

    if processes is None:
        start, end = span[0] or archive.description.start, span[1] or archive.description.end
        if end - start < _LONG_STEPS * archive.description.interval_s:
            return None
        processes = min(processors(), _SIDE_BY_SIDE)
        if processes == 1:
            complain("one processor: one process evaluates all rules")
    if processes == 1:
        return None

    def command(ids: Sequence[str]) -> Sequence[str]:
        return Share(
            folder=str(archive.folder),
            ids=tuple(ids),
            digest=digest,
            start=span[0],
            end=span[1],
            files=tuple(map(str, chosen.files)),
            packs=chosen.packs,
        ).command()

    return Helpers(processes - 1, command)


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _print(
    archive: "Archive", test: "Backtest", form: Form, span: tuple[float | None, float | None]
) -> None:
    from accelwatch.cli.progress import progress, recorded_time
    from accelwatch.fleet.backtest.run import final_lines
    from accelwatch.schema.display import stdout_is_terminal

    lines: list[Line] = []
    encoder = msgspec.json.Encoder()
    start, end = span[0] or archive.description.start, span[1] or archive.description.end
    title = f"back-test of {counted(len(test.rules), 'rule')}"
    lines_to_terminal = form is Form.NDJSON and stdout_is_terminal()
    with progress(title, end - start, recorded_time, shown=not lines_to_terminal) as bar:
        for line in final_lines(archive, test, lambda at: bar.at(at - start)):
            if form is Form.NDJSON:
                write_stdout(encoder.encode(line) + b"\n")
            else:
                lines.append(line)
    if form is Form.JSON:
        write_stdout(msgspec.json.format(encoder.encode(lines), indent=1) + b"\n")
    elif form is Form.TABLE:
        from accelwatch.cli.rules.backtest_table import table

        write_stdout(table(lines, test).encode())


@command
def backtest_command(
    named: Annotated[
        list[str] | None,
        argument(metavar="[FILE|FOLDER|PACK]...", help="Rule files or packs; default: all packs."),
    ] = None,
    history: Annotated[Path | None, option("--history", metavar="DIR", help="An archive.")] = None,
    prometheus: Annotated[
        str | None,
        option("--prometheus", metavar="URL", help="A store with Prometheus' query API."),
    ] = None,
    replay: Annotated[
        Path | None, option("--replay", metavar="RECORDING", help="A recording of a node.")
    ] = None,
    files: Annotated[
        list[str] | None,
        option("--rules", metavar="FILE", help="Rule file; the same as FILE."),
    ] = None,
    pack: Annotated[
        list[str] | None,
        option("-p", "--pack", metavar="NAME", help="A shipped pack."),
    ] = None,
    rule: Annotated[
        list[str] | None, option("--rule", metavar="ID", help="Only this rule.")
    ] = None,
    start: Annotated[
        str | None,
        option("--from", metavar="TIME", help="2026-03-01, ...T12:00:00Z, or 7d (before now)."),
    ] = None,
    end: Annotated[str | None, option("--to", metavar="TIME", help="As --from.")] = None,
    interval: Annotated[
        str, option("--interval", metavar="DURATION", help="Time between two samples of a store.")
    ] = "30s",
    form: Annotated[
        Form | None,
        option("--format", help="Default: table on a terminal, ndjson on a pipe."),
    ] = None,
    processes: Annotated[
        int | None,
        option(
            "--processes",
            metavar="N",
            min=1,
            max=8,
            help="Processes that evaluate; default: 2 for a long archive. The result is the same.",
        ),
    ] = None,
    as_json: Annotated[bool, option("--json", help="The same as --format json.")] = False,
) -> None:
    """Evaluate rules over recorded data, with the engine of a hub."""
    from accelwatch.alerting.rules.loading.pack_files import pack_names

    shipped = set(pack_names())
    names = [*(named or ()), *(files or ())]
    chosen = Chosen(
        files=tuple(Path(name) for name in names if name not in shipped),
        packs=(*(pack or ()), *(name for name in names if name in shipped)),
        ids=tuple(rule or ()),
    )
    source = Source(
        history=history,
        prometheus=prometheus,
        replay=replay,
        start=start,
        end=end,
        interval=interval,
    )
    raise click.exceptions.Exit(backtest(source, chosen, Form.JSON if as_json else form, processes))
