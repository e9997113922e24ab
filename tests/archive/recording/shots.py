"""Snapshots for tests of recordings: one device, utilisation and energy grow by the document."""

from pathlib import Path

import msgspec

from accelwatch.archive.recording import Recorder, Recording
from accelwatch.schema.snapshot import Snapshot
from support.machines import composed as machines


def shot(number: int, step_s: float = 1.0) -> Snapshot:
    view = machines.view(0)
    values = {
        **view.reading.values,
        ("utilization_ratio",): number / 1_000_000,
        ("energy_joules_total", "hardware"): 1000.5 + number,
    }
    reading = msgspec.structs.replace(view.reading, values=values)
    return machines.snapshot(
        msgspec.structs.replace(view, reading=reading), time=machines.NOW + step_s * number
    )


def write(path: Path, count: int, *, first: int = 0, **options: object) -> Path:
    with Recorder(path, **options) as recorder:  # type: ignore[arg-type]
        for number in range(first, first + count):
            recorder.write(shot(number))
    return path


def number_of(snapshot: Snapshot) -> int:
    """Which document it is, by its content."""
    values = snapshot.devices[0].reading.values
    number = round(values[("utilization_ratio",)] * 1_000_000)
    assert values[("energy_joules_total", "hardware")] == 1000.5 + number
    return number


def numbers(path: Path) -> list[int]:
    """All documents of a recording, in order."""
    with Recording.open(path) as recording:
        assert len(recording.times()) == len(recording)
        return [number_of(recording.at(index)) for index in range(len(recording))]


def notes(path: Path) -> tuple[str, ...]:
    with Recording.open(path) as recording:
        return recording.notes
