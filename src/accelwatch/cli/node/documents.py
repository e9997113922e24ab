"""From a snapshot to the requested document, and to the exit code."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.exit_codes import FAILED, NO_DEVICE, OK, PERMISSION, UNHEALTHY
from accelwatch.cli.arguments import Arguments, split_list
from accelwatch.cli.output import complain
from accelwatch.cli.plan import Plan
from accelwatch.node.store.reports import CRASHED
from accelwatch.schema.device import BROKEN
from accelwatch.schema.snapshot import BackendState, Snapshot, unusable

if TYPE_CHECKING:
    from accelwatch.exposition.exporter import Exporter
    from accelwatch.node.query.visibility import Declared


def chosen(snapshot: Snapshot, request: Plan) -> Snapshot:
    """The snapshot with only the requested devices. Raises UnmetError."""
    return select_devices(snapshot, request, split_list(request.arguments.device))


def select_devices(snapshot: Snapshot, request: Plan, selectors: Sequence[str]) -> Snapshot:
    """The snapshot with what the selectors mean, less what visibility or filter leave out."""
    if not (selectors or request.arguments.visible or request.condition):
        return snapshot
    from accelwatch.node.query.selection import matching, select, visible

    views = list(snapshot.devices)
    if selectors:
        views = select(views, selectors)
    if request.arguments.visible:
        declared = _declared(request)
        views = visible(views, os.environ, declared)
        for fault in declared.faults:
            complain(fault)
    if request.condition is not None:
        views = matching(views, request.condition, snapshot.host)
    return msgspec.structs.replace(snapshot, devices=tuple(views))


def _declared(request: Plan) -> "Declared":
    from accelwatch.node.query.visibility import Declared

    return Declared(request.settings.backends)


def render(
    snapshot: Snapshot, request: Plan, exporter: "Exporter | None", left_out: int = 0
) -> bytes:
    """The document: an exporter's, or the table, which says why it is empty.

    `left_out`: how many devices the selection left out.
    """
    if exporter is None:
        return _table(snapshot, request, left_out)
    from accelwatch.node.rendering import rendered

    arguments = request.arguments
    pretty = arguments.pretty or (_to_terminal(arguments) and request.interval_s is None)
    options = {
        "fields": request.fields,
        "pretty": pretty,
        "profile": arguments.profile,
        "groups": request.settings.groups,
    }
    return rendered(exporter, snapshot, options)


def _to_terminal(arguments: Arguments) -> bool:
    from accelwatch.schema.display import stdout_is_terminal

    return arguments.output == "-" and stdout_is_terminal()


def _table(snapshot: Snapshot, request: Plan, left_out: int) -> bytes:
    from accelwatch.cli.node.table import render as table
    from accelwatch.cli.table_lines import Style
    from accelwatch.schema.display import colour, terminal_width, utf8

    to_stdout = request.arguments.output == "-"
    style = Style(
        colour=to_stdout and colour(request.arguments.color, sys.stdout),
        ascii_only=to_stdout and not utf8(sys.stdout),
        width=terminal_width() if _to_terminal(request.arguments) else None,
    )
    return table(snapshot, request.fields, style, left_out).encode()


def status(snapshot: Snapshot, strict: bool) -> int:
    """The exit code of a snapshot that was written."""
    failed = [b for b in snapshot.backends if b.state is not BackendState.ABSENT and b.reason]
    if not snapshot.devices or _none_read(snapshot):
        if any(backend.reason == "permission" for backend in failed):
            return PERMISSION
        broken = [b for b in failed if b.reads_accelerators]
        return FAILED if broken else NO_DEVICE
    reasons = {view.reading.absent.get(("*",)) for view in snapshot.devices}
    if reasons == {Absence.PERMISSION}:
        return PERMISSION
    if strict and any(view.state in BROKEN for view in snapshot.devices):
        return UNHEALTHY
    return OK


def _none_read(snapshot: Snapshot) -> bool:
    """Whether the drivers of all devices failed: not one of them could be read."""
    unread = {backend.name for backend in unusable(snapshot.backends)}
    return all(view.device.backend in unread for view in snapshot.devices)


def narrate(snapshot: Snapshot) -> None:
    """Print on stderr which backends could not be used, and which devices ended the collector."""
    for backend in snapshot.backends:
        if backend.state in (BackendState.UNAVAILABLE, BackendState.FAILED):
            complain(backend.complaint_and_remedy)
    names = {view.device.id: view.device.name for view in snapshot.devices}
    for error in snapshot.errors:
        if error.code == CRASHED and error.device_id in names:
            complain(f"{names[error.device_id]}: {error.message}")


def status_of_shown(snapshot: Snapshot, shown: Snapshot, strict: bool) -> int:
    """The exit code when a filter may have left nothing of what is there."""
    if not shown.devices and snapshot.devices:
        return OK
    return status(shown, strict)


def load_renderer(name: str) -> "Exporter | None":
    """The format's exporter, None for the table; to be called while devices are still being read.

    Raises PluginError.
    """
    from accelwatch.schema.catalogue.lookup import by_key, reading_metrics

    exporter = None
    if name == "table":
        from accelwatch.cli.node import table as _table_module  # noqa: F401 - loads what `render` needs
    else:
        from accelwatch.node.rendering import exporter_of

        exporter = exporter_of(name)
    by_key()
    reading_metrics()
    return exporter
