"""nvidia-smi's own command line, answered for every vendor: its queries, and the answers."""

from collections.abc import Callable

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.exit_codes import OK
from accelwatch.cli.arguments import Arguments, split_list
from accelwatch.cli.node.documents import narrate, select_devices, status
from accelwatch.cli.node.reading import snapshots
from accelwatch.cli.output import emit, output_mode
from accelwatch.cli.plan import plan
from accelwatch.schema.snapshot import Snapshot
from accelwatch_nvidia_smi import (
    Machine,
    app_fields,
    compute_apps,
    document,
    document_groups,
    list_gpus,
    machine_of,
    needed_groups,
    numbered,
    parse_format,
    parse_names,
    query_fields,
    query_gpu,
)
from accelwatch_nvidia_smi.query_field import QueryField

# From the devices to show and the machine they are of; with a header, where there is one.
Answer = Callable[[Snapshot, Machine, bool], str]


class Question(msgspec.Struct, frozen=True):
    """One query: the function that answers it, and the opt-in groups that it must read."""

    answer: Answer
    groups: frozenset[str] = frozenset()


def _load() -> None:
    """Load what the answer will need."""
    import accelwatch_nvidia_smi  # noqa: F401
    from accelwatch.schema.catalogue.lookup import by_key, reading_metrics

    by_key()
    reading_metrics()


def run_nvidia_smi(arguments: Arguments) -> int:
    """Answer the question; returns the exit code. Raises UsageError for an unknown field or format."""
    if (text := help_text(arguments)) is not None:
        emit(arguments.output, text.encode(), output_mode(arguments.output, arguments.mode))
        return OK
    query = question(arguments)
    collect = (*split_list(arguments.collect), *sorted(query.groups))
    request = plan(msgspec.structs.replace(arguments, format=None, collect=collect))
    code = OK
    first = True
    for snapshot in snapshots(request, _load):
        if first:
            narrate(snapshot)
        machine = machine_of(snapshot)
        shown = select_devices(snapshot, request, numbered(split_list(arguments.device), machine))
        text = query.answer(shown, machine, first or arguments.output != "-")
        emit(arguments.output, text.encode(), request.mode)
        code = status(snapshot, arguments.strict)
        first = False
    return code


def question(arguments: Arguments) -> Question:
    """The query of nvidia-smi's options. Raises UsageError where two are given, or half of one."""
    requested = [
        option
        for option, is_set in (
            ("--query-gpu", arguments.query_gpu is not None),
            ("--query-compute-apps", arguments.query_compute_apps is not None),
            ("-L", arguments.list_gpus),
            ("-q -x", arguments.query or arguments.xml),
        )
        if is_set
    ]
    if len(requested) > 1:
        raise UsageError(f"{requested[0]} and {requested[1]} are two questions; ask one of them")
    for flag, is_set in (("--json", arguments.json), ("--fields", arguments.fields is not None)):
        if is_set:
            raise UsageError(
                f"{flag} and {requested[0]} contradict each other; leave one of them out"
            )
    match requested[0]:
        case "--query-gpu":
            return _table(arguments, requested[0], arguments.query_gpu or "")
        case "--query-compute-apps":
            return _table(arguments, requested[0], arguments.query_compute_apps or "")
    if arguments.format is not None:
        raise UsageError(f"--format does not go with {requested[0]}; leave it out")
    if requested[0] == "-L":
        return Question(lambda shown, machine, _: list_gpus(shown, machine))
    if not arguments.query:
        raise UsageError("-x goes with -q: write -q -x")
    if not arguments.xml:
        raise UsageError("-q needs -x (XML); or use --json")
    return Question(lambda shown, machine, _: document(shown, machine), document_groups())


def _table(arguments: Arguments, option: str, names: str) -> Question:
    load_fields, render = _TABLES[option]
    fields = parse_names(names, load_fields(), option)
    header, units = parse_format(arguments.format or "csv", option)

    def answer(shown: Snapshot, machine: Machine, first: bool) -> str:
        return render(shown, machine, fields, header=header and first, units=units)

    return Question(answer, needed_groups(fields))


_TABLES = {
    "--query-gpu": (query_fields, query_gpu),
    "--query-compute-apps": (app_fields, compute_apps),
}


def help_text(arguments: Arguments) -> str | None:
    """The list of fields, when a list's name is `help`."""
    if arguments.query_gpu == "help":
        return fields_text(query_fields())
    if arguments.query_compute_apps == "help":
        return fields_text(app_fields())
    return None


def fields_text(fields: dict[str, QueryField]) -> str:
    """Every field with its unit; a field that is not read is marked."""
    lines: list[str] = []
    for name, field in fields.items():
        same = f"  same as {field.names[0]}" if name != field.names[0] else ""
        unit = f" [{field.unit}]" if field.unit else ""
        lines.append(
            f"{name}{unit}{same}{'' if field.read else f'  always {field.missing} here'}\n"
        )
    return "".join(lines)
