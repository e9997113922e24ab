"""The host of the devices in few words, where it was collected. Pure."""

from collections.abc import Iterator

from accelwatch.schema.snapshot import DeviceView
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.lines import Line, width_of

# Share of a minute in which tasks waited for a resource, from which it is a warning.
_WAITING = 0.1
_RESOURCES = ("cpu", "memory", "io")


def host_line(node: DeviceView | None, width: int) -> Line:
    """`  cpu 12%  load 3.2/64  mem 120/512 GiB  waiting cpu 1% io 0%`; the last give way first."""
    line: Line = []
    for name, text, role in _fields(node) if node is not None else ():
        field: Line = [(f"  {name} ", "dim"), (text, role)]
        if width_of([*line, *field]) > width:
            break
        line += field
    return line


def _fields(node: DeviceView) -> Iterator[tuple[str, str, str]]:
    busy = fmt.number(node, "host_cpu_utilization_ratio")
    if busy is not None:
        yield "cpu", fmt.percent(busy), "text"
    load, count = fmt.number(node, "host_load_average"), fmt.number(node, "host_cpu_count")
    if load is not None:
        of = f"/{count:.0f}" if count is not None else ""
        yield "load", f"{load:.1f}{of}", "warn" if count and load > count else "text"
    used = fmt.number(node, "host_memory_used_bytes")
    size = fmt.number(node, "host_memory_size_bytes")
    if used is not None:
        of = f"/{fmt.gibibytes(size)}" if size is not None else ""
        yield "mem", f"{fmt.gibibytes(used)}{of} GiB", "text"
    waits = {
        name: node.reading.values.get(("host_pressure_ratio", name, "some")) for name in _RESOURCES
    }
    pressures = {name: share for name, share in waits.items() if share is not None}
    if pressures:
        text = " ".join(f"{name} {fmt.percent(share)}" for name, share in pressures.items())
        yield "waiting", text, "warn" if max(pressures.values()) >= _WAITING else "text"
