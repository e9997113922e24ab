"""Samples of many queries put together by target and node, as if each had been scraped.

A series is recognised by the hash of its labels as they arrive; they are read once.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from accelwatch.base.slices import LongWork
from accelwatch.exposition import Key
from accelwatch.exposition.line import number
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.tsdb.families import age_family_of
from accelwatch.fleet.tsdb.origin import Origin, Scraped, SeriesResolver, labels_of
from accelwatch.fleet.tsdb.query import Instant
from accelwatch.schema.reading import Number

_SLOTS = 24
_SLOT = (1 << _SLOTS) - 1
_SLICE = 100
# For how long a store answers with the last sample of a series, by default.
LOOKBACK_DELTA_S = 300.0


class Age(NamedTuple):
    """How old a sample is and its timestamp, both on the server's clock."""

    seconds: float
    stamp: float


class Group:
    """The series of one origin; `values[i]` belongs to `keys[i]`, None until its query has come."""

    __slots__ = (
        "age_family",
        "counts",
        "keys",
        "labels",
        "lacking_since",
        "node_label",
        "origin",
        "series_hashes",
        "values",
    )

    def __init__(self, origin: Origin, labels: dict[str, str], node_label: str) -> None:
        self.origin = origin
        self.labels = labels
        self.node_label = node_label
        self.keys: tuple[Key, ...] | list[Key] = []
        self.values: list[Number | None] = []
        self.series_hashes: list[int] = []
        # Family by which its samples are aged.
        self.age_family = ""
        # Series by family.
        self.counts: Counter[str] = Counter()
        # Monotonic seconds; since when incomplete reads lack some of its series.
        self.lacking_since: float | None = None

    def settle(self) -> None:
        """Make the keys a standing object after series have come or gone."""
        if isinstance(self.keys, list):
            self.keys = tuple(self.keys)
            self.counts = Counter(key.name for key in self.keys)
            self.age_family = age_family_of(self.counts) if self.keys else ""

    def lacks_for_long(self, now: float) -> bool:
        """Whether what is missing has been for so long that it has gone."""
        if self.lacking_since is None:
            self.lacking_since = now
        return now - self.lacking_since > LOOKBACK_DELTA_S


class Assembly:
    """All groups of a store."""

    def __init__(self, resolver: SeriesResolver, series_limit: int) -> None:
        self._resolver = resolver
        self._limit = series_limit
        self.groups: dict[int, Group] = {}
        # Series by family in this read.
        self.counts: Counter[str] = Counter()
        # Series of this read that no label gives a node.
        self.unplaced = 0
        self._next = 0
        self._by_origin: dict[Origin, int] = {}
        self._index: dict[int, int] = {}
        self._ages: dict[int, int] = {}

    @property
    def series(self) -> int:
        """Series known now."""
        return len(self._index)

    def start_read(self, scraped: Mapping[tuple[str, ...], Scraped]) -> None:
        """Begin a read with the targets of now; what is known of one that has changed is forgotten."""
        before = self._resolver.scraped
        changed = {
            transport
            for transport in before.keys() | scraped.keys()
            if _labels(before.get(transport)) != _labels(scraped.get(transport))
        }
        self._resolver.scraped = dict(scraped)
        for number_, group in list(self.groups.items()):
            if group.origin.transport in changed:
                self._forget(number_)
            else:
                group.values = [None] * len(group.keys)
        self._ages = {
            series_hash: at for series_hash, at in self._ages.items() if at in self.groups
        }
        self.counts.clear()
        self.unplaced = 0

    async def ingest(self, samples: Sequence[Instant]) -> None:
        """The answer of a query. Raises TargetFault above the limit of series, ValueError."""
        work = LongWork()
        for start in range(0, len(samples), _SLICE):
            self._set_values(samples[start : start + _SLICE])
            await work.yield_control()

    def _set_values(self, samples: Sequence[Instant]) -> None:
        index, groups = self._index, self.groups
        for sample in samples:
            raw = bytes(sample.metric)
            at = index.get(hash(raw))
            if at is None:
                at = self._meet(raw)
            groups[at >> _SLOTS].values[at & _SLOT] = number(sample.value[1])

    def _meet(self, raw: bytes) -> int:
        if len(self._index) >= self._limit:
            text = f"more than {self._limit} series; raise series_limit or set matchers"
            raise TargetFault(Reason.TOO_LARGE, text)
        resolved = self._resolver.resolve(labels_of(raw))
        at = self._by_origin.get(resolved.origin)
        if at is None:
            at = self._by_origin[resolved.origin] = self._next
            self.groups[at] = Group(resolved.origin, resolved.labels, resolved.node_label)
            self._next += 1
        group = self.groups[at]
        if not isinstance(group.keys, list):
            group.keys = list(group.keys)
        slot = len(group.keys)
        group.keys.append(resolved.key)
        group.values.append(None)
        group.series_hashes.append(hash(raw))
        self._index[hash(raw)] = at << _SLOTS | slot
        return self._index[hash(raw)]

    async def finish(self, *, answered: bool, is_complete: bool) -> list[Group]:
        """The groups that are complete; series that have gone are forgotten after a complete read.

        When a query was not `answered`, or answers were not `is_complete`, a series that is missing may
        still be there: its group is left out. A store that goes on without a part is believed after a
        while: for no longer would it answer with the last sample of a series.
        """
        now = time.monotonic()
        complete = []
        work = LongWork()
        for at, group in list(self.groups.items()):
            await work.yield_control()
            if None in group.values:
                if not answered or not (is_complete or group.lacks_for_long(now)):
                    continue
                self._shrink(at, group)
            group.lacking_since = None
            if group.keys:
                group.settle()
                self.counts.update(group.counts)
                complete.append(group)
            else:
                self._forget(at)
        return complete

    def _shrink(self, at: int, group: Group) -> None:
        kept = [slot for slot, value in enumerate(group.values) if value is not None]
        for slot, value in enumerate(group.values):
            if value is None:
                del self._index[group.series_hashes[slot]]
        group.keys = [group.keys[slot] for slot in kept]
        group.values = [group.values[slot] for slot in kept]
        group.series_hashes = [group.series_hashes[slot] for slot in kept]
        for slot, series_hash in enumerate(group.series_hashes):
            self._index[series_hash] = at << _SLOTS | slot

    def _forget(self, at: int) -> None:
        group = self.groups.pop(at)
        del self._by_origin[group.origin]
        for series_hash in group.series_hashes:
            self._index.pop(series_hash, None)

    async def ages(self, family: str, samples: Iterable[Instant]) -> dict[Origin, Age]:
        """Age of the newest sample of each origin, from `timestamp()` of a family."""
        newest: dict[int, Age] = {}
        work = LongWork()
        for sample in samples:
            await work.yield_control()
            raw = bytes(sample.metric)
            at = self._ages.get(hash(raw))
            if at is None:
                at = self._age_of(raw)
            if at is not None and self.groups[at].age_family == family:
                stamp = float(sample.value[1])
                age = Age(max(0.0, sample.value[0] - stamp), stamp)
                newest[at] = min(age, newest.get(at, age))
        return {self.groups[at].origin: age for at, age in newest.items()}

    def _age_of(self, raw: bytes) -> int | None:
        at = self._by_origin.get(self._resolver.resolve(labels_of(raw)).origin)
        if at is not None:
            self._ages[hash(raw)] = at
        return at


def _labels(scraped: Scraped | None) -> dict[str, str] | None:
    return None if scraped is None else scraped.labels


def short_name(transport: Sequence[str]) -> str:
    """A name of bounded length for a target of the store, for keys."""
    return hashlib.blake2s("\0".join(transport).encode(), digest_size=8).hexdigest()
