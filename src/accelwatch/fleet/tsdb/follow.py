"""Following a store: read it at the interval, update the fleet, wait longer after a failure."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from accelwatch.base.backoff import SpreadBackoff
from accelwatch.base.clock import Clock
from accelwatch.base.slices import LongWork
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.state.expected_nodes import MAX_NODES
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import STORED, Target
from accelwatch.fleet.tsdb.assembly import short_name
from accelwatch.fleet.tsdb.origin import Origin
from accelwatch.fleet.tsdb.query import Queries, QueryClient
from accelwatch.fleet.tsdb.reader import OriginScrape, StoreRead, StoreReader
from accelwatch.fleet.tsdb.settings import Store
from accelwatch.fleet.wire import StoreState
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.timestamps import timestamp_or_none

logger = logging.getLogger(__name__)

# How long a target is kept of which the store has no samples any more.
_FORGET_S = 3600.0


class Sink(Protocol):
    """The receiver of a store's data."""

    fleet: Fleet

    def set_store_targets(self, targets: dict[str, Target]) -> None:
        """The targets that the store knows, by key."""
        ...


class _Followed:
    """A target of the store as it is followed."""

    __slots__ = ("last_seen", "target")

    def __init__(self, target: Target, last_seen: float) -> None:
        self.target = target
        self.last_seen = last_seen


class StoreFollower:
    """Follows one store; the loop's thread only."""

    def __init__(
        self, settings: Store, sink: Sink, clock: Clock, client: Queries | None = None
    ) -> None:
        self._settings = settings
        self._sink = sink
        self._clock = clock
        self._client: Queries = client or QueryClient(settings)
        self.reader = StoreReader(settings, self._client, clock.wall)
        self._backoff = SpreadBackoff(settings.max_backoff_s)
        self._followed: dict[Origin, _Followed] = {}
        # How reading goes.
        self.note = StoreState(address=_address(settings))
        sink.fleet.store = self.note
        # Unix seconds of the latest read that gave something.
        self._read_at: float | None = None
        self._failures_total = 0
        self._warnings_total = 0
        self._complaint = ""
        # Whether the store has more targets than are followed.
        self._left_out = False
        # Whether the store has answered once.
        self.started = False

    @property
    def client(self) -> Queries:
        """For queries besides those of the follower."""
        return self._client

    async def run(self) -> None:
        """Follow until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            await asyncio.sleep(max(0.0, due - loop.time()))
            due = max(due + self._settings.interval_s, loop.time())
            try:
                await self.turn()
            except TargetFault as fault:
                self._failed(fault)
                due = loop.time() + self._backoff.next(fault.retry_after_s)
            except Exception:
                # A bug met by one odd answer must not end the hub's only source.
                logger.exception("reading the store failed")
                self._failed(TargetFault(Reason.GARBAGE, "an internal error; see the log"))
                due = loop.time() + self._settings.max_backoff_s

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def turn(self) -> None:
        """Read the store once and update the fleet. Raises TargetFault, also when only a part failed."""
        started_at = time.monotonic()
        read = await self.reader.read()
        self._update_targets(read)
        await self._report_scrapes(read)
        self._report_down(read)
        self.started = True
        self._warnings_total += len(read.warnings)
        if read.scrapes or read.fault is None:
            self._read_at = self._clock.wall()
        self._update_state(
            read_at=timestamp_or_none(self._read_at),
            read_duration_s=round(time.monotonic() - started_at, 3),
            series=read.series,
            targets=len(self._followed),
            unplaced_series=read.unplaced,
            warnings=read.warnings,
            fault=str(read.fault or ""),
        )
        self._complain(read)
        if read.fault is not None:
            raise read.fault
        self._backoff.succeeded()

    def _update_targets(self, read: StoreRead) -> None:
        now = self._clock.monotonic()
        self._left_out = False
        before = {origin: followed.target for origin, followed in self._followed.items()}
        for scrape in read.scrapes:
            followed = self._followed.get(scrape.origin)
            target = _target(scrape.origin, scrape.labels)
            if followed is None and len(self._followed) >= MAX_NODES:
                self._left_out = True
            elif followed is None:
                self._followed[scrape.origin] = _Followed(target, now)
            else:
                followed.target, followed.last_seen = target, now
        self._expect_down(read, now)
        for origin, followed in list(self._followed.items()):
            if now - followed.last_seen > _FORGET_S:
                del self._followed[origin]
        current = {origin: followed.target for origin, followed in self._followed.items()}
        if before != current or not self.started:
            self._sink.set_store_targets(
                {followed.target.key: followed.target for followed in self._followed.values()}
            )

    def _expect_down(self, read: StoreRead, now: float) -> None:
        """Targets that are down: those known, and those of jobs that give accelerators only."""
        down = set(read.down)
        for origin, followed in self._followed.items():
            if origin.transport in down:
                followed.last_seen = now
        ours = {scrape.origin.transport for scrape in read.scrapes}
        jobs = {transport[0] for transport in ours}
        others = {
            transport[0]
            for transport, scraped in read.scraped.items()
            if scraped.up and transport not in ours
        }
        existing = {origin.transport for origin in self._followed}
        for transport in down - existing:
            if transport[0] in jobs - others:
                labels = dict(read.scraped[transport].labels)
                node, label = self.reader.resolver.node_of(labels)
                node = node or self.reader.resolver.by_instance(transport)
                if node:
                    kept = {name: labels[name] for name in labels if name not in (label, "job")}
                    kept.pop("instance", None)
                    origin = Origin(transport, node)
                    self._followed[origin] = _Followed(_target(origin, kept), now)

    async def _report_scrapes(self, read: StoreRead) -> None:
        work = LongWork()
        for scrape in read.scrapes:
            if scrape.origin in self._followed:
                self._report_scrape(scrape)
            await work.yield_control()

    def _report_scrape(self, scrape: OriginScrape) -> None:
        fleet, key = self._sink.fleet, self._followed[scrape.origin].target.key
        source = fleet.source(key)
        if source is None or not scrape.foreign.dialects:
            return
        source.mode = "prometheus"
        source.dialect = "+".join(scrape.foreign.dialects)
        for reason, count in scrape.foreign.rejected.items():
            source.rejected[reason] = source.rejected.get(reason, 0) + count
        node = () if scrape.foreign.node is None else (scrape.foreign.node,)
        views = (*scrape.foreign.devices, *node)
        listing = scrape.foreign.listing
        fleet.read(key, views, None, scrape.interval_s, age_s=scrape.age_s, listing=listing)

    def _report_down(self, read: StoreRead) -> None:
        down = set(read.down)
        for origin, followed in self._followed.items():
            if origin.transport in down:
                fault = TargetFault(Reason.CONNECT, "the store cannot scrape it: up is 0")
                self._sink.fleet.fail(followed.target.key, fault)

    def _failed(self, fault: TargetFault) -> None:
        """The store as a whole, or a part of the queries, failed."""
        self._failures_total += 1
        self._update_state(fault=str(fault))
        store_fault = TargetFault(fault.reason, f"the store: {fault}", code=fault.code)
        now, limit_s = self._clock.monotonic(), 2 * self._settings.interval_s
        for followed in self._followed.values():
            if now - followed.last_seen > limit_s or not self.started:
                self._sink.fleet.fail(followed.target.key, store_fault)
        self._log_problem(f"reading the store failed reason={fault.reason}: {fault}")

    def _update_state(self, **changes: object) -> None:
        self.note = msgspec.structs.replace(self.note, **changes)
        self._sink.fleet.store = self.note

    def _complain(self, read: StoreRead) -> None:
        if read.fault is not None:
            return
        if self._left_out:
            self._log_problem(
                f"more than {MAX_NODES} targets; the others are left out, set matchers"
            )
        elif read.warnings:
            self._log_problem(f"the store warns: {'; '.join(read.warnings)}")
        elif read.unplaced and not read.scrapes:
            self._log_problem(
                f"{read.unplaced} series of accelerators have no label that names a node; "
                "set prometheus.node_labels or instance_as_node"
            )
        else:
            self._log_problem("")

    def _log_problem(self, text: str) -> None:
        """Log what is wrong once."""
        if text and text != self._complaint:
            logger.warning("%s", text)
        elif self._complaint and not text:
            logger.info("reading the store goes well again")
        self._complaint = text

    def own(self) -> Mapping[Series, Number]:
        """Our own series."""
        note = self.note
        series: dict[Series, Number] = {
            ("fleet_store_up",): int(not note.fault and self._read_at is not None),
            ("fleet_store_series",): note.series,
            ("fleet_store_unplaced_series",): note.unplaced_series,
            ("fleet_store_failures_total",): self._failures_total,
            ("fleet_store_warnings_total",): self._warnings_total,
        }
        if note.read_duration_s is not None:
            series[("fleet_store_read_duration_seconds",)] = note.read_duration_s
        if self._read_at is not None:
            series[("fleet_store_last_read_timestamp_seconds",)] = self._read_at
        return series

    def origins(self, node: str) -> list[Origin]:
        """The store's targets of a node."""
        return [origin for origin in self._followed if origin.node == node]


def _address(settings: Store) -> str:
    parsed = urlsplit(settings.url or "")
    return f"{parsed.scheme}://{parsed.netloc}{parsed.path.rstrip('/')}"


def _target(origin: Origin, labels: Mapping[str, str]) -> Target:
    job, instance, *_ = origin.transport
    return Target(
        node=origin.node,
        scheme=STORED,
        address="/".join(component for component in (job, instance) if component) or "written",
        metrics_path=f"/{short_name((*origin.transport, origin.node))}",
        labels=dict(labels),
        job=job,
        instance=instance,
    )
