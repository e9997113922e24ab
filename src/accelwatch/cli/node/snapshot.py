"""The one-shot path: read once (or every interval), choose devices, write one document each time."""

from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING

from accelwatch.base.exit_codes import OK
from accelwatch.cli.arguments import Arguments
from accelwatch.cli.output import emit, output_mode
from accelwatch.cli.plan import Plan, plan

if TYPE_CHECKING:
    from accelwatch.exporter import Exporter
    from accelwatch.node.workloads.one_shot_lookup import OneShotLookup
    from accelwatch.schema.snapshot import Snapshot


def snapshots(request: Plan, meanwhile: Callable[[], object]) -> "Iterator[Snapshot]":
    """One snapshot, or one each interval until the count is reached.

    `meanwhile` is called once, where it can be while devices are being read.
    """
    if request.interval_s is not None:
        meanwhile()
        yield from _repeatedly(request)
        return
    recording = request.recording
    if recording is not None:
        from accelwatch.node.snapshots import first_recorded

        meanwhile()
        yield first_recorded(
            recording, argv=request.arguments.argv, within_s=request.settings.timeout_s
        )
        return
    from accelwatch.node.sampler.one_shot import OneShot

    reading = OneShot(request.settings)
    # Its collector is at work by now: a thread of this process no longer makes that start slower.
    owner_lookup = _owners(request)
    meanwhile()
    snapshot = reading.finish()
    yield snapshot if owner_lookup is None else owner_lookup.annotate(snapshot)


def _owners(request: Plan) -> "OneShotLookup | None":
    """Looks up whose the devices are; None of a recording, which tells it itself."""
    if request.arguments.replay is not None:
        return None
    from accelwatch.node.workloads.one_shot_lookup import OneShotLookup

    return OneShotLookup(request.settings.root)


def _repeatedly(request: Plan) -> "Iterator[Snapshot]":
    from accelwatch.node.snapshots import read_repeatedly

    owner_lookup: OneShotLookup | None = None
    try:
        for snapshot in read_repeatedly(request.settings, count=request.arguments.count):
            if owner_lookup is None:
                owner_lookup = _owners(request)
            if owner_lookup is None:
                yield snapshot
                continue
            owned = owner_lookup.annotate(snapshot)
            owner_lookup.continue_in_background()
            yield owned
    finally:
        if owner_lookup is not None:
            owner_lookup.stop()


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
    from accelwatch.node.query.fields import fields

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
