"""What `history show` and `history check` print of an archive."""

from pathlib import Path
from typing import TYPE_CHECKING

from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.history.archive_arguments import need_pyarrow, time_text
from accelwatch.cli.output import complain, write_stdout
from accelwatch.schema.display import stdout_is_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accelwatch.archive.history.check import Finding
    from accelwatch.archive.history.summary import Summary


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
