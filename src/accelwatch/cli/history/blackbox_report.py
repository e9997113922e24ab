"""What `accelwatch blackbox` prints: lists, rows, JSON, and the moment as a picture."""

import math
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.archive.blackbox.excerpt import KEYS, Excerpt
from accelwatch.archive.blackbox.locations import Box, newest_first
from accelwatch.base.untrusted_text import printable
from accelwatch.schema.display import colour, quantity, size, utf8
from accelwatch.schema.status.device_status import state_label
from accelwatch.schema.timestamps import timestamp

_UNITS = {"memory_ratio": "utilization_ratio"}
_ANSI = {"bad": "31", "warn": "33", "strong": "1", "head": "1", "dim": "2", "faint": "2"}


def document(boxes: list[Box]) -> bytes:
    """The list as JSON."""
    frozen = [
        {
            "number": number,
            "time": timestamp(capture.time),
            "device": capture.device or None,
            "reason": capture.reason,
            "bytes": capture.bytes,
            "file": str(capture.path),
        }
        for number, capture in enumerate(newest_first(boxes), 1)
    ]
    rings = [
        {
            "folder": str(box.folder),
            "begun": timestamp(box.ring[0].started) if box.ring else None,
            "bytes": sum(segment.bytes for segment in box.ring),
            "being_written": any(segment.left for segment in box.ring),
            "lack": box.lack or None,
        }
        for box in boxes
    ]
    return msgspec.json.encode({"frozen": frozen, "rings": rings}) + b"\n"


def rows(boxes: list[Box]) -> Iterator[str]:
    """The list for people."""
    frozen = newest_first(boxes)
    if frozen:
        yield f"{'':>3}  {'time':20}  {'device':16}  {'reason':16}  {'size':>8}  file\n"
    for number, capture in enumerate(frozen, 1):
        when = timestamp(capture.time)[:19] + "Z"
        device = capture.device or "machine"
        yield (
            f"{number:>3}  {when:20}  {device:16}  {state_label(capture.reason):16}"
            f"  {size(capture.bytes):>8}  {printable(str(capture.path))}\n"
        )
    for box in boxes:
        if box.ring:
            started = timestamp(box.ring[0].started)[:19] + "Z"
            total = size(sum(segment.bytes for segment in box.ring))
            yield f"ring since {started}, {total}, in {printable(str(box.folder))}\n"
        elif box.frozen:
            yield f"the ring is empty, in {printable(str(box.folder))}\n"


def excerpt_document(excerpt: Excerpt, path: Path) -> bytes:
    """The moment as JSON."""
    return (
        msgspec.json.encode(
            {
                "file": str(path),
                "host": excerpt.host,
                "time": timestamp(excerpt.at),
                "device_id": excerpt.device_id or None,
                "times": [timestamp(time) for time in excerpt.times],
                "devices": [
                    {
                        "id": track.id,
                        "name": track.name,
                        "index": track.index,
                        "states": [state or None for state in track.states],
                        **{key: list(map(_number_or_none, track.values[key])) for key in KEYS},
                    }
                    for track in excerpt.tracks
                ],
                "marks": [
                    {**msgspec.structs.asdict(marker), "time": timestamp(marker.time)}
                    for marker in excerpt.markers
                ],
                "notes": excerpt.notes,
            }
        )
        + b"\n"
    )


def _number_or_none(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def excerpt_rows(excerpt: Excerpt) -> Iterator[str]:
    """A row a device and time, and the marks between them where they belong."""
    yield _row("time", "device", "state", "load", "memory", "power", "temp")
    markers = list(excerpt.markers)
    for index, time in enumerate(excerpt.times):
        while markers and markers[0].time <= time:
            marker = markers.pop(0)
            names = printable(",".join(marker.devices) or "-")
            yield f"{timestamp(marker.time):24}  {names:12}  ! {marker.kind}: {printable(marker.text)}\n"
        for track in excerpt.tracks:
            values = [_shown(key, track.values[key][index]) for key in KEYS]
            yield _row(
                timestamp(time), track.name, state_label(track.states[index] or "-"), *values
            )
    for marker in markers:
        names = printable(",".join(marker.devices) or "-")
        yield f"{timestamp(marker.time):24}  {names:12}  ! {marker.kind}: {printable(marker.text)}\n"


def _shown(key: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return quantity(_UNITS.get(key, key), value, ascii_only=True).replace(" ", "")


def _row(time: str, device: str, state: str, *values: str) -> str:
    cells = "".join(f"  {value:>7}" for value in values)
    return f"{time:24}  {printable(device):12}  {state:12}{cells}\n"


def picture(excerpt: Excerpt) -> str:
    """The moment for this terminal."""
    from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
    from accelwatch.tui.views.blackbox.excerpt_lines import lines

    width = shutil.get_terminal_size().columns
    coloured = colour("auto", sys.stdout, os.environ)
    drawn = lines(excerpt, width, UNICODE if utf8(sys.stdout) else ASCII)
    return "".join(
        "".join(_painted(text, role, coloured) for text, role in line).rstrip() + "\n"
        for line in drawn
    )


def _painted(text: str, role: str, coloured: bool) -> str:
    code = _ANSI.get(role) if coloured else None
    return f"\x1b[{code}m{text}\x1b[0m" if code else text
