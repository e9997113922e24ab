"""One process as lines: who it is, what it holds on which devices, its environment. Pure."""

from collections.abc import Collection, Mapping

from accelwatch.schema.display import printable, size
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, wrapped
from accelwatch.tui.local.processes.process_row import command, owner

FOREIGN = (
    "Its number belongs to another pid namespace (a container's or the host's), so nothing more can be "
    "read of it here and no signal can be sent."
)


def same(process: Process, other: Process) -> bool:
    """Whether two rows are the same process, on whichever device."""
    return (process.pid, process.start_time) == (other.pid, other.start_time)


def lines(process: Process, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """Identity first, then a line for each device it is on."""
    ascii_only = glyphs.ascii_only
    started = process.start_time
    facts = [
        ("pid", str(process.pid)),
        ("user", process.user),
        ("command", command(process)),
        ("started", None if started is None else f"{fmt.ago(shot.time - started)} ago"),
        ("owner", owner(process)),
        ("container", process.container),
        ("pod", process.pod),
        ("job", process.job),
        (
            "host memory",
            None if process.host_memory_bytes is None else size(process.host_memory_bytes),
        ),
        ("CPU", fmt.percent(process.cpu_utilization_ratio)),
        (
            "PID namespace",
            "same as accelwatch" if process.pid_namespace == "same" else "another",
        ),
    ]
    result: list[Line] = []
    for label, value in facts:
        result += _fact(
            label, value or _absence(process, label), width, ascii_only, provided=bool(value)
        )
    if process.pid_namespace != "same":
        result += [[(f" {row}", "warn")] for row in wrapped(FOREIGN, max(width - 2, 12))]
    result += [[], clipped([(" On devices", "title")], width)]
    names = {view.device.id: view.device.name for view in shot.devices}
    for other in shot.processes():
        if same(process, other):
            memory = other.gpu_memory_bytes
            spans: Line = [
                (f" {fit(names.get(other.device_id, ''), 12)}", "strong"),
                (fit(fmt.NOTHING if memory is None else size(memory), 10, right=True), "memory"),
                (f"   {fit(fmt.percent(other.utilization_ratio), 5, right=True)} busy", "load"),
                (f"   {other.type}", "dim"),
            ]
            result.append(clipped(spans, width))
    return result


_FIELDS = {
    "user": "user",
    "command": "command",
    "started": "start_time",
    "container": "container",
    "pod": "pod",
    "job": "job",
    "host memory": "host_memory_bytes",
}


def _absence(process: Process, label: str) -> str:
    reason = process.absent.get(_FIELDS.get(label, ""))
    return f"{fmt.NOTHING} {reason}" if reason else fmt.NOTHING


def _fact(label: str, value: str, width: int, ascii_only: bool, *, provided: bool) -> list[Line]:
    rows = wrapped(printable(value, ascii_only=ascii_only), max(width - 16, 12))
    return [
        clipped(
            [
                (f" {fit(label if not n else '', 13)} ", "dim"),
                (row, "text" if provided else "faint"),
            ],
            width,
        )
        for n, row in enumerate(rows)
    ]


def environment_lines(
    environment: Mapping[str, str] | str, width: int, glyphs: Glyphs, shown: Collection[str]
) -> list[tuple[str, Line]]:
    """The environment sorted by name, each line with the name that it is about.

    The values of the names that are `shown` only; a value is one line until it is.
    """
    entries: list[tuple[str, Line]] = [("", clipped([(" Environment", "title")], width))]
    if isinstance(environment, str):
        return [*entries, ("", [(f" {environment}", "warn")])]
    hint = "e hides the values" if shown else "values are hidden; e shows those on the screen"
    entries.append(("", clipped([(f" {hint}", "dim")], width)))
    for name in sorted(environment):
        label = printable(name, ascii_only=glyphs.ascii_only)
        is_shown = name in shown
        value = printable(environment[name], ascii_only=glyphs.ascii_only) if is_shown else "****"
        for n, row in enumerate(wrapped(value, max(width - len(label) - 4, 16))):
            head = f" {label}=" if not n else "   "
            line = clipped([(head, "dim"), (row, "text" if is_shown else "faint")], width)
            entries.append((name, line))
    return entries
