"""What `accelwatch blackbox` prints: lists, rows, JSON, and the moment as a picture."""

import math
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from accelwatch.archive.blackbox.moment import KEYS, Moment
from accelwatch.archive.blackbox.places import Box, newest_first
from accelwatch.base.untrusted_text import printable
from accelwatch.exposition.display import colour, quantity, size, utf8
from accelwatch.schema.moments import timestamp
from accelwatch.schema.standing import state_word

_UNITS = {"memory_ratio": "utilization_ratio"}
_ANSI = {"bad": "31", "warn": "33", "strong": "1", "head": "1", "dim": "2", "faint": "2"}


def document(known: list[Box]) -> bytes:
    """The list as JSON."""
    frozen = [
        {
            "number": number,
            "time": timestamp(one.time),
            "device": one.device or None,
            "reason": one.reason,
            "bytes": one.bytes,
            "file": str(one.path),
        }
        for number, one in enumerate(newest_first(known), 1)
    ]
    rings = [
        {
            "folder": str(box.folder),
            "begun": timestamp(box.ring[0].begun) if box.ring else None,
            "bytes": sum(segment.bytes for segment in box.ring),
            "being_written": any(segment.left for segment in box.ring),
            "lack": box.lack or None,
        }
        for box in known
    ]
    return msgspec.json.encode({"frozen": frozen, "rings": rings}) + b"\n"


def rows(known: list[Box]) -> Iterator[str]:
    """The list for people."""
    frozen = newest_first(known)
    if frozen:
        yield f"{'':>3}  {'time':20}  {'device':16}  {'reason':16}  {'size':>8}  file\n"
    for number, one in enumerate(frozen, 1):
        when = timestamp(one.time)[:19] + "Z"
        device = one.device or "machine"
        yield (
            f"{number:>3}  {when:20}  {device:16}  {state_word(one.reason):16}  {size(one.bytes):>8}"
            f"  {printable(str(one.path))}\n"
        )
    for box in known:
        if box.ring:
            begun = timestamp(box.ring[0].begun)[:19] + "Z"
            total = size(sum(segment.bytes for segment in box.ring))
            yield f"ring since {begun}, {total}, in {printable(str(box.folder))}\n"
        elif box.frozen:
            yield f"the ring is empty, in {printable(str(box.folder))}\n"


def moment_document(moment: Moment, path: Path) -> bytes:
    """The moment as JSON."""
    return (
        msgspec.json.encode(
            {
                "file": str(path),
                "host": moment.host,
                "time": timestamp(moment.at),
                "device_id": moment.device_id or None,
                "times": [timestamp(time) for time in moment.times],
                "devices": [
                    {
                        "id": track.id,
                        "name": track.name,
                        "index": track.index,
                        "states": [state or None for state in track.states],
                        **{key: list(map(_known, track.values[key])) for key in KEYS},
                    }
                    for track in moment.tracks
                ],
                "marks": [
                    {**msgspec.structs.asdict(mark), "time": timestamp(mark.time)}
                    for mark in moment.marks
                ],
                "notes": moment.notes,
            }
        )
        + b"\n"
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def moment_rows(moment: Moment) -> Iterator[str]:
    """A row a device and time, and the marks between them where they belong."""
    yield _row("time", "device", "state", "load", "memory", "power", "temp")
    marks = list(moment.marks)
    for place, time in enumerate(moment.times):
        while marks and marks[0].time <= time:
            mark = marks.pop(0)
            names = printable(",".join(mark.devices) or "-")
            yield f"{timestamp(mark.time):24}  {names:12}  ! {mark.kind}: {printable(mark.text)}\n"
        for track in moment.tracks:
            values = [_shown(key, track.values[key][place]) for key in KEYS]
            yield _row(timestamp(time), track.name, track.states[place] or "-", *values)
    for mark in marks:
        names = printable(",".join(mark.devices) or "-")
        yield f"{timestamp(mark.time):24}  {names:12}  ! {mark.kind}: {printable(mark.text)}\n"


def _shown(key: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    return quantity(_UNITS.get(key, key), value, ascii_only=True).replace(" ", "")


def _row(time: str, device: str, state: str, *values: str) -> str:
    cells = "".join(f"  {value:>7}" for value in values)
    return f"{time:24}  {printable(device):12}  {state:12}{cells}\n"


def picture(moment: Moment) -> str:
    """The moment for this terminal."""
    from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
    from accelwatch.tui.views.moment_lines import lines

    width = shutil.get_terminal_size().columns
    coloured = colour("auto", sys.stdout, os.environ)
    drawn = lines(moment, width, UNICODE if utf8(sys.stdout) else ASCII)
    return "".join(
        "".join(_painted(text, role, coloured) for text, role in line).rstrip() + "\n"
        for line in drawn
    )


def _painted(text: str, role: str, coloured: bool) -> str:
    code = _ANSI.get(role) if coloured else None
    return f"\x1b[{code}m{text}\x1b[0m" if code else text
