"""A node as remote-write samples: what it gives now, and an end for every series that it gave before."""

from collections.abc import Iterable, Mapping

from accelwatch.fleet.tsdb.remote_write.outgoing import Owned
from accelwatch.fleet.tsdb.remote_write.wire import (
    STALE,
    OwnerBytes,
    SeriesPlans,
    number_bytes,
    sample_bytes,
    series_bytes,
)
from accelwatch.schema.metrics import Metric, Series


class _Sent:
    """What was last written of an owner."""

    __slots__ = ("owner", "series")

    def __init__(self, owner: OwnerBytes) -> None:
        self.owner = owner
        self.series: tuple[Series, ...] = ()


class NodeSent:
    """What was last written of a node."""

    __slots__ = ("milliseconds", "owners")

    def __init__(self) -> None:
        # Time of its newest sample.
        self.milliseconds = 0
        self.owners: dict[str, _Sent] = {}


class Encoder:
    """Encodes nodes one by one; plans are shared by all."""

    def __init__(self, rows: Mapping[str, Metric]) -> None:
        self._plans = SeriesPlans(rows)

    def node(
        self, sent: NodeSent, owners: Iterable[Owned], labels: Mapping[str, str], milliseconds: int
    ) -> list[bytes]:
        """The series of a node at a time, which must be later than the time before."""
        out: list[bytes] = []
        around = sample_bytes(milliseconds)
        absent = dict(sent.owners)
        for owned in owners:
            before = absent.pop(owned.text, None)
            merged = {**labels, **owned.labels}
            if before is None or before.owner.labels != merged:
                if before is not None:
                    self._expire_series(before, before.series, around, out)
                before = sent.owners[owned.text] = _Sent(OwnerBytes(merged))
            self._owner(before, owned, around, out)
        for text, owner in absent.items():
            self._expire_series(owner, owner.series, around, out)
            del sent.owners[text]
        sent.milliseconds = milliseconds
        return out

    def _owner(
        self, sent: _Sent, owned: Owned, around: tuple[bytes, bytes], out: list[bytes]
    ) -> None:
        samples = dict(owned.samples)
        now = tuple(samples)
        if now != sent.series:
            self._expire_series(sent, set(sent.series).difference(samples), around, out)
            sent.series = now
        owner = sent.owner
        plans, runs = self._plans.of(owner.names), owner.runs
        before, after = around
        for series, value in samples.items():
            pieces = plans.get(series) or self._plans.make(owner.names, series)
            chunks = [runs.get(piece) or owner.run(piece) for piece in pieces]
            chunks += (before, number_bytes(value), after)
            out.append(series_bytes(chunks))

    def expire(self, sent: NodeSent, milliseconds: int) -> list[bytes]:
        """An end for everything that a node gave."""
        out: list[bytes] = []
        sent.milliseconds = max(milliseconds, sent.milliseconds + 1)
        around = sample_bytes(sent.milliseconds)
        for owner in sent.owners.values():
            self._expire_series(owner, owner.series, around, out)
        sent.owners.clear()
        return out

    def _expire_series(
        self, sent: _Sent, expired: Iterable[Series], around: tuple[bytes, bytes], out: list[bytes]
    ) -> None:
        owner = sent.owner
        plans = self._plans.of(owner.names)
        for series in expired:
            pieces = plans.get(series) or self._plans.make(owner.names, series)
            chunks = [owner.run(piece) for piece in pieces]
            out.append(series_bytes([*chunks, around[0], STALE, around[1]]))
