"""The one-shot path: read once (or every interval), choose devices, write one document each time."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from accelwatch.cli.arguments import Arguments, split_list
from accelwatch.cli.output import complain, emit
from accelwatch.durations import seconds
from accelwatch.errors import UsageError
from accelwatch.exit_codes import NO_DEVICE, NOTHING_READ, OK, PERMISSION, UNWELL
from accelwatch.fields import fields, resolve
from accelwatch.sampler.settings import CollectSettings
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.metrics import by_key, nearest, opt_in_groups
from accelwatch.schema.series import series_of
from accelwatch.schema.snapshot import BackendState, Snapshot

if TYPE_CHECKING:
    from accelwatch.expr import Expression

FORMATS = ("table", "json", "csv", "prometheus")
MIN_INTERVAL_S = 0.25


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments, checked and understood."""

    format: str
    fields: tuple[str, ...]
    condition: "Expression | None"
    settings: CollectSettings
    interval_s: float | None
    arguments: Arguments


def plan(arguments: Arguments) -> Plan:
    """What to do. Raises UsageError or ExpressionError before anything is read."""
    names = resolve(arguments.fields.split(",")) if arguments.fields else ()
    interval_s = None
    if arguments.watch is not None:
        interval_s = max(MIN_INTERVAL_S, seconds(arguments.watch))
    elif arguments.count is not None:
        raise UsageError("--count goes with --watch")
    if arguments.color not in ("auto", "always", "never"):
        raise UsageError(f"--color is auto, always or never, not {arguments.color!r}")
    condition = None
    if arguments.filter is not None:
        from accelwatch.expr import compile_condition, device_names

        condition = compile_condition(arguments.filter, device_names())
    return Plan(
        format=_format(arguments),
        fields=names,
        condition=condition,
        settings=_settings(arguments, names),
        interval_s=interval_s,
        arguments=arguments,
    )


def _format(arguments: Arguments) -> str:
    if arguments.query_gpu is not None:
        return "nvidia-smi"
    name = arguments.format or ("json" if arguments.json else "table")
    if name not in FORMATS:
        close = nearest(name, list(FORMATS))
        raise UsageError(
            f"no format {name!r}; "
            + (f"did you mean {close}?" if close else "there are " + ", ".join(FORMATS))
        )
    if arguments.json and name != "json":
        raise UsageError(f"--json and --format {name} contradict each other")
    return name


def _groups(arguments: Arguments, names: tuple[str, ...]) -> frozenset[str]:
    asked = set(split_list(arguments.collect))
    known = set(opt_in_groups())
    if "all" in asked:
        return frozenset(known)
    for group in asked - known:
        raise UsageError(f"no opt-in group {group!r}; there are {', '.join(opt_in_groups())}")
    rows = [by_key().get(series_of(name)[0]) for name in names]
    return frozenset(asked | {row.group for row in rows if row is not None and row.group})


def _without(groups: frozenset[str]) -> frozenset[str]:
    """Backends that have nothing to say here: the host unless asked for, the log of the past."""
    return frozenset({"kernel_log"} if "host" in groups else {"host", "kernel_log"})


def _root(text: str) -> str:
    if not Path(text).is_dir():
        raise UsageError(f"--root {text}: no such directory")
    return str(Path(text).absolute())


def _recording(name: str) -> str:
    """Path of the recording; `demo` is the shipped one unless there is a file of that name."""
    path = Path(name)
    if name == "demo" and not path.exists():
        from accelwatch_replay import demo_file

        return str(demo_file())
    if not path.exists():
        raise UsageError(f"no recording {name!r}; `demo` is the shipped one")
    return str(path.absolute())


def _settings(arguments: Arguments, names: tuple[str, ...]) -> CollectSettings:
    options: dict[str, dict[str, object]] = {}
    backends = split_list(arguments.backend)
    if arguments.replay is not None:
        options["replay"] = {"file": _recording(arguments.replay)}
        backends = backends or ("replay",)
    groups = _groups(arguments, names)
    return CollectSettings(
        backends=backends,
        without=_without(groups),
        one_shot=arguments.watch is None,
        interval_s=2.0
        if arguments.watch is None
        else max(MIN_INTERVAL_S, seconds(arguments.watch)),
        timeout_s=seconds(arguments.timeout),
        groups=groups,
        argv=arguments.argv,
        root=_root(arguments.root),
        options=options,
    )


def chosen(snapshot: Snapshot, wanted: Plan) -> Snapshot:
    """The snapshot with only the devices that were asked for. Raises UnmetError."""
    arguments = wanted.arguments
    if not (arguments.device or arguments.visible or wanted.condition):
        return snapshot
    from accelwatch.selection import matching, select, visible

    views = list(snapshot.devices)
    if arguments.device:
        views = select(views, split_list(arguments.device))
    if arguments.visible:
        views = visible(views, os.environ)
    if wanted.condition is not None:
        views = matching(views, wanted.condition, snapshot.host)
    return msgspec.structs.replace(snapshot, devices=tuple(views))


def render(snapshot: Snapshot, wanted: Plan) -> bytes:
    """The document."""
    arguments = wanted.arguments
    match wanted.format:
        case "json":
            from accelwatch_json import JsonExporter

            pretty = arguments.pretty or (_to_terminal(arguments) and wanted.interval_s is None)
            options = {"fields": wanted.fields, "pretty": pretty}
            return JsonExporter().render(snapshot, options)
        case "csv":
            from accelwatch_csv import CsvExporter

            return CsvExporter().render(snapshot, {"fields": wanted.fields})
        case "prometheus":
            from accelwatch_prometheus import PrometheusExporter

            asked = {"profile": arguments.profile, "groups": wanted.settings.groups}
            return PrometheusExporter().render(snapshot, asked)
        case _:
            return _table(snapshot, wanted)


def _to_terminal(arguments: Arguments) -> bool:
    return arguments.output == "-" and sys.stdout.isatty()


def _table(snapshot: Snapshot, wanted: Plan) -> bytes:
    from accelwatch.cli.table import Style
    from accelwatch.cli.table import render as table
    from accelwatch.display import colour, utf8

    to_stdout = wanted.arguments.output == "-"
    style = Style(
        colour=to_stdout and colour(wanted.arguments.color, sys.stdout),
        ascii_only=to_stdout and not utf8(sys.stdout),
    )
    return table(snapshot, wanted.fields, style).encode()


def status(snapshot: Snapshot, strict: bool) -> int:
    """The exit code of a snapshot that was written."""
    if not snapshot.devices:
        failed = [b for b in snapshot.backends if b.state is not BackendState.ABSENT and b.reason]
        if any(backend.reason == "permission" for backend in failed):
            return PERMISSION
        broken = [b for b in failed if b.vendor not in ("host", "kernel")]
        return NOTHING_READ if broken else NO_DEVICE
    reasons = {view.reading.absent.get(("*",)) for view in snapshot.devices}
    if reasons == {Absence.PERMISSION}:
        return PERMISSION
    unwell = (DeviceState.LOST, DeviceState.UNRESPONSIVE)
    if strict and any(view.state in unwell for view in snapshot.devices):
        return UNWELL
    return OK


def _narrate(snapshot: Snapshot) -> None:
    for backend in snapshot.backends:
        if backend.state in (BackendState.UNAVAILABLE, BackendState.FAILED):
            remedy = f"; {backend.remedy}" if backend.remedy else ""
            complain(f"{backend.name}: {backend.message or backend.reason}{remedy}")


def snapshots(wanted: Plan) -> Iterator[Snapshot]:
    """One snapshot, or one each interval until the count is reached."""
    from accelwatch.readings import read_once, read_repeatedly

    if wanted.interval_s is None:
        yield read_once(wanted.settings)
    else:
        yield from read_repeatedly(wanted.settings, count=wanted.arguments.count)


def run(arguments: Arguments) -> int:
    """The whole command; returns the exit code."""
    if arguments.fields == "help":
        emit(arguments.output, fields_help().encode())
        return OK
    if arguments.query_gpu is not None:
        from accelwatch.cli.query_gpu import run_query

        return run_query(arguments)
    wanted = plan(arguments)
    code = OK
    told = False
    for snapshot in snapshots(wanted):
        if not told and wanted.format != "table":
            _narrate(snapshot)
            told = True
        shown = chosen(snapshot, wanted)
        emit(arguments.output, render(shown, wanted))
        code = _status_of(snapshot, shown, wanted)
    return code


def _status_of(snapshot: Snapshot, shown: Snapshot, wanted: Plan) -> int:
    if not shown.devices and snapshot.devices:
        return OK
    return status(shown, wanted.arguments.strict)


def fields_help() -> str:
    """What `--fields help` prints."""
    rows = [
        (".".join((field.name, *(f"<{label}>" for label in field.labels))), field.unit, field.help)
        for field in fields()
    ]
    name_width = max(len(name) for name, _, _ in rows)
    unit_width = max(len(unit) for _, unit, _ in rows)
    return "".join(
        f"{name:{name_width}}  {unit:{unit_width}}  {text}\n" for name, unit, text in rows
    )
