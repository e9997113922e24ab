"""Rows on their way into an archive: numbers side by side, so that gathering them costs little.

Devices of one kind report the same series, so their numbers make blocks; what is absent is NaN there.
"""

import math
from array import array
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from accelwatch.archive.history.admission import Admission
from accelwatch.archive.history.layout import DEVICES, NODES
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number


class Block:
    """Rows that have the same series; `values` has those of one row after another."""

    __slots__ = ("devices", "models", "nodes", "series", "times", "values")

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series = series
        # Unix milliseconds.
        self.times = array("q")
        self.nodes: list[str] = []
        self.devices: list[str] = []
        self.models: list[str | None] = []
        self.values = array("d")


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event."""

    # Unix milliseconds.
    time: int
    node: str
    device: str | None
    kind: str
    code: str
    text: str


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job on one node, or on one device of it; times in Unix milliseconds."""

    job: str
    user: str
    node: str
    device: str | None
    start: int
    # None: still running.
    end: int | None = None
    stage: str | None = None
    nodes_wanted: int | None = None


class MaintenanceRow(NamedTuple):
    """An announced window; times in Unix milliseconds. No node: all."""

    node: str | None
    start: int
    end: int
    reason: str


class Batch(msgspec.Struct, frozen=True):
    """What was gathered: blocks by table, events, and all jobs and windows where they have changed."""

    blocks: dict[str, list[Block]]
    events: list[EventRow] = []
    jobs: list[JobRow] | None = None
    maintenance: list[MaintenanceRow] | None = None


class Gathering:
    """Gathers samples; knows from one batch to the next which series a device reports."""

    def __init__(self, admission: Admission | None = None) -> None:
        self.admission = admission or Admission()
        self._shapes: dict[tuple[str, str], tuple[Series, ...]] = {}
        self._gathered: set[tuple[str, str]] = set()
        self._blocks: dict[str, dict[tuple[Series, ...], Block]] = {DEVICES: {}, NODES: {}}
        self.events: list[EventRow] = []
        self.rows = 0

    def device(
        self, time: int, node: str, device: str, model: str | None, values: Mapping[Series, Number]
    ) -> None:
        """A sample of a device; `time` in Unix milliseconds."""
        self._add(DEVICES, time, (node, device), model, values)

    def node(self, time: int, node: str, values: Mapping[Series, Number]) -> None:
        """A sample of a host."""
        self._add(NODES, time, (node, ""), None, values)

    def _add(
        self,
        table: str,
        time: int,
        entity: tuple[str, str],
        model: str | None,
        values: Mapping[Series, Number],
    ) -> None:
        if self.admission.new_day(time):
            self._shapes = {}
        shape = self._shapes.get(entity, ())
        if tuple(values) == shape:
            numbers = values.values()
        else:
            existing = set(shape)
            new = (series for series in values if series not in existing)
            shape = (*shape, *self.admission.admitted(table, entity[0], new))
            numbers = [values.get(series, math.nan) for series in shape]  # type: ignore[assignment]
        self._shapes[entity] = shape
        self._gathered.add(entity)
        block = self._blocks[table].get(shape)
        if block is None:
            block = self._blocks[table][shape] = Block(shape)
        block.values.extend(numbers)
        block.times.append(time)
        block.nodes.append(entity[0])
        block.devices.append(entity[1])
        block.models.append(model)
        self.rows += 1

    def pop_batch(
        self,
        jobs: list[JobRow] | None = None,
        maintenance: list[MaintenanceRow] | None = None,
    ) -> Batch:
        """What was gathered since the last batch."""
        batch = Batch(
            {table: list(blocks.values()) for table, blocks in self._blocks.items()},
            self.events,
            jobs,
            maintenance,
        )
        self._shapes = {
            entity: shape for entity, shape in self._shapes.items() if entity in self._gathered
        }
        self._gathered, self._blocks = set(), {DEVICES: {}, NODES: {}}
        self.events, self.rows = [], 0
        return batch
