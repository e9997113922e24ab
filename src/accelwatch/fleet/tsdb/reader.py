"""One read of a store: which families there are, `up`, their samples by queries, and how old those are.

An instant query answers with what is up to five minutes old as if it were of now; `timestamp()` of one
family of each target has the true time, on the server's own clock.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.slices import LongWork
from accelwatch.fleet.dialects.foreign import Foreign
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.tsdb.assembly import Age, Assembly, Group
from accelwatch.fleet.tsdb.families import readable_families
from accelwatch.fleet.tsdb.origin import Origin, Scraped, SeriesResolver, labels_of
from accelwatch.fleet.tsdb.origin_cache import OriginCache
from accelwatch.fleet.tsdb.query import Instant, Queries, chunks, selector
from accelwatch.fleet.tsdb.settings import Store
from accelwatch.schema.reading import Number

logger = logging.getLogger(__name__)

_NAMES_EVERY_S = 60.0
_NAMES_BACK_S = 3600.0
# Series that one query should not give many more than: decoding them must not stop the streams.
_BATCH = 10_000
_UNKNOWN = 2_000


class OriginScrape(msgspec.Struct, frozen=True, kw_only=True):
    """What the store says of one origin."""

    origin: Origin
    labels: dict[str, str]
    foreign: Foreign
    # Of its newest samples.
    age_s: float
    # How often new ones come, as far as is seen.
    interval_s: float


class StoreRead(msgspec.Struct, frozen=True, kw_only=True):
    """One read."""

    scrapes: tuple[OriginScrape, ...]
    # Transports of targets that the store cannot scrape.
    down: tuple[tuple[str, ...], ...]
    scraped: dict[tuple[str, ...], Scraped]
    series: int
    # Series without a label that names a node.
    unplaced: int
    # Why a part of the queries failed.
    fault: TargetFault | None = None
    warnings: tuple[str, ...] = ()


class StoreReader:
    """Reads one store again and again."""

    def __init__(
        self,
        settings: Store,
        client: Queries,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._client = client
        self._wall = wall
        self.resolver = SeriesResolver(settings)
        self._assembly = Assembly(self.resolver, settings.series_limit)
        self._names: list[str] = []
        self._names_at = float("-inf")
        self._up: set[tuple[str, ...]] = set()
        # Of each origin its reader and keys, which stay the same between reads; origins that are
        # gone are dropped after each read.
        self._cache: dict[Origin, OriginCache] = {}
        self._counts: Counter[str] = Counter()
        # Transports of which there are samples and no `up`.
        self._without_up: set[tuple[str, ...]] = set()

    def groups(self, origin: Origin) -> list[Group]:
        """The groups that stand for an origin: its own, and that of its target without a node."""
        return [
            group
            for group in self._assembly.groups.values()
            if group.origin == origin or group.origin == Origin(origin.transport, "")
        ]

    def alone(self, origin: Origin) -> bool:
        """Whether an origin's target reports no other node."""
        return not any(
            group.origin.node not in ("", origin.node)
            for group in self._assembly.groups.values()
            if group.origin.transport == origin.transport
        )

    def _transports(self) -> set[tuple[str, ...]]:
        return {group.origin.transport for group in self._assembly.groups.values()}

    async def read(self) -> StoreRead:
        """Read everything. Raises TargetFault when not even the first queries succeed."""
        self._client.warnings = []
        scraped = await self._scraped()
        if self._client.warnings:
            # A part of `up` may be lacking, without which a target's labels would be its exporter's.
            before = self.resolver.scraped
            scraped = {
                **{
                    transport: before[transport] for transport in self._transports() & before.keys()
                },
                **scraped,
            }
        await self._refresh_names({transport for transport, target in scraped.items() if target.up})
        self._assembly.start_read(scraped)
        fault = await self._samples()
        warnings = tuple(dict.fromkeys(self._client.warnings))
        groups = await self._assembly.finish(answered=fault is None, is_complete=not warnings)
        if fault is None:
            self._counts = Counter(self._assembly.counts)
        ages, late = await self._ages(groups)
        discovered = await self._new_targets(scraped)
        named, unplaced = self._named(groups)
        scrapes = []
        work = LongWork()
        for origin, its in named.items():
            if origin in ages and origin.transport not in discovered:
                scrapes += self._scrape_or_log(origin, its, ages[origin])
                await work.yield_control()
        origins = {group.origin for group in self._assembly.groups.values()}
        for origin in self._cache.keys() - origins - named.keys():
            del self._cache[origin]
        return StoreRead(
            scrapes=tuple(scrapes),
            down=tuple(transport for transport, target in scraped.items() if not target.up),
            scraped=scraped,
            series=self._assembly.series,
            unplaced=unplaced,
            fault=fault or late,
            warnings=warnings,
        )

    async def _new_targets(
        self, scraped: Mapping[tuple[str, ...], Scraped]
    ) -> set[tuple[str, ...]]:
        """Targets that were scraped for the first time during this read.

        Queries before that lack their families, and their labels were read without those of `up`: the
        next read has them whole.
        """
        lacking = self._transports() - scraped.keys()
        unknown = lacking - self._without_up
        try:
            discovered = unknown & (await self._scraped()).keys() if unknown else set()
        except TargetFault:
            discovered = unknown
        self._without_up = lacking - discovered
        return discovered

    async def _refresh_names(self, up: set[tuple[str, ...]]) -> None:
        now = time.monotonic()
        due = now - self._names_at >= _NAMES_EVERY_S or not self._names
        if due or not up <= self._up:
            wall = self._wall()
            names = await self._client.names(wall - _NAMES_BACK_S, wall + _NAMES_BACK_S)
            self._names = readable_families(names, self._settings.profile)
            self._names_at = now
        self._up = up

    async def _scraped(self) -> dict[tuple[str, ...], Scraped]:
        by_transport: dict[tuple[str, ...], Scraped] = {}
        answer = await self._client.instant(selector(("up",), self._settings.matchers))
        work = LongWork()
        for sample in answer:
            labels = labels_of(bytes(sample.metric))
            labels.pop("__name__", None)
            up = sample.value[1] == "1"
            by_transport[self.resolver.transport(labels)] = Scraped(labels=labels, up=up)
            await work.yield_control()
        return by_transport

    async def _samples(self) -> TargetFault | None:
        """Query all families; the last fault when some of the queries failed."""
        fault = None
        for names in chunks(self._names, self._counts, _BATCH, _UNKNOWN):
            try:
                await self._ingest(await self._client.instant(self._selector(names)))
            except TargetFault as refusal:
                fault = refusal
                if refusal.code not in (400, 422):
                    break  # the server is in trouble: the other queries would not help it
        return fault

    def _selector(self, names: Iterable[str]) -> str:
        return selector(names, self._settings.matchers)

    async def _ingest(self, samples: list[Instant]) -> None:
        try:
            await self._assembly.ingest(samples)
        except (*DECODE_ERRORS, ValueError) as error:
            raise _garbage(error) from error

    async def _ages(self, groups: list[Group]) -> tuple[dict[Origin, Age], TargetFault | None]:
        ages: dict[Origin, Age] = {}
        for family in sorted({group.age_family for group in groups}):
            try:
                samples = await self._client.instant(f"timestamp({self._selector((family,))})")
                by_family = await self._assembly.ages(family, samples)
            except TargetFault as fault:
                return ages, fault
            except (*DECODE_ERRORS, ValueError) as error:
                return ages, _garbage(error)
            ages.update(by_family)
        return ages, None

    def _named(self, groups: list[Group]) -> tuple[dict[Origin, list[Group]], int]:
        """Groups by origin with a node; one without goes to the only node of its target."""
        named: dict[Origin, list[Group]] = {}
        by_transport: dict[tuple[str, ...], list[Origin]] = {}
        for group in groups:
            if group.origin.node:
                named[group.origin] = [group]
                by_transport.setdefault(group.origin.transport, []).append(group.origin)
        unplaced = 0
        for group in groups:
            if group.origin.node:
                continue
            owners = by_transport.get(group.origin.transport, [])
            if len(owners) == 1:
                named[owners[0]].append(group)
            elif not owners and self.resolver.by_instance(group.origin.transport):
                named[group.origin] = [group]
            else:
                unplaced += len(group.keys)
        return named, unplaced

    def _scrape_or_log(self, origin: Origin, groups: list[Group], age: Age) -> list[OriginScrape]:
        """The data of an origin; one that cannot be read must not cost the others."""
        try:
            return [self._scrape_of(origin, groups, age)]
        except Exception:
            cached = self._cache[origin]
            if not cached.odd:
                logger.exception("samples cannot be read node=%s", origin.node)
            cached.odd = True
            return []

    def _scrape_of(self, origin: Origin, groups: list[Group], age: Age) -> OriginScrape:
        cached = self._cache.setdefault(origin, OriginCache())
        cached.aged(age.stamp)
        values: list[Number] = [
            value for group in groups for value in group.values if value is not None
        ]
        foreign = cached.reader.read_keys(
            cached.keys_of(groups), values, self._wall() - age.seconds
        )
        node = origin.node or self.resolver.by_instance(origin.transport)
        return OriginScrape(
            origin=Origin(origin.transport, node),
            labels=groups[0].labels,
            foreign=foreign,
            age_s=age.seconds,
            interval_s=cached.interval_s + self._settings.interval_s,
        )


def _garbage(error: Exception) -> TargetFault:
    return TargetFault(Reason.GARBAGE, f"samples cannot be read: {error}")
