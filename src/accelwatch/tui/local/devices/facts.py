"""Everything about one device as lines: state, tiles, identity, events, quantities. Pure."""

from accelwatch.base.absence import Absence
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.display import printable
from accelwatch.schema.snapshot import DeviceView, Snapshot, absences
from accelwatch.schema.status.verdict import verdict
from accelwatch.tui.drawing import format as fmt
from accelwatch.tui.drawing.glyphs import Glyphs
from accelwatch.tui.drawing.lines import Line, clipped, fit, width_of
from accelwatch.tui.drawing.sentence import full_sentence
from accelwatch.tui.local.devices.quantity_lines import (
    column_width,
    in_columns,
    lack_lines,
    quantity_blocks,
    section_title,
)
from accelwatch.tui.local.devices.tiles import tile_lines

_IDENTITY = (
    ("model", "model"),
    ("architecture", "architecture"),
    ("uuid", "uuid"),
    ("serial", "serial"),
    ("part_number", "part number"),
    ("pci_bus_id", "PCI address"),
    ("numa_node", "NUMA node"),
    ("driver_version", "driver"),
    ("firmware_version", "firmware"),
    ("vbios_version", "video BIOS"),
    ("memory_kind", "memory"),
    ("partition_mode", "partitioning"),
    ("partition_profile", "profile"),
    ("parent_id", "part of"),
)
# What most devices have no use for.
_OF_PARTITIONS = frozenset({"partition_mode", "partition_profile", "parent_id"})
_MEMORY_KINDS = {
    "dedicated": "dedicated",
    "shared": "shared with the host",
    "aggregate": "sum over processes (the driver gives no total)",
}


def lines(view: DeviceView, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """All of it."""
    narrow = column_width(width)
    blocks = [_identity_lines(view, narrow, glyphs), *quantity_blocks(view, narrow, glyphs)]
    return [
        *state_lines(view, shot, width, glyphs),
        *tile_lines(view, width, glyphs),
        *_event_lines(view, shot, width, glyphs),
        *in_columns(blocks, width),
        *lack_lines(view, width, glyphs, more=_lacks(view)),
    ]


def _lacks(view: DeviceView) -> list[tuple[str, Absence]]:
    """What of its identity is not known, and why."""
    return [
        (label, view.device.absent.get(name, Absence.UNSUPPORTED))
        for name, label in _IDENTITY
        if getattr(view.device, name) is None and name not in _OF_PARTITIONS
    ]


def state_lines(view: DeviceView, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    """State, since when if known, why."""
    lasts = fmt.state_lasts(view, shot)
    sign = fmt.state_glyph(view, glyphs)
    head: Line = [
        (f" {view.device.name}", "strong"),
        (f"  {sign} {fmt.status_text(view)}", fmt.state_role(view)),
    ]
    more: Line = [
        (f"  since {fmt.clock_time(view.state_since)}, {lasts}" if lasts else "", "dim"),
        (f"   health {view.health.value}", "dim" if view.health.value == "ok" else "warn"),
        (f"   {_sample(view)}", "dim"),
    ]
    while more and width_of([*head, *more]) > width:
        more.pop()
    result = [clipped([*head, *more], width)]
    result += full_sentence(verdict(view, shot), width, glyphs, fmt.state_role(view))
    for owner in view.owners:
        job = f"{owner.job_name} {owner.job_id}".strip()
        name = owner.pod or job or owner.container
        space = f"{owner.namespace}/" if owner.namespace else ""
        allocation = f"allocated to {owner.kind} {space}{name} {owner.user}".rstrip()
        shown = printable(allocation, ascii_only=glyphs.ascii_only)
        result.append(clipped([(f"   {shown}", "text")], width))
    result += [[(f"   {note}", "dim")] for note in view.reading.notes]
    return result


def _sample(view: DeviceView) -> str:
    age = view.sample_age_s
    return "no sample" if age is None else f"sample {fmt.age(age)} old"


def _identity_lines(view: DeviceView, width: int, glyphs: Glyphs) -> list[Line]:
    result = section_title("Identity", width, glyphs)
    for name, label in _IDENTITY:
        value = getattr(view.device, name)
        if name == "memory_kind":
            value = _MEMORY_KINDS.get(str(value), str(value))
        if value is not None:
            text = printable(str(value), ascii_only=glyphs.ascii_only)
            result.append(clipped([(f" {fit(label, 14)}", "dim"), (text, "text")], width))
    return result


def _event_lines(view: DeviceView, shot: Snapshot, width: int, glyphs: Glyphs) -> list[Line]:
    mine = [event for event in shot.events if event.device_id == view.device.id]
    if not mine and not view.event_counts:
        return []
    result = section_title("Events", width, glyphs)
    for count in view.event_counts:
        last = fmt.ago(shot.time - count.last_time)
        summary = f" {count.code} ({count.category}): {count.total} in all, last {last} ago"
        result.append(clipped([(summary, "bad")], width))
    for event in mine[-20:]:
        text = printable(event.text, ascii_only=glyphs.ascii_only)
        line = f"   {fmt.clock_time(event.time)}  {event.code}  {text}  ({event.source})"
        result.append(clipped([(line, "text")], width))
    return result


def as_document(view: DeviceView) -> dict[str, object]:
    """The device as plain data, for the clipboard."""
    values = {" ".join(series): value for series, value in view.reading.values.items()}
    quantities = by_key()
    return {
        "id": view.device.id,
        "name": view.device.name,
        "state": view.state.value,
        "values": {
            name: value for name, value in values.items() if name.split(" ")[0] in quantities
        },
        "absent": {" ".join(series): str(why) for series, why in absences(view).items()},
    }
