"""A fleet on a pipe: a document, or one each interval, and the exit code it means."""

import asyncio
import sys
import time
from collections.abc import Collection, Sequence

from accelwatch.base.exit_codes import FAILED, NO_DEVICE, OK, PERMISSION, UNHEALTHY
from accelwatch.cli.fleet.fleet_hub import Hub
from accelwatch.cli.fleet.fleet_plan import PrintOptions
from accelwatch.cli.fleet.tables.devices import device_csv, device_table
from accelwatch.cli.fleet.tables.documents import heading, hub_lines, json_document
from accelwatch.cli.fleet.tables.groups import group_csv, group_table
from accelwatch.cli.fleet.tables.nodes import node_csv, node_table
from accelwatch.cli.output import complain, emit
from accelwatch.cli.progress import counting, progress
from accelwatch.cli.table_lines import Style
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession
from accelwatch.fleet.hub_client.once import (
    FleetDocuments,
    FleetReader,
    HubReader,
    plainly,
    silent,
    unread,
    wait_for_answers,
)
from accelwatch.fleet.hub_states import HUB_DOWN
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import StoreState
from accelwatch.schema.display import colour, stdout_is_terminal, terminal_width, utf8

_UNHEALTHY_DEVICES = ("lost", "unresponsive", "missing", "stale", "unreachable")
_UNHEALTHY_NODES = ("down", "stale", "never")
_MOST_NAMED = 8


def run_once(hub: Hub, printing: PrintOptions) -> int:
    """Print the requested document; returns the exit code. Raises AccelwatchError."""
    hub.wait()
    if remark := hub.remark():
        complain(remark)
    return asyncio.run(_run(hub, printing))


async def _run(hub: Hub, printing: PrintOptions) -> int:
    timeout_s = max(printing.timeout_s, 1.0)
    sessions = [HubSession(address, timeout_s) for address in hub.addresses]
    try:
        if hub.embedded:
            with progress("asking nodes", None, counting("nodes")) as bar:
                await wait_for_answers(sessions[0], printing.timeout_s, bar.at, hung=hub.hung_nodes)
        return await _repeat(hub, printing, _reader(sessions))
    except TargetFault as fault:
        raise plainly(fault, hub.exit_reason() or hub.name) from fault
    finally:
        for session in sessions:
            await session.close()


def _reader(sessions: Sequence[HubSession]) -> FleetReader:
    if len(sessions) == 1:
        return HubReader(sessions[0])
    from accelwatch.fleet.hub_client.several.once import SeveralReader

    return SeveralReader(sessions)


async def _repeat(hub: Hub, printing: PrintOptions, reader: FleetReader) -> int:
    """Documents at the interval, without drift."""
    due = time.monotonic()
    done = 0
    while True:
        answer, document = await _document(hub, printing, reader)
        if not done:
            for problem in problems(answer):
                if problem != hub.remark():
                    complain(problem)
            _report_empty(answer)
        if hub.answers_for_all and not done:
            _report_silent(answer, printing)
        emit(printing.output, document, printing.permissions)
        done += 1
        if printing.interval_s is None or done == printing.count:
            any_is_silent = hub.answers_for_all and bool(silent(answer.nodes_json))
            is_partial = any_is_silent or any(hub.state == HUB_DOWN for hub in answer.hubs)
            return FAILED if is_partial else status(answer, strict=printing.strict)
        due = max(due + printing.interval_s, time.monotonic())
        await asyncio.sleep(due - time.monotonic())


async def _document(
    hub: Hub, printing: PrintOptions, reader: FleetReader
) -> tuple[FleetDocuments, bytes]:
    answer = await reader.fetch(printing.rows, printing.query)
    match printing.form:
        case "json":
            to_terminal = printing.output == "-" and stdout_is_terminal()
            pretty = printing.pretty or (to_terminal and printing.interval_s is None)
            return answer, json_document(answer, rows=printing.rows, pretty=pretty)
        case "prometheus":
            return answer, await reader.metrics()
        case "csv":
            return answer, await _csv(printing, reader, answer)
        case _:
            return answer, await _table(hub, printing, reader, answer)


async def _csv(printing: PrintOptions, reader: FleetReader, answer: FleetDocuments) -> bytes:
    match printing.rows:
        case "devices":
            return device_csv(answer, printing.field_names)
        case "groups":
            return group_csv(answer)
        case _:
            return node_csv(await reader.view(), answer.nodes)


async def _table(
    hub: Hub, printing: PrintOptions, reader: FleetReader, answer: FleetDocuments
) -> bytes:
    nodes = printing.rows == "nodes" and bool(answer.nodes)
    view = await reader.view() if nodes else None
    return table_of(printing, answer, view, hub.name)


def table_of(
    printing: PrintOptions, answer: FleetDocuments, view: FleetView | None, name: str
) -> bytes:
    """The requested table; only a table of nodes needs the picture."""
    to_stdout = printing.output == "-"
    style = Style(
        colour=to_stdout and colour(printing.color, sys.stdout),
        ascii_only=to_stdout and not utf8(sys.stdout),
        width=terminal_width() if to_stdout and stdout_is_terminal() else None,
    )
    lines = [heading(answer, name), *hub_lines(answer)]
    if printing.by is not None:
        lines += group_table(answer, printing.by, style)
    elif printing.rows == "devices":
        lines += device_table(answer, style)
    elif view is not None and answer.nodes:
        lines += node_table(view, answer, style)
    else:
        lines.append("no node")
    return ("\n".join(lines) + "\n").encode()


def _report_silent(answer: FleetDocuments, printing: PrintOptions) -> None:
    names = silent(answer.nodes_json)
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        complain(
            f"{len(names)} of {len(answer.nodes)} nodes did not answer within {printing.timeout}: "
            f"{', '.join(names[:_MOST_NAMED])}{more}; give them more time with --timeout"
        )


def problems(answer: FleetDocuments) -> list[str]:
    """Outages, and what is wrong with the hub's inventory, its discoveries, the store that it reads."""
    fleet = answer.fleet
    trouble = (
        "" if fleet.store is None else _wrong_with(fleet.store, has_nodes=fleet.nodes_total > 0)
    )
    waiting = [
        f"discovery {kind} has not answered yet; give it more time with --timeout"
        for kind in fleet.discovering
    ]
    return [*fleet.outage_lines, *fleet.problems, *waiting, *([trouble] if trouble else [])]


def _wrong_with(store: StoreState, *, has_nodes: bool) -> str:
    """Why a store reports too little; `has_nodes` is whether it reported any node."""
    if store.fault:
        return f"{store.address}: {store.fault}"
    if unread(store):
        return f"{store.address}: has not answered yet; give it more time with --timeout"
    if store.unplaced_series and not has_nodes:
        return (
            f"{store.address}: {store.unplaced_series} series of accelerators have no label that "
            "names a node; give their scrape jobs a label `node`, or set instance_as_node: true in "
            "the section prometheus of --config.file"
        )
    return ""


def _report_empty(answer: FleetDocuments) -> None:
    """Say why there is no node where nothing is wrong."""
    store = answer.fleet.store
    if store is not None and not answer.fleet.nodes_total and not problems(answer):
        complain(f"{store.address}: has no series of accelerators that are known here")


def status(answer: FleetDocuments, *, strict: bool) -> int:
    """The exit code of a document that was printed."""
    nodes, devices = answer.fleet.nodes, answer.fleet.devices
    if answer.fleet.nodes_total and not (nodes.get("up", 0) or nodes.get("slow", 0)):
        return FAILED
    if not answer.fleet.nodes_total and problems(answer):
        return FAILED
    unread = [backend.reason for node in answer.nodes for backend in node.unusable]
    if not answer.fleet.devices_total:
        return _of_nothing(unread)
    bad = any(devices.get(state, 0) for state in _UNHEALTHY_DEVICES)
    silent = any(nodes.get(state, 0) for state in _UNHEALTHY_NODES)
    return UNHEALTHY if strict and (bad or silent or unread) else OK


def _of_nothing(unread: Collection[str]) -> int:
    """The exit code where nodes answer and none has a device; `unread` are reasons of backends."""
    if "permission" in unread:
        return PERMISSION
    return FAILED if unread else NO_DEVICE
