"""A job that hangs: everybody waits busily, so that peers look alike and only the own past differs.

Waiting devices report full utilization at little power and move nothing (detection.md 4.2, G): 120 W
loaded and idle against 418-689 W in training, on H100.
"""

from typing import NamedTuple

import numpy as np

from accelwatch.detection.arrays import Bools, Floats, Indices
from accelwatch.detection.channels.components import suspects
from accelwatch.detection.channels.components.building import job_checksums
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Table, sum_finite, values_at
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.tick import Tick

# All of 4.2, G.
_BUSY = 0.9
_MOST = 0.8
_LITTLE_POWER = 0.6
_NO_TRAFFIC = 0.02
_TICKS = 4
# Two kinds of evidence for the same need less time. A device that does nothing while all others wait:
# two ticks, as all of structure (4.2, S). A node that has missed two samples: one, as it has been silent
# for two already, and traffic is counted over the whole of a tick.
_TICKS_DIFFERS, _TICKS_SILENT = 2, 1
# A job of one device has nobody to wait for.
_FEWEST = 2
# What a job has done twice, and gone on from by itself, is its work: generation in reinforcement
# learning keeps devices busy at half of their power and sends nothing. What lasts half as long again
# is not.
_LONGER = 1.5
# Ten minutes at 30 s: after a start or a load a job has no history.
_LEARNED = 20
# A step of the running median, as share of it: it follows within an hour and ignores a save.
_FOLLOWS = 0.02
# Saving and loading: as many requests to storage as mean something (N), a disk that is busy for half of
# the time, or a link of a gigabit that is full, each twice as much as is usual. One rank that saves
# suffices: its device rests, and the others wait for it busily.
_MOVES = {
    "host_nfs_requests_total": 10.0,
    "host_disk_io_seconds_total": 0.5,
    "host_network_bytes_total": 1e8,
}
_TIMES = 2.0


# Of devices: the running medians of power and traffic, the checksum of the job, and in Unix seconds
# since when nothing moves, the job hangs, and the device is busy while nothing moves.
_OF_ROWS = ("power", "traffic", "job", "stopped", "since", "waits")


class _Readings(NamedTuple):
    """Of devices float64[N], of nodes float64[M]; NaN where unknown."""

    load: Floats
    power: Floats
    # Bytes a second over links of devices, and over the fabric.
    traffic: Floats
    fabric: Floats


class Hang(ChannelState):
    """Channel G. Says something of jobs, and of the devices and nodes to blame."""

    def __init__(self, table: Table) -> None:
        rows: dict[str, tuple[int, ...]] = dict.fromkeys(_OF_ROWS, ())
        rows["pauses"] = (2,)
        codes = {"learned": (), "ticks": ()}
        super().__init__(Memory(rows, codes), Memory({"traffic": ()}))
        devices, nodes = table.devices, table.nodes
        self._load = devices.position("utilization_ratio")
        self._power = devices.position("power_watts")
        self._links = devices.positions(lambda row: row.series[0] == "interconnect_bytes_total")
        self._fabric = nodes.positions(lambda row: row.series[0] == "host_rdma_bytes_total")
        self._moves = {nodes.position(name): least for name, least in _MOVES.items()}

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Jobs that have hung for four ticks."""
        read = _Readings(
            values_at(tick.devices.value, self._load),
            values_at(tick.devices.value, self._power),
            sum_finite(tick.devices.value, self._links),
            sum_finite(tick.nodes.value, self._fabric),
        )
        self._forget_other_jobs(tick)
        self._learn(tick, read)
        results: list[Evidence] = []
        job = tick.frame.job
        kept = self.devices
        # A cluster may have hundreds of jobs that nobody can wait for.
        for code in np.flatnonzero(np.bincount(job[job >= 0]) >= _FEWEST):
            rows = np.flatnonzero(job == code)
            silent = suspects.silent_nodes(tick, rows)
            # What is not read says nothing of the others, of whom there may be few.
            answering = rows[~np.isin(tick.frame.node_of[rows], silent)]
            hung = self._is_hung(tick, answering, read)
            ticks = int(max(0, kept.codes["ticks"][rows].max())) + 1 if hung else 0
            kept.codes["ticks"][rows] = min(ticks, _TICKS)
            started = float(np.nanmin(np.append(kept.floats["since"][rows], tick.frame.now)))
            kept.floats["since"][rows] = started if hung else np.nan
            if not hung:
                continue
            culprits = suspects.Culprits(
                suspects.longest_silent(tick, silent),
                suspects.differing(tick, answering, read.load, kept.codes["learned"] >= _LEARNED),
            )
            if ticks >= _ticks_needed(culprits):
                results.append(_of_job(int(code), started, tick.frame.now))
                stopped = kept.floats["stopped"]
                results += suspects.evidence(tick, rows, culprits, stopped, started)
        return results

    def _forget_other_jobs(self, tick: Tick) -> None:
        """What a device did in another job says nothing of this one."""
        checksums = job_checksums(tick.frame)
        other = np.flatnonzero(~(self.devices.floats["job"] == checksums))
        self.devices.void(other)
        self.devices.floats["job"] = checksums

    def _learn(self, tick: Tick, read: _Readings) -> None:
        load, power, traffic, fabric = read
        kept = self.devices.floats
        stopped = traffic < _NO_TRAFFIC * kept["traffic"]
        first = stopped & np.isnan(kept["stopped"])
        kept["stopped"] = np.where(first, tick.frame.device_sampled, kept["stopped"])
        kept["stopped"] = np.where(
            traffic >= _NO_TRAFFIC * kept["traffic"], np.nan, kept["stopped"]
        )
        self._learn_pauses(tick.frame.device_sampled, load >= _BUSY, stopped)
        # Training: busy, and something moves. A device that waits is learned by nobody.
        training = (load >= _BUSY) & (power > 0) & ~stopped & (kept["job"] >= 0)
        kept["power"] = _median(kept["power"], power, training)
        kept["traffic"] = _median(kept["traffic"], traffic, training & (traffic > 0))
        learned = np.maximum(self.devices.codes["learned"], 0) + training
        self.devices.codes["learned"] = np.minimum(learned, _LEARNED).astype(np.int16)
        nodes = self.nodes.floats
        busy = np.bincount(tick.frame.node_of, weights=training, minlength=fabric.size) > 0
        nodes["traffic"] = _median(nodes["traffic"], fabric, busy & (fabric > 0))

    def _learn_pauses(self, sampled: Floats, busy: Bools, stopped: Bools) -> None:
        """Seconds for which a device was busy and moved nothing before it went on: the longest two."""
        kept = self.devices.floats
        lasted = np.where(busy & ~stopped, sampled - kept["waits"], np.nan)
        kept["pauses"] = np.sort(np.fmax([*kept["pauses"], lasted], 0.0), axis=0)[1:]
        waits = np.where(np.isnan(kept["waits"]), sampled, kept["waits"])
        kept["waits"] = np.where(busy & stopped, waits, np.nan)

    def _is_hung(self, tick: Tick, rows: Indices, read: _Readings) -> bool:
        """Whether all conditions hold for a job of these devices; unknown is no evidence."""
        load, power, traffic, fabric = read
        kept = self.devices.floats
        learned = self.devices.codes["learned"][rows] >= _LEARNED
        busy = load[rows] >= _BUSY
        if rows.size < _FEWEST or busy.mean() < _MOST or learned.mean() < _MOST:
            return False
        nodes = np.unique(tick.frame.node_of[rows])
        if tick.frame.maintenance[nodes].any() or self._moves_files(tick, nodes):
            return False
        share = (power[rows] / kept["power"][rows])[busy & learned]
        share = share[~np.isnan(share)]
        waited = tick.frame.device_sampled[rows] - kept["waits"][rows]
        usual = (waited < _LONGER * kept["pauses"][0, rows])[busy]
        if usual.mean() > 1.0 - _MOST:
            return False
        # As many must be known as must be busy.
        if share.size < _MOST * rows.size or np.median(share) >= _LITTLE_POWER:
            return False
        # A node that others use too says nothing of this job's traffic.
        own = nodes[~np.isin(nodes, tick.frame.node_of[_others(tick, rows)])]
        moved = np.concatenate((traffic[rows], fabric[own]))
        usual = np.concatenate((kept["traffic"][rows], self.nodes.floats["traffic"][own]))
        finite = ~np.isnan(moved) & ~np.isnan(usual)
        return bool(finite.any() and moved[finite].sum() < _NO_TRAFFIC * usual[finite].sum())

    def _moves_files(self, tick: Tick, nodes: Indices) -> bool:
        for position, least in self._moves.items():
            moved = values_at(tick.nodes.value, position)[nodes]
            usual = values_at(tick.nodes.usual, position)[nodes]
            if ((moved > least) & (moved > _TIMES * usual)).any():
                return True
        return False


def _ticks_needed(culprits: suspects.Culprits) -> int:
    """By whoever is named of them: one sample of a device at rest is no second kind of evidence."""
    if culprits.differing.size:
        return _TICKS_DIFFERS
    return _TICKS_SILENT if culprits.silent.size else _TICKS


def _others(tick: Tick, rows: Indices) -> Bools:
    mine = np.zeros(tick.frame.job.size, dtype=np.bool_)
    mine[rows] = True
    return np.asarray(~mine & (tick.frame.job >= 0))


def _median(kept: Floats, value: Floats, learns: Bools) -> Floats:
    """A running median: a step towards what is read, however far away that is."""
    stepped = kept * (1.0 + _FOLLOWS * np.sign(value - kept))
    return np.where(learns & ~np.isnan(value), np.where(np.isnan(kept), value, stepped), kept)


def _of_job(code: int, started: float, now: float) -> Evidence:
    return Evidence(
        channel=Channel.HANG,
        # Three conditions of most of a job's devices at once: nothing else looks like it.
        weight=Weight.DECISIVE,
        family="other",
        subject=Subject.JOB,
        rows=np.array([code], dtype=np.intp),
        score=np.array([12.0]),
        sustained_s=np.array([now - started]),
        since=np.array([started]),
        signal=np.array([-1], dtype=np.intp),
        advice="restart",
        cause="job_hangs",
    )
