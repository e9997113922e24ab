"""The one-shot path: read once (or every interval), choose devices, write one document each time."""

from collections.abc import Container
from typing import TYPE_CHECKING

from accelwatch.base.exit_codes import OK
from accelwatch.cli.arguments import Arguments
from accelwatch.cli.node.reading import snapshots
from accelwatch.cli.output import emit, output_mode
from accelwatch.cli.plan import plan

if TYPE_CHECKING:
    from accelwatch.exposition.exporter import Exporter


def run(arguments: Arguments) -> int:
    """The whole command; returns the exit code."""
    if arguments.fields == "help":
        emit(
            arguments.output, fields_help().encode(), output_mode(arguments.output, arguments.mode)
        )
        return OK
    if arguments.is_nvidia_smi_call:
        from accelwatch.cli.node.nvidia_smi import run_nvidia_smi

        return run_nvidia_smi(arguments)
    request = plan(arguments)
    code = OK
    explained = False
    header = b""
    exporter: Exporter | None = None

    def load() -> None:
        nonlocal exporter
        from accelwatch.cli.node.documents import load_renderer

        exporter = load_renderer(request.format)

    for snapshot in snapshots(request, load):
        from accelwatch.cli.node.documents import chosen, narrate, render, status_of_shown

        if not explained:
            narrate(snapshot)
            explained = True
        shown = chosen(snapshot, request)
        left_out = len(snapshot.devices) - len(shown.devices)
        document = render(shown, request, exporter, left_out)
        if request.format == "csv" and arguments.output == "-":
            header, document = _once(header, document)
        emit(arguments.output, document, request.mode)
        code = status_of_shown(snapshot, shown, arguments.strict)
    return code


def _once(before: bytes, table: bytes) -> tuple[bytes, bytes]:
    """(the table's header, the table without it when it is the one before)."""
    header, line_end, rows = table.partition(b"\r\n")
    header += line_end
    return header, rows if header == before else table


def fields_help(names: Container[str] | None = None) -> str:
    """What `--fields help` prints; of all fields, or only of those that are known."""
    from accelwatch.schema.fields import fields

    rows = [
        (".".join((field.name, *(f"<{label}>" for label in field.labels))), field.unit, field.help)
        for field in fields()
        if names is None or field.name in names
    ]
    name_width = max(len(name) for name, _, _ in rows)
    unit_width = max(len(unit) for _, unit, _ in rows)
    return "".join(
        f"{name:{name_width}}  {unit:{unit_width}}  {text}\n" for name, unit, text in rows
    )
