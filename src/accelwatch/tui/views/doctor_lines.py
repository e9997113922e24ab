"""What became of each backend, and why a device is missing or unwell, as lines. Pure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.absence import Absence
from accelwatch.schema.device import DeviceState
from accelwatch.schema.display import printable
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from accelwatch.schema.status.verdict import verdict
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of, wrapped
from accelwatch.tui.drawing.sentence import sentence

if TYPE_CHECKING:
    from accelwatch.tui.fleet.node_view import NodeStatus

_STATE_LABELS = {
    BackendState.OK: ("ok", "ok", "in use"),
    BackendState.ABSENT: ("excluded", "dim", "not present"),
    BackendState.UNAVAILABLE: ("degraded", "warn", "here, but cannot be used"),
    BackendState.FAILED: ("lost", "bad", "crashed or broke its contract; excluded for a while"),
}
Own = Mapping[tuple[str, ...], Number]
_SILENCE_REMEDY = "see that the node is on, that its agent runs, and that the hub can reach it"


def lines(
    shot: Snapshot, width: int, glyphs: Glyphs, node_status: "NodeStatus | None" = None
) -> list[Line]:
    """What is broken, what is used, one line of what is not here, errors, the monitor's own use.

    Of a silent node of a fleet: that first, and its last report as old.
    """
    silent = node_status is not None and not node_status.live
    result: list[Line] = []
    backends = shot.backends
    if node_status is not None and silent:
        backends = tuple(status for status in backends if status.reason != Absence.STALE.value)
        result += _silence(node_status, shot, width, glyphs)
        if backends:
            result.append(_title("Its last known state", width, glyphs))
    result += _unhealthy(shot, width, glyphs, silent=silent)
    here = [status for status in backends if status.state is not BackendState.ABSENT]
    for status in sorted(here, key=lambda status: status.state is BackendState.OK):
        result += _backend(status, shot.own, shot, width, glyphs)
        result.append([])
    result += _not_here(
        [status for status in backends if status.state is BackendState.ABSENT], width
    )
    result += _errors(shot, width, glyphs)
    return result + _usage(shot.own, width, glyphs)


def _silence(node_status: "NodeStatus", shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """Which state a node is in, since when, why, what to do, and what is not known for that."""
    from accelwatch.tui.drawing.node_signs import NODE_ROLES, node_glyph

    role = NODE_ROLES.get(node_status.state, "bad")
    since = (
        f", last answered {fmt.ago(node_status.age_s)} ago" if node_status.age_s is not None else ""
    )
    head = "has never answered" if node_status.age_s is None else f"is {node_status.state}{since}"
    name = printable(node_status.node, ascii_only=glyphs.ascii_only)
    sign = node_glyph(node_status.state, glyphs)
    result = [clipped([(f" {sign} ", role), (name, "strong"), (f" {head}", role)], width)]
    silent = [backend for backend in shot.backends if backend.reason == Absence.STALE.value]
    for status in silent:
        result += _facts(
            "why", printable(status.message, ascii_only=glyphs.ascii_only), width, "text"
        )
    remedies = [backend.remedy for backend in silent if backend.remedy] or [_SILENCE_REMEDY]
    for remedy in remedies:
        result += _facts("do", remedy, width, "accent")
    stale = sum(fmt.is_stale(view) for view in shot.devices)
    if stale:
        them = "its device is" if stale == 1 else f"its {stale} devices are"
        result += _facts("so", f"{them} stale: no current data", width, "dim")
    return [*result, []]


def _title(text: str, width: int, glyphs: Glyphs) -> Line:
    rule = glyphs.rule
    return clipped([(f"{rule} ", "rule"), (text, "title"), (f" {rule * width}", "rule")], width)


def _backend(
    status: BackendStatus, own: Own, shot: Snapshot, width: int, glyphs: Glyphs
) -> list[Line]:
    sign, role, label = _STATE_LABELS[status.state]
    devices = f"{status.devices} device{'s' if status.devices != 1 else ''}"
    head: Line = [
        (f" {glyphs.states[_state(sign)]} ", role),
        (fit(status.name, 12), "strong"),
        (label, role),
        (f", {devices}" if status.devices else "", "text"),
        (f" through {status.source}" if status.source else "", "dim"),
    ]
    result = [clipped(head, width)]
    versions = ", ".join(f"{name} {version}" for name, version in status.versions.items())
    if versions:
        result += _facts("versions", versions, width, "dim")
    if cycles := _cycles(status.name, own, shot):
        result += _facts("readings", cycles, width, "dim")
    unreadable = _unreadable(status.name, own)
    if unreadable:
        result += _facts("absent", unreadable, width, "dim")
    if status.message or status.reason:
        result += _facts("found", status.message or status.reason, width, "text")
    if status.remedy and status.state is not BackendState.ABSENT:
        result += _facts("do", status.remedy, width, "accent")
    return result


def _not_here(absent: Sequence[BackendStatus], width: int) -> list[Line]:
    """The backends that have nothing to read, in a line, and how to see what they looked for."""
    if not absent:
        return []
    names = ", ".join(status.name for status in absent)
    return [*_facts("not here", f"{names} (details: accelwatch doctor --all)", width, "dim"), []]


def _state(sign: str) -> DeviceState:
    return DeviceState(sign)


def _facts(label: str, text: str, width: int, role: str) -> list[Line]:
    rows = wrapped(text, max(width - 16, 12))
    return [
        clipped([(f"   {fit(label if not n else '', 12)} ", "faint"), (row, role)], width)
        for n, row in enumerate(rows)
    ]


def _cycles(name: str, own: Own, shot: Snapshot) -> str:
    duration_s = own.get(("collector_duration_seconds", name))
    if duration_s is None:
        return ""
    texts = [f"last one took {duration_s * 1000:.1f} ms"]
    last = own.get(("collector_last_success_timestamp_seconds", name))
    if last is not None:
        texts.append(f"last good one {fmt.age(max(shot.time - last, 0.0))} ago")
    for result in ("ok", "error", "timeout", "skipped"):
        total = own.get(("collector_cycles_total", name, result))
        if total:
            texts.append(f"{total:.0f} {result}")
    return ", ".join(texts)


def _unreadable(name: str, own: Own) -> str:
    counts = [
        f"{number:.0f} {series[2]}"
        for series, number in own.items()
        if series[0] == "collector_unavailable_quantities" and series[1] == name
    ]
    return f"quantities: {', '.join(counts)}" if counts else ""


def _unhealthy(shot: Snapshot, width: int, glyphs: Glyphs, *, silent: bool) -> list[Line]:
    """Devices in trouble; of a node that is silent not those that are stale for that alone."""
    unhealthy = [
        view
        for view in shot.devices
        if (view.state.value != "ok" or view.health_reasons) and not (silent and fmt.is_stale(view))
    ]
    if not unhealthy:
        return []
    result = [_title("Devices that are not well", width, glyphs)]
    for view in unhealthy:
        sign = fmt.state_glyph(view, glyphs)
        since = fmt.state_lasts(view, shot)
        role = fmt.state_role(view)
        who: Line = [(f" {sign} ", role), (fit(view.device.name, 12), "strong")]
        finding, left = verdict(view, shot), width - width_of(who)
        status = fmt.status_text(view)
        why = sentence(finding, left, glyphs, role, status=status, since=since)
        result.append(clipped([*who, *why], width))
    return [*result, []]


def _errors(shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    errors = [
        failure for failure in shot.errors if failure.absence is not Absence.STALE or failure.code
    ]
    if not errors and not shot.events:
        return []
    result = [_title("Errors and events", width, glyphs)]
    names = {view.device.id: view.device.name for view in shot.devices}
    for error in errors:
        subject = names.get(error.device_id, error.backend)
        result += _facts(subject, f"{error.code}: {error.message}", width, "text")
    for event in shot.events[-30:]:
        subject = names.get(event.device_id, event.subject or event.source)
        text = f"{fmt.clock_time(event.time)} {event.code}: {event.text}"
        result += _facts(subject, text, width, "text")
    return [*result, []]


def _usage(own: Own, width: int, glyphs: Glyphs) -> list[Line]:
    result = []
    for process, label in (("server", "this program"), ("collector", "collector")):
        resident = own.get(("exporter_resident_memory_bytes", process))
        cpu = own.get(("exporter_cpu_seconds_total", process))
        if cpu is not None:
            memory = f", {resident / (1 << 20):.0f} MiB resident" if resident else ""
            result += _facts(label, f"{cpu:.1f} s of processor time{memory}", width, "dim")
    return [_title("What the monitor itself uses", width, glyphs), *result] if result else []
