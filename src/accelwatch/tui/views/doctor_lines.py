"""What became of each backend, and why a device is missing or unwell, as lines. Pure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from accelwatch.base.absence import Absence
from accelwatch.exposition.display import printable
from accelwatch.schema.device import DeviceState
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from accelwatch.schema.verdict import verdict
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of, wrapped
from accelwatch.tui.drawing.sentence import sentence

if TYPE_CHECKING:
    from accelwatch.tui.fleet.node_view import Heard

_WORDS = {
    BackendState.OK: ("ok", "ok", "in use"),
    BackendState.ABSENT: ("excluded", "dim", "not present"),
    BackendState.UNAVAILABLE: ("degraded", "warn", "here, but cannot be used"),
    BackendState.FAILED: ("lost", "bad", "crashed or broke its contract; held out for a while"),
}
Own = Mapping[tuple[str, ...], Number]
_LOOK = "see that the node is on, that its agent runs, and that the hub can reach it"


def lines(shot: Snapshot, width: int, glyphs: Glyphs, heard: "Heard | None" = None) -> list[Line]:
    """What is broken, what is used, one line of what is not here, errors, the monitor's own use.

    Of a node of a fleet that is not heard: that first, and what it told before as what it is.
    """
    silent = heard is not None and not heard.live
    given: list[Line] = []
    known = shot.backends
    if heard is not None and silent:
        known = tuple(status for status in known if status.reason != Absence.STALE.value)
        given += _silence(heard, shot, width, glyphs)
        if known:
            given.append(_title("Its last known state", width, glyphs))
    given += _unwell(shot, width, glyphs, silent=silent)
    here = [status for status in known if status.state is not BackendState.ABSENT]
    for status in sorted(here, key=lambda status: status.state is BackendState.OK):
        given += _backend(status, shot.own, shot, width, glyphs)
        given.append([])
    given += _not_here([status for status in known if status.state is BackendState.ABSENT], width)
    given += _errors(shot, width, glyphs)
    return given + _usage(shot.own, width, glyphs)


def _silence(heard: "Heard", shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """Which state a node is in, since when, why, what to do, and what is not known for that."""
    from accelwatch.tui.fleet.signs import NODE_ROLES, node_glyph

    role = NODE_ROLES.get(heard.state, "bad")
    since = f", last heard {fmt.ago(heard.age_s)} ago" if heard.age_s is not None else ""
    head = "has never answered" if heard.age_s is None else f"is {heard.state}{since}"
    name = printable(heard.node, ascii_only=glyphs.ascii_only)
    sign = node_glyph(heard.state, glyphs)
    given = [clipped([(f" {sign} ", role), (name, "strong"), (f" {head}", role)], width)]
    silent = [backend for backend in shot.backends if backend.reason == Absence.STALE.value]
    for status in silent:
        given += _facts(
            "why", printable(status.message, ascii_only=glyphs.ascii_only), width, "text"
        )
    remedies = [backend.remedy for backend in silent if backend.remedy] or [_LOOK]
    for remedy in remedies:
        given += _facts("do", remedy, width, "accent")
    stale = sum(fmt.is_stale(view) for view in shot.devices)
    if stale:
        them = "its device is" if stale == 1 else f"its {stale} devices are"
        given += _facts("so", f"{them} stale: nothing is known of now", width, "dim")
    return [*given, []]


def _title(text: str, width: int, glyphs: Glyphs) -> Line:
    rule = glyphs.rule
    return clipped([(f"{rule} ", "rule"), (text, "title"), (f" {rule * width}", "rule")], width)


def _backend(
    status: BackendStatus, own: Own, shot: Snapshot, width: int, glyphs: Glyphs
) -> list[Line]:
    sign, role, word = _WORDS[status.state]
    devices = f"{status.devices} device{'s' if status.devices != 1 else ''}"
    head: Line = [
        (f" {glyphs.states[_state(sign)]} ", role),
        (fit(status.name, 12), "strong"),
        (word, role),
        (f", {devices}" if status.devices else "", "text"),
        (f" through {status.source}" if status.source else "", "dim"),
    ]
    given = [clipped(head, width)]
    versions = ", ".join(f"{name} {version}" for name, version in status.versions.items())
    if versions:
        given += _facts("versions", versions, width, "dim")
    if cycles := _cycles(status.name, own, shot):
        given += _facts("readings", cycles, width, "dim")
    unreadable = _unreadable(status.name, own)
    if unreadable:
        given += _facts("absent", unreadable, width, "dim")
    if status.message or status.reason:
        given += _facts("found", status.message or status.reason, width, "text")
    if status.remedy and status.state is not BackendState.ABSENT:
        given += _facts("do", status.remedy, width, "accent")
    return given


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
    took = own.get(("collector_duration_seconds", name))
    if took is None:
        return ""
    parts = [f"last one took {took * 1000:.1f} ms"]
    last = own.get(("collector_last_success_timestamp_seconds", name))
    if last is not None:
        parts.append(f"last good one {fmt.age(max(shot.time - last, 0.0))} ago")
    for result in ("ok", "error", "timeout", "skipped"):
        total = own.get(("collector_cycles_total", name, result))
        if total:
            parts.append(f"{total:.0f} {result}")
    return ", ".join(parts)


def _unreadable(name: str, own: Own) -> str:
    counts = [
        f"{number:.0f} {series[2]}"
        for series, number in own.items()
        if series[0] == "collector_unavailable_quantities" and series[1] == name
    ]
    return f"quantities: {', '.join(counts)}" if counts else ""


def _unwell(shot: Snapshot, width: int, glyphs: Glyphs, *, silent: bool) -> list[Line]:
    """Devices in trouble; of a node that is silent not those that are stale for that alone."""
    unwell = [
        view
        for view in shot.devices
        if (view.state.value != "ok" or view.health_reasons) and not (silent and fmt.is_stale(view))
    ]
    if not unwell:
        return []
    given = [_title("Devices that are not well", width, glyphs)]
    for view in unwell:
        sign = fmt.state_glyph(view, glyphs)
        since = fmt.state_lasts(view, shot)
        role = fmt.state_role(view)
        who: Line = [(f" {sign} ", role), (fit(view.device.name, 12), "strong")]
        said, left = verdict(view, shot), width - width_of(who)
        word = fmt.state_word(view)
        why = sentence(said, left, glyphs, role, word=word, since=since)
        given.append(clipped([*who, *why], width))
    return [*given, []]


def _errors(shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    errors = [
        failure for failure in shot.errors if failure.absence is not Absence.STALE or failure.code
    ]
    if not errors and not shot.events:
        return []
    given = [_title("Errors and events", width, glyphs)]
    names = {view.device.id: view.device.name for view in shot.devices}
    for error in errors:
        subject = names.get(error.device_id, error.backend)
        given += _facts(subject, f"{error.code}: {error.message}", width, "text")
    for event in shot.events[-30:]:
        subject = names.get(event.device_id, event.subject or event.source)
        text = f"{fmt.clock_time(event.time)} {event.code}: {event.text}"
        given += _facts(subject, text, width, "text")
    return [*given, []]


def _usage(own: Own, width: int, glyphs: Glyphs) -> list[Line]:
    given = []
    for process, label in (("server", "this program"), ("collector", "collector")):
        resident = own.get(("exporter_resident_memory_bytes", process))
        cpu = own.get(("exporter_cpu_seconds_total", process))
        if cpu is not None:
            memory = f", {resident / (1 << 20):.0f} MiB resident" if resident else ""
            given += _facts(label, f"{cpu:.1f} s of processor time{memory}", width, "dim")
    return [_title("What the monitor itself uses", width, glyphs), *given] if given else []
