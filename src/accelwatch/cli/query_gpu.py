"""`--query-gpu`: nvidia-smi's query dialect, answered for every vendor."""

import msgspec

from accelwatch.cli.arguments import Arguments, split_list
from accelwatch.cli.documents import chosen, narrate, status
from accelwatch.cli.output import emit
from accelwatch.cli.plan import plan
from accelwatch.cli.snapshot import snapshots
from accelwatch.exit_codes import OK
from accelwatch_nvidia_smi import parse_fields, parse_format, render
from accelwatch_nvidia_smi.fields import needs_group, query_fields


def run_query(arguments: Arguments) -> int:
    """Answer the query; returns the exit code. Raises UsageError for an unknown field or format."""
    if arguments.query_gpu == "help":
        emit(arguments.output, query_help().encode())
        return OK
    asked = parse_fields(arguments.query_gpu or "")
    header, units = parse_format(arguments.format or "csv")
    groups = {needs_group(field) for field in asked} - {""}
    wanted = plan(
        msgspec.structs.replace(
            arguments, format=None, collect=(*split_list(arguments.collect), *sorted(groups))
        )
    )
    code = OK
    told = False
    for snapshot in snapshots(wanted):
        if not told:
            narrate(snapshot)
            told = True
        shown = chosen(snapshot, wanted)
        text = render(shown, asked, header=header, units=units)
        emit(arguments.output, text.encode())
        code = status(snapshot, arguments.strict)
        header = header and arguments.output != "-"
    return code


def query_help() -> str:
    """Every field with its unit; a field that is not read is marked."""
    lines: list[str] = []
    for name, field in query_fields().items():
        read = field.identity or field.series or field.special
        same = f"  same as {field.names[0]}" if name != field.names[0] else ""
        unit = f" [{field.unit}]" if field.unit else ""
        lines.append(f"{name}{unit}{same}{'' if read else '  always [N/A] here'}\n")
    return "".join(lines)
