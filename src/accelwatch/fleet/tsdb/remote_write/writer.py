"""Remote write: what the hub sees, encoded in short slices at the interval and handed to the shards.

A node without new data is left out; a silent one ends its series, as a scrape would.
A hub that stops ends all of them.
"""

import asyncio
import contextlib
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping

from accelwatch.alerting.delivery.transport.push_queue import Counts, Request
from accelwatch.base.clock import Clock
from accelwatch.base.slices import LongWork
from accelwatch.fleet.rounds import rounds
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node, speaks_for
from accelwatch.fleet.tsdb.peer import Peer
from accelwatch.fleet.tsdb.remote_write.encoding import Encoder, NodeSent
from accelwatch.fleet.tsdb.remote_write.outgoing import UP, Outgoing, Owned, hub_labels, node_labels
from accelwatch.fleet.tsdb.remote_write.sending import shard
from accelwatch.fleet.tsdb.settings import RemoteWrite
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number

logger = logging.getLogger(__name__)

# Our own series are encoded in so many parts: there are some for every target.
_OWN_CHUNKS = 32
# Share of the interval over which the slices of a round are spread.
_FILL = 0.8
# A pause is at most so many times as long as the slice before it.
_MAX_PAUSE = 3.0
# Compressing more than this at once would be felt.
_BATCH_BYTES = 4 << 20
_OURSELVES = ""
_FINISH_S, _POLL_S = 3.0, 0.02

OwnSeries = Callable[[], Awaitable[Mapping[Series, Number]]]


class _Batch:
    """Series that will become one request."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.bytes = 0
        self.newest = 0

    def add(self, series: list[bytes], milliseconds: int) -> None:
        self.chunks += series
        self.bytes += sum(map(len, series))
        self.newest = max(self.newest, milliseconds)


class Writer:
    """Writes the fleet to one receiver; the loop's thread only."""

    def __init__(self, settings: RemoteWrite, fleet: Fleet, clock: Clock) -> None:
        self._settings = settings
        self._fleet = fleet
        self._clock = clock
        self._peer = Peer(settings)
        self._outgoing = Outgoing(settings.profile, settings.groups)
        self._encoder = Encoder({**by_key(), UP.key: UP})
        self.counts = Counts()
        limit = settings.queue_bytes // settings.shards
        self._shards = [
            shard(self._peer, self.counts, limit, settings.max_backoff_s)
            for _ in range(settings.shards)
        ]
        self._batches = [_Batch() for _ in self._shards]
        self._sent: dict[str, NodeSent] = {}
        # Nodes that could not be written the last time.
        self._odd: set[str] = set()
        self._ourselves = [NodeSent() for _ in range(_OWN_CHUNKS)]
        # Duration of the round before, without its pauses.
        self._busy_s = 0.0
        # Gives `accel_fleet_*`, where they are to be written as well.
        self.own_series: OwnSeries | None = None

    async def run(self) -> None:
        """Write at the interval until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for worker in self._shards:
                tasks.create_task(worker.run())
            tasks.create_task(rounds(self._settings.interval_s, self.round, "remote write"))

    async def finish(self) -> None:
        """End every series that was written: its last value is not of now, and no alert may think so.

        `run` has been cancelled. What the receiver has not accepted within some seconds is lost.
        """
        if self.counts.newest is None:
            return  # nothing was accepted, so there is nothing to end
        now = int(self._clock.wall() * 1000)
        written = [*self._sent.items(), *((_OURSELVES, sent) for sent in self._ourselves)]
        for name, sent in written:
            if sent.owners:
                self._add(name, self._encoder.expire(sent, now), now)
        for at in range(len(self._batches)):
            self._cut(at)
        sending = [asyncio.ensure_future(worker.run()) for worker in self._shards]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FINISH_S):
                while not all(worker.empty for worker in self._shards):
                    await asyncio.sleep(_POLL_S)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)

    async def close(self) -> None:
        """Close the connections; what has not been sent is lost."""
        self._peer.close()

    async def round(self) -> None:
        """Encode and queue everything that is new."""
        pause, work = self._pause(), LongWork()
        for name in [*self._fleet.nodes, *(self._sent.keys() - self._fleet.nodes.keys())]:
            self._node_or_log(name)
            await work.yield_control(pause)
        await self._fleet_metrics()
        for at in range(len(self._batches)):
            self._cut(at)
            await work.yield_control()
        self._busy_s = work.busy_seconds()

    def _pause(self) -> float:
        """How long to wait after a slice, in multiples of it, so that a round fills the interval."""
        if not self._busy_s:
            return _MAX_PAUSE
        spare = _FILL * self._settings.interval_s / self._busy_s - 1.0
        return min(max(spare, 0.0), _MAX_PAUSE)

    def _node_or_log(self, name: str) -> None:
        """Queue what is new of a node; one that cannot be written must not cost those after it."""
        try:
            self._node(name)
        except Exception:
            if name not in self._odd:
                logger.exception("a node cannot be written node=%s", name)
            self._odd.add(name)
        else:
            self._odd.discard(name)

    def _node(self, name: str) -> None:
        node = self._fleet.nodes.get(name)
        sent = self._sent.get(name)
        now = int(self._clock.wall() * 1000)
        if node is None:
            if sent is not None and sent.owners:
                self._add(name, self._encoder.expire(sent, now), now)
            self._sent.pop(name, None)
            return
        # A silent node is written at our own time: its last sample is old and already there.
        stamp = _stamp(node) if speaks_for(self._fleet.state_of(node)) else now
        if sent is None:
            sent = self._sent[name] = NodeSent()
        if stamp > sent.milliseconds:
            labels = node_labels(node, self._settings.labels)
            owned = self._outgoing.of(self._fleet, node)
            self._add(name, self._encoder.node(sent, owned, labels, stamp), stamp)

    async def _fleet_metrics(self) -> None:
        if not self._settings.fleet_metrics or self.own_series is None:
            return
        chunks = [Owned(_OURSELVES, {}) for _ in self._ourselves]
        for series, value in (await self.own_series()).items():
            chunks[hash(series) % len(chunks)].samples.append((series, value))
        now = int(self._clock.wall() * 1000)
        work = LongWork()
        for sent, owned in zip(self._ourselves, chunks, strict=True):
            if now > sent.milliseconds:
                labels = hub_labels(self._settings.labels)
                blocks = self._encoder.node(sent, [owned], labels, now)
                self._add(_OURSELVES, blocks, now)
            await work.yield_control()

    def _add(self, name: str, series: list[bytes], milliseconds: int) -> None:
        at = zlib.crc32(name.encode()) % len(self._shards)
        most = self._settings.samples_per_request
        for start in range(0, len(series), most):
            batch = self._batches[at]
            chunk = series[start : start + most]
            if batch.chunks and len(batch.chunks) + len(chunk) > most:
                self._cut(at)
                batch = self._batches[at]
            batch.add(chunk, milliseconds)
            if batch.bytes >= _BATCH_BYTES:
                self._cut(at)

    def _cut(self, at: int) -> None:
        """Make a request of what a shard has gathered."""
        import cramjam  # 1.5 MiB that a hub which writes nowhere does without

        batch = self._batches[at]
        if batch.chunks:
            body = bytes(cramjam.snappy.compress_raw(b"".join(batch.chunks)))
            self._shards[at].enqueue(
                Request(body=body, samples=len(batch.chunks), newest=batch.newest / 1000)
            )
            self._batches[at] = _Batch()

    def own(self) -> Mapping[Series, Number]:
        """Our own series."""
        counts = self.counts
        series: dict[Series, Number] = {
            ("fleet_remote_write_samples_total",): counts.sent,
            ("fleet_remote_write_samples_failed_total",): counts.failed,
            ("fleet_remote_write_samples_dropped_total",): counts.dropped,
            ("fleet_remote_write_samples_pending",): sum(worker.pending for worker in self._shards),
            ("fleet_remote_write_retries_total",): counts.retries,
            ("fleet_remote_write_bytes_total",): counts.bytes,
        }
        if counts.newest is not None:
            lag = max(0.0, self._clock.wall() - counts.newest)
            series[("fleet_remote_write_lag_seconds",)] = round(lag, 3)
        return series


def _stamp(node: Node) -> int:
    """When the newest data of a node arrived, Unix milliseconds."""
    best = node.best
    return 0 if best is None else int(best.arrived_wall * 1000)
