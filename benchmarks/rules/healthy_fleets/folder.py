"""Writes the archive of a made-up fleet, a row group of three hours at a time (docs/history.md)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from accelwatch.archive.history import layout
from accelwatch.archive.history.files import write
from accelwatch.archive.history.layout import Description, write_description
from accelwatch.archive.history.rows import EventRow, JobRow, MaintenanceRow
from accelwatch.archive.history.tables import TIME, event_table, job_table, maintenance_table
from healthy_fleets.nuisances import Event

Array = np.ndarray
SPAN_S = layout.SPAN_MS // 1000
START = 1_767_225_600
_DAY_S = 86_400


class Roster:
    """Names of nodes in their order, and ids and models of their devices, by node."""

    def __init__(
        self, nodes: Sequence[str], devices: Sequence[Sequence[str]], models: Sequence[str]
    ) -> None:
        self.nodes = list(nodes)
        self.devices = [list(ids) for ids in devices]
        self._models = sorted(set(models))
        self._model = np.array([self._models.index(name) for name in models])

    def table(self, ms: Array, there: Array, columns: Mapping[str, Array]) -> Any:
        """Rows in the order of a row group.

        `ms` (Unix milliseconds) is by node and tick, columns by node and tick or by node, device and
        tick, with NaN where absent, and `there` (whether a sample arrived) by either.
        """
        each = len(self.devices[0]) if next(iter(columns.values())).ndim == 3 else 0
        node = np.broadcast_to(np.arange(len(self.nodes))[:, None], ms.shape)
        if each:
            shape = len(self.nodes), each, ms.shape[-1]
            ms, node = (np.broadcast_to(one[:, None, :], shape) for one in (ms, node))
            there = np.broadcast_to(there if there.ndim == 3 else there[:, None, :], shape)
        made = {
            "time": pa.array(ms[there]).cast(TIME),
            "node": _coded(node[there], self.nodes),
        }
        if each:
            number = node * each + np.arange(each)[None, :, None]
            made["device"] = _coded(number[there], list(chain(*self.devices)))
            made["model"] = _coded(self._model[node[there]], self._models)
        for name, values in columns.items():
            flat = values[there].astype(np.float64 if "total" in name else np.float32, copy=False)
            made[name] = pa.array(flat, from_pandas=True)
        return pa.table(made)

    def event(self, event: Event, skew_s: float) -> EventRow:
        """An event as the clock of its node has it."""
        return EventRow(
            time=int((START + event.second + skew_s) * 1000),
            node=self.nodes[event.node],
            device=None if event.device is None else self.devices[event.node][event.device],
            kind=event.code.partition("_")[0],
            code=event.code,
            text=event.text,
        )


def write_days(folder: Path, spans: Iterable[tuple[Any, Any]], span_s: int = SPAN_S) -> None:
    """Tables of devices and of nodes, span after span from START; one of devices is in memory."""
    for table in layout.TABLES:
        (folder / table).mkdir(parents=True, exist_ok=True)
    coming = iter(spans)
    for day, first in enumerate(coming):
        time_ms = (START + day * _DAY_S) * 1000
        hosts: list[Any] = []

        def devices(first: tuple[Any, Any], hosts: list[Any]) -> Iterator[Any]:
            for _, (device, host) in zip(
                range(_DAY_S // span_s), chain([first], coming), strict=False
            ):
                hosts.append(host)
                yield device

        write(
            layout.day_file(folder, layout.DEVICES, time_ms), devices(first, hosts), first[0].schema
        )
        write(layout.day_file(folder, layout.NODES, time_ms), hosts, first[1].schema)


def write_events(folder: Path, rows: Iterable[EventRow]) -> None:
    """Events, a file for each day that has some."""
    days: dict[int, list[EventRow]] = {}
    for row in rows:
        days.setdefault(row.time // layout.DAY_MS, []).append(row)
    for day, of_day in days.items():
        table = event_table(sorted(of_day, key=lambda row: row.time))
        write(layout.day_file(folder, layout.EVENTS, day * layout.DAY_MS), [table], table.schema)


def write_rest(
    folder: Path,
    jobs: Sequence[JobRow],
    maintenance: Sequence[MaintenanceRow],
    *,
    seconds: float,
    step_s: float,
    source: str = "",
) -> None:
    """Jobs, windows of maintenance, and the description, which makes the folder an archive."""
    for name, table in (
        (layout.JOBS, job_table(jobs)),
        (layout.MAINTENANCE, maintenance_table(maintenance)),
    ):
        write(folder / name, [table], table.schema)
    start = float(START)
    write_description(
        folder, Description(interval_s=step_s, start=start, end=start + seconds, source=source)
    )


def _coded(numbers: Array, words: list[str]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), pa.array(words))
