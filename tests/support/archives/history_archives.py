"""Archives that a test writes: samples of a few devices, and what must come back."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from accelwatch.archive.history.bounds import UNBOUNDED, Bounds
from accelwatch.archive.history.rows import EventRow, Gathering, JobRow
from accelwatch.archive.history.writer import Writer
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

# 2026-03-01 in Unix milliseconds.
DAY = 1_772_323_200_000
POWER: Series = ("power_watts",)
HEAT: Series = ("temperature_celsius", "gpu")
SENT: Series = ("interconnect_bytes_total", "nvlink", "transmit")
LOAD: Series = ("host_load_average", "1")
MODEL = "NVIDIA B200"

# Unix milliseconds, node, device (empty: of the node), values.
Sample = tuple[int, str, str, Mapping[Series, Number]]


def writer(folder: Path, interval_s: float = 30.0, bounds: Bounds = UNBOUNDED) -> Writer:
    return Writer(folder, interval_s=interval_s, source="a test", bounds=bounds)


def gathered(samples: Iterable[Sample], events: Iterable[EventRow] = ()) -> Gathering:
    gathering = Gathering()
    for time, node, device, values in samples:
        if device:
            gathering.device(time, node, device, MODEL, values)
        else:
            gathering.node(time, node, values)
    gathering.events += events
    return gathering


def write(
    folder: Path,
    samples: Iterable[Sample],
    *,
    events: Iterable[EventRow] = (),
    jobs: list[JobRow] | None = None,
    before: int = DAY + 10 * 86_400_000,
) -> Path:
    """An archive of these samples, everything before `before` merged."""
    archive = writer(folder)
    archive.add(gathered(samples, events).pop_batch(jobs))
    archive.close(before)
    return folder


def steady(
    minutes: int, nodes: int = 2, devices: int = 2, start: int = DAY, step_s: int = 30
) -> list[Sample]:
    """Devices that tell all they have, each node at its own moment."""
    samples: list[Sample] = []
    for at in range(minutes * 60 // step_s):
        for node in range(nodes):
            time = start + at * step_s * 1000 + 100 * node
            name = f"node{node:03d}"
            samples.append((time, name, "", {LOAD: at % 7}))
            for device in range(devices):
                values = {POWER: 300 + at % 50, HEAT: 40.5 + device, SENT: at * (8 << 30)}
                samples.append((time, name, f"nvidia:GPU-{node}-{device}", values))
    return samples
