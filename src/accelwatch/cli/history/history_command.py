"""`accelwatch history`: what is in an archive, whether it is well, and one made from a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import msgspec

from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option
from accelwatch.schema.display import stdout_is_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accelwatch.archive.history.check import Finding
    from accelwatch.archive.history.summary import Summary
    from accelwatch.fleet.tsdb.settings import Store

history = Group("history", help="Show, check and export a fleet's history as Parquet files.")

_Folder = Annotated[Path, argument(metavar="DIR", help="The archive.")]
_Json = Annotated[bool, option("--json", help="As JSON.")]


def need_pyarrow() -> None:
    """Raise UsageError where pyarrow is not installed."""
    from importlib.util import find_spec

    from accelwatch.base.errors import UsageError

    if find_spec("pyarrow") is None:
        raise UsageError("history archives need pyarrow: pip install 'accelwatch[history]'")


def history_show(folder: Path, as_json: bool) -> int:
    """What is in an archive. Raises ArchiveError."""
    import msgspec

    need_pyarrow()
    from accelwatch.archive.history.summary import summary

    contents = summary(folder)
    if as_json:
        _write(msgspec.json.format(msgspec.json.encode(contents), indent=1).decode())
        return OK
    for line in _lines(contents):
        _write(line)
    return OK


def _lines(contents: "Summary") -> list[str]:
    from accelwatch.schema.display import counted, size

    span = "empty"
    if contents.start is not None and contents.end is not None:
        days = (contents.end - contents.start) / 86400
        span = f"{time_text(contents.start)} to {time_text(contents.end)} ({days:.1f} days)"
    models = ", ".join(
        f"{count} x {model or 'unknown'}" for model, count in contents.models.items()
    )
    rows = ", ".join(f"{count} {table}" for table, count in contents.rows.items())
    lines = [
        f"span      {span}, every {contents.description.interval_s:g} s",
        f"nodes     {contents.nodes}",
        f"devices   {contents.devices}" + (f" ({models})" if models else ""),
        f"rows      {rows}; {counted(contents.jobs, 'job')}",
        f"size      {size(contents.size_bytes)} in {counted(len(contents.days), 'day')}",
        f"source    {contents.description.source or 'unknown'}",
    ]
    for title, columns in (("device", contents.device_columns), ("node", contents.node_columns)):
        if columns:
            lines.append(f"\n{title} columns, share of rows with a value")
            lines += [f"{column.share:7.1%}  {column.name}" for column in columns]
    return lines


def time_text(seconds: float) -> str:
    """A moment as people read it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def history_check(folder: Path, as_json: bool) -> int:
    """Report every mistake; exit code 1 when there is one. Raises ArchiveError."""
    import json

    need_pyarrow()
    from accelwatch.archive.history.check import check
    from accelwatch.cli.progress import counting, progress

    findings: list[Finding] = []
    with progress("check", None, counting("files")) as bar:
        for finding in check(folder, bar.at):
            findings.append(finding)
            if not as_json:
                group = "" if finding.group is None else f", row group {finding.group}"
                kind = "" if finding.mistake else " (no mistake)"
                complain(f"{finding.file}{group}: {finding.text}{kind}")
    mistakes = sum(finding.mistake for finding in findings)
    notes = len(findings) - mistakes
    if as_json:
        documents = [_document(finding) for finding in findings]
        _write(json.dumps({"mistakes": mistakes, "findings": documents}, indent=1))
    elif stdout_is_terminal():
        write_stdout(_checked(folder, findings).encode())
    else:
        complain(f"{mistakes} mistakes, {notes} notes" if mistakes else f"ok; {notes} notes")
    return FAILED if mistakes else OK


def _checked(folder: Path, findings: "Sequence[Finding]") -> str:
    """A row a table of the archive: its files, and what was found in them."""
    from accelwatch.archive.history import layout
    from accelwatch.cli.progress import table

    rows = []
    for name in layout.TABLES:
        paths = {segment.path for segment in layout.segments(folder, name)}
        own = [finding for finding in findings if finding.file in paths]
        mistakes = sum(finding.mistake for finding in own)
        rows.append((name, str(len(paths)), str(mistakes), str(len(own) - mistakes)))
    for path in (folder / layout.JOBS, folder / layout.MAINTENANCE):
        wrong = sum(finding.file == path for finding in findings)
        rows.append((path.stem, str(int(path.exists())), str(wrong), "0"))
    return table(("TABLE", "FILES", "MISTAKES", "NOTES"), rows)


def _document(finding: "Finding") -> dict[str, object]:
    return {
        "file": str(finding.file),
        "row_group": finding.group,
        "text": finding.text,
        "mistake": finding.mistake,
    }


def _write(text: str) -> None:
    from accelwatch.base.untrusted_text import escaped

    write_stdout((escaped(text, keep="\n") + "\n").encode())


@subcommand(history, "show")
def _show(folder: _Folder, as_json: _Json = False) -> None:
    """Show what is in an archive: span, nodes, devices, columns, size."""
    raise click.exceptions.Exit(history_show(folder, as_json))


@subcommand(history, "check")
def _check(folder: _Folder, as_json: _Json = False) -> None:
    """Report every mistake with file and row group; exit code 1 if any."""
    raise click.exceptions.Exit(history_check(folder, as_json))


class StoreAccess(msgspec.Struct, frozen=True, kw_only=True):
    """Which store is asked for what, and what it is shown; secrets are in files only."""

    url: str
    node_label: tuple[str, ...] = ()
    matchers: str = ""
    tenant: str = ""
    user: str = ""
    password_file: str | None = None
    token_file: str | None = None
    ca_file: str | None = None


def _store(access: StoreAccess) -> "Store":
    """The same as settings. Raises ConfigError, UsageError."""
    from accelwatch.base.errors import UsageError
    from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, TlsConfig
    from accelwatch.fleet.tsdb.settings import NODE_LABELS, RemoteWrite, Store, check_peers

    if bool(access.user) != (access.password_file is not None):
        raise UsageError("--user goes with --password-file")
    basic = BasicAuth(username=access.user, password_file=access.password_file)
    store = Store(
        url=access.url,
        node_labels=(*access.node_label, *NODE_LABELS),
        timeout_s=60.0,
        matchers=access.matchers,
        tenant=access.tenant,
        basic_auth=basic if access.user else BasicAuth(),
        authorization=Authorization(credentials_file=access.token_file),
        tls_config=TlsConfig(ca_file=access.ca_file),
    )
    check_peers(store, RemoteWrite())
    return store


def history_export(access: StoreAccess, start: str, end: str, output: Path, interval: str) -> int:
    """Make an archive of what a store has. Raises AccelwatchError."""
    import asyncio
    import time

    need_pyarrow()
    from accelwatch.base.durations import seconds
    from accelwatch.base.errors import UsageError
    from accelwatch.cli.progress import progress, recorded_time
    from accelwatch.fleet.archive.export import Export

    now = time.time()
    first, last, step = parse_time(start, now), parse_time(end, now), seconds(interval)
    if first >= last:
        raise UsageError(f"--from {start} is not before --to {end}")
    if not 1 <= step <= 3600:
        raise UsageError(f"--interval is 1s to 1h, not {interval}")
    store = _store(access)

    async def run() -> int:
        with progress("export", last - first, recorded_time) as bar:
            written = Export(store, step).run(output, first, last, lambda at: bar.at(at - first))
            done = await written
        for warning in done.warnings:
            complain(f"the store warns: {warning}")
        if done.unplaced:
            complain(f"{done.unplaced} series have no label that names a node; see --node-label")
        if not done.samples:
            complain("the store has no devices in this time")
            return FAILED
        return OK

    return asyncio.run(run())


def parse_time(text: str, now: float) -> float:
    """`2026-03-01`, `2026-03-01T12:00:00Z`, Unix seconds, `now`, `7d` before it. Raises UsageError."""
    from datetime import UTC, datetime

    from accelwatch.base.durations import is_duration, seconds
    from accelwatch.base.errors import UsageError

    if text == "now":
        return now
    if is_duration(text):
        value = seconds(text)
        return value if text.strip().isdecimal() and value > 1e8 else now - value
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        forms = "2026-03-01, 2026-03-01T12:00:00Z, now or 7d (before now)"
        raise UsageError(f"{text!r} is not a valid time; write {forms}") from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


@subcommand(history, "export")
def _export(
    prometheus: Annotated[
        str,
        option("--prometheus", metavar="URL", help="A store with Prometheus' query API."),
    ],
    output: Annotated[
        Path, option("-o", "--output", metavar="DIR", help="The archive, a new folder.")
    ],
    start: Annotated[
        str, option("--from", metavar="TIME", help="2026-03-01, ...T12:00:00Z, or 7d ago.")
    ],
    end: Annotated[str, option("--to", metavar="TIME", help="As --from.")] = "now",
    interval: Annotated[
        str, option("--interval", metavar="DURATION", help="Time between two samples.")
    ] = "30s",
    node_label: Annotated[
        list[str] | None,
        option(
            "--node-label", metavar="NAME", help="The label that names the node; may be repeated."
        ),
    ] = None,
    matchers: Annotated[
        str, option("--matchers", metavar="TEXT", help='Added to every query: cluster="a".')
    ] = "",
    tenant: Annotated[str, option("--tenant", metavar="NAME", help="Sent as X-Scope-OrgID.")] = "",
    user: Annotated[
        str, option("--user", metavar="NAME", help="User name, with --password-file.")
    ] = "",
    password_file: Annotated[
        str | None, option("--password-file", metavar="FILE", help="The user's password.")
    ] = None,
    token_file: Annotated[
        str | None, option("--token-file", metavar="FILE", help="A bearer token.")
    ] = None,
    ca_file: Annotated[
        str | None, option("--ca-file", metavar="FILE", help="Certificate authority of the store.")
    ] = None,
) -> None:
    """Create an archive from a Prometheus-compatible store; exit code 1 if it has no data."""
    access = StoreAccess(
        url=prometheus,
        node_label=tuple(node_label or ()),
        matchers=matchers,
        tenant=tenant,
        user=user,
        password_file=password_file,
        token_file=token_file,
        ca_file=ca_file,
    )
    code = history_export(access, start, end, output, interval)
    if code == OK and stdout_is_terminal():
        history_show(output, as_json=False)
    raise click.exceptions.Exit(code)
