"""An archive from a store with Prometheus' query API: range queries, each step read as a scrape."""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.archive.history.rows import Gathering
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.exposition import Key
from accelwatch.exposition.line import number
from accelwatch.fleet.archive.jobs import JobBook
from accelwatch.fleet.archive.observed import observed, owners_of
from accelwatch.fleet.dialects.foreign import ForeignReader
from accelwatch.fleet.dialects.merge import merge
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.tsdb.families import readable_families
from accelwatch.fleet.tsdb.origin import Origin, Scraped, SeriesResolver, labels_of
from accelwatch.fleet.tsdb.query import Queries, QueryClient, Range, chunks, selector
from accelwatch.fleet.tsdb.settings import Store
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, Snapshot

# Steps of one range query; fewer where a store's answer is too large.
_WINDOW_STEPS = 60
_SERIES = 2_000
# The assumed number of series of a family before its first query.
_UNKNOWN = 500


class Exported(msgspec.Struct, kw_only=True):
    """What was written."""

    samples: int = 0
    # Series of the last window that no label gives a node.
    unplaced: int = 0
    warnings: tuple[str, ...] = ()


class _Group:
    """The series of one origin in one window: a number a step each, NaN where there is none."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.columns: list[list[Number]] = []


class _Table(NamedTuple):
    """The series of a target in one window."""

    transport: tuple[str, ...]
    keys: tuple[Key, ...]
    columns: list[list[Number]]


class Export:
    """Walks a store through time."""

    def __init__(self, store: Store, interval_s: float, client: Queries | None = None) -> None:
        self._store = store
        self._interval_s = interval_s
        self._client: Queries = client or QueryClient(store)
        self._locator = SeriesResolver(store)
        # By origin: a reader plans a page once and reuses the plan while its series stay the same.
        self._readers: dict[tuple[tuple[str, ...], str], ForeignReader] = {}
        self._counts: dict[str, int] = {}
        self._gathering = Gathering()
        self._jobs = JobBook()
        self.result = Exported()

    async def run(
        self, folder: Path, start: float, end: float, on_progress: Callable[[float], None]
    ) -> Exported:
        """Write what the store has from `start` up to before `end` (Unix seconds) into a new folder.

        `on_progress` gets up to where it is written. Raises AccelwatchError.
        """
        from accelwatch.archive.history.writer import Writer

        step = self._interval_s
        at = math.ceil(start / step) * step
        writer = Writer(folder, interval_s=step, source=f"{self._store.url}")
        steps = _WINDOW_STEPS
        try:
            while at < end:
                count = min(steps, math.ceil((end - at) / step))
                try:
                    await self._window(at, count)
                except TargetFault as fault:
                    if fault.reason is Reason.TOO_LARGE and count > 1:
                        steps = count // 2
                        continue
                    raise AccelwatchError(f"{self._store.url}: {fault}") from fault
                at += count * step
                batch = self._gathering.pop_batch(self._jobs.pop_rows())
                await asyncio.to_thread(writer.add, batch)
                await asyncio.to_thread(writer.cut, round(at * 1000))
                on_progress(at)
        finally:
            await self._client.close()
            await asyncio.to_thread(writer.close, round(at * 1000))
        self.result.warnings = tuple(dict.fromkeys(self._client.warnings))
        return self.result

    async def _window(self, start: float, steps: int) -> None:
        """Gather all samples of a few steps. Raises TargetFault."""
        end = start + (steps - 1) * self._interval_s
        self._locator.scraped = await self._scraped(start, end)
        names = readable_families(await self._client.names(start, end + 1), self._store.profile)
        groups: dict[Origin, _Group] = {}
        for family_names in chunks(names, self._counts, _SERIES, _UNKNOWN):
            chosen = selector(family_names, self._store.matchers)
            ranges = await self._client.range(chosen, start, end, self._interval_s)
            try:
                self._group_ranges(groups, ranges, start, steps)
            except (*DECODE_ERRORS, ValueError) as error:
                text = f"samples cannot be read: {error}"
                raise TargetFault(Reason.GARBAGE, text) from error
        for node, origins in self._by_node(groups).items():
            tables = [*_tables(origins, groups)]
            for step in range(steps):
                self._sample(node, start + step * self._interval_s, step, tables)
            await asyncio.sleep(0)

    async def _scraped(self, start: float, end: float) -> dict[tuple[str, ...], Scraped]:
        chosen = selector(("up",), self._store.matchers)
        scraped = {}
        for row in await self._client.range(chosen, start, end, self._interval_s):
            labels = labels_of(bytes(row.metric))
            labels.pop("__name__", None)
            up = bool(row.values) and row.values[-1][1] == "1"
            scraped[self._locator.transport(labels)] = Scraped(labels=labels, up=up)
        return scraped

    def _group_ranges(
        self, groups: dict[Origin, _Group], ranges: Iterable[Range], start: float, steps: int
    ) -> None:
        counts: dict[str, int] = {}
        for row in ranges:
            located = self._locator.resolve(labels_of(bytes(row.metric)))
            counts[located.key.name] = counts.get(located.key.name, 0) + 1
            group = groups.setdefault(located.origin, _Group())
            column: list[Number] = [math.nan] * steps
            for timestamp, text in row.values:
                at = round((timestamp - start) / self._interval_s)
                if 0 <= at < steps:
                    column[at] = number(text)
            group.keys.append(located.key)
            group.columns.append(column)
        self._counts.update(counts)

    def _by_node(self, groups: dict[Origin, _Group]) -> dict[str, list[Origin]]:
        """Origins by node; one without a node is of the only node of its target."""
        nodes: dict[tuple[str, ...], set[str]] = {}
        for origin in groups:
            if origin.node:
                nodes.setdefault(origin.transport, set()).add(origin.node)
        by_node: dict[str, list[Origin]] = {}
        self.result.unplaced = 0
        for origin, group in groups.items():
            owners = nodes.get(origin.transport, set())
            node = origin.node or self._locator.by_instance(origin.transport)
            if not origin.node and owners:
                node = next(iter(owners)) if len(owners) == 1 else ""
            if node:
                by_node.setdefault(node, []).append(origin)
            else:
                self.result.unplaced += len(group.keys)
        return by_node

    def _sample(self, node: str, time: float, step: int, tables: list[_Table]) -> None:
        """Add the values of a node at a step, of all its targets together."""
        by_dialect: dict[str, tuple[DeviceView, ...]] = {}
        host: DeviceView | None = None
        there = False
        for table in tables:
            values = [column[step] for column in table.columns]
            if all(math.isnan(value) for value in values):
                continue
            reader = self._readers.setdefault((table.transport, node), ForeignReader())
            foreign = reader.read_keys(table.keys, values, time)
            for dialect, views in foreign.by_dialect.items():
                by_dialect[dialect] = (*by_dialect.get(dialect, ()), *views)
            host = host or foreign.node
            there = True
        if not there:
            return
        snapshot = Snapshot(time=time, host=node, version="", devices=merge(by_dialect), node=host)
        observation = observed(snapshot)
        stamp = round(time * 1000)
        for device, values_ in observation.devices:
            self._gathering.device(stamp, node, device.id, device.model, values_)
            self.result.samples += 1
        self._gathering.node(stamp, node, observation.node)
        self._jobs.observe(stamp, node, owners_of(snapshot))


def _tables(origins: Iterable[Origin], groups: dict[Origin, _Group]) -> Iterator[_Table]:
    """The series of each target of a node: a dialect is recognised by all of them."""
    by_transport: dict[tuple[str, ...], list[_Group]] = {}
    for origin in origins:
        by_transport.setdefault(origin.transport, []).append(groups[origin])
    for transport, its in by_transport.items():
        yield _Table(
            transport,
            tuple(key for group in its for key in group.keys),
            [column for group in its for column in group.columns],
        )
