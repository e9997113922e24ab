"""The host's own signs of trouble: they confirm what other channels say, and are a watch alone.

detection.md 1.3: what the operating system counts moves at the fault or slightly before it.
"""

import numpy as np

from accelwatch.detection.arrays import Bools, Floats
from accelwatch.detection.channels.components.building import active_since, evaluated_nodes, of_rows
from accelwatch.detection.channels.components.memory import ChannelState, Memory
from accelwatch.detection.channels.components.table import Table, values_at
from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.tick import Tick

# gpu071: 300,000 interrupts fell to 70,000-100,000 (1.3); healthy hosts vary by 5-10 %.
_COLLAPSED = 0.5
# Rates below it are those of hosts that do nothing anyway.
_LEAST_RATE = 100.0
# Runnable processes ~0 while peers have more than 10 (4.2, N).
_NOTHING_RUNS = 1.0
_PEERS_RUN = 10.0
# 4 times what is usual (4.2, N), from a pressure of 10 % and 16 MiB/s of page-out on: 4 times little
# is little.
_TIMES = 4.0
_PRESSURE = 0.1
_PAGE_OUT = 16 * 2.0**20
# Share of a request's time that it was queued: 0.92-0.93 in saves of the study (1.4); with so many
# requests a second that the share means something (4.2, N).
_QUEUED = 0.9
_REQUESTS = 10.0
# A request of a healthy save lasted 1.6 s, queue and all (1.4). Storage stalls where most of a group
# wait for twice that and for 2.5 times their longest wait so far: saves last 3 to 10 times as
# long then (5.3), and waiting varies by a quarter from save to save. Known after 20 min of requests.
_STALLED_S = 3.2
_STALLED_TIMES = 2.5
_LEARNED = 40
# The longest wait fades by e in a month, and grows by no more than e in half a day, so that a stall of
# hours is not what is usual.
_FADES_S, _GROWS_S = 30 * 86400.0, 12 * 3600.0
# GETATTR lasted 10 ms, and hundreds at the fault (1.3).
_ROUND_TRIP_S = 0.1
# In this share of a group's nodes at once it is no node's matter (4.1, step 6).
_EVERYBODY = 0.2
# Two ticks confirm (4.2, N): a condition must have held at the tick before.
_TICKS = 2
# Between the levels of 5 that combine and of 8 that weigh alone (4.3).
_SCORE = 6.0
# A stall that many share weighs alone: there is no chance in it.
_SHARED_SCORE = 8.0
_CAUSES = (
    "interrupts_collapsed",
    "context_switches_collapsed",
    "nothing_runs",
    "io_pressure",
    "page_out",
    "nfs_queue",
    "nfs_round_trip",
)
_STORAGE = frozenset({"io_pressure", "nfs_queue", "nfs_round_trip"})


class Host(ChannelState):
    """Channel N. Confirming. Nodes only."""

    def __init__(self, table: Table) -> None:
        shape = (len(_CAUSES),)
        super().__init__(
            nodes=Memory({"since": shape, "longest": ()}, {"ticks": shape, "learned": ()})
        )
        nodes = table.nodes
        self._interrupts = nodes.position("host_interrupts_total")
        self._switches = nodes.position("host_context_switches_total")
        load = (nodes.position("host_runnable_processes"), nodes.position("host_load_average"))
        self._running = next((position for position in load if position >= 0), -1)
        self._pressure = nodes.position("host_pressure_ratio", "io", "some")
        self._page_out = nodes.position("host_paging_bytes_total", "out")
        self._requests = nodes.position("host_nfs_requests_total")
        self._round_trip = nodes.position("host_nfs_round_trip_seconds_total")
        self._execution = nodes.position("host_nfs_execution_seconds_total")

    def evidence(self, tick: Tick) -> list[Evidence]:
        """Conditions that held at two ticks."""
        now = tick.frame.now
        evaluated = evaluated_nodes(tick)
        stalled, usual = self._compared_with_longest(tick)
        stalled &= evaluated
        active = np.stack(self._conditions(tick)) & evaluated & ~tick.nodes.on_hold
        # Own past and not peers say that storage stalls, so that a change of phase does not matter.
        queue = _CAUSES.index("nfs_queue")
        active[[queue, _CAUSES.index("nfs_round_trip")]] &= ~usual
        active[queue] |= stalled
        ticks = np.where(active, np.maximum(self.nodes.codes["ticks"], 0) + 1, 0)
        self.nodes.codes["ticks"] = np.minimum(ticks, _TICKS).astype(np.int16)
        since = active_since(self.nodes.floats["since"], active, now)
        self.nodes.floats["since"] = since
        signals = (
            self._interrupts,
            self._switches,
            self._running,
            self._pressure,
            self._page_out,
            self._execution,
            self._round_trip,
        )
        results: list[Evidence] = []
        for at, cause in enumerate(_CAUSES):
            common = _common(ticks[at] >= _TICKS, evaluated)
            shared = stalled & common & (at == queue)
            results += of_rows(
                Channel.HOST,
                Weight.CONFIRMING,
                Subject.NODE,
                "storage" if cause in _STORAGE else "host",
                ticks[at] >= _TICKS,
                since=since[at],
                now=now,
                score=np.where(shared, _SHARED_SCORE, _SCORE),
                signal=signals[at],
                # Storage that is slow for many is waited for (6.3, GROUP).
                advice="wait" if common else "",
                cause=cause,
            )
        return results

    def _conditions(self, tick: Tick) -> tuple[Bools, ...]:
        """In the order of `_CAUSES`, bool[M] each; unknown is False."""
        value, peers = tick.nodes.value, tick.nodes.median
        requests = values_at(value, self._requests)
        trip = values_at(value, self._round_trip)
        execution = values_at(value, self._execution)
        busy = requests > _REQUESTS
        running = values_at(value, self._running)
        return (
            _below(values_at(value, self._interrupts), values_at(peers, self._interrupts)),
            _below(values_at(value, self._switches), values_at(peers, self._switches)),
            (running < _NOTHING_RUNS) & (values_at(peers, self._running) > _PEERS_RUN),
            self._above(tick, self._pressure, _PRESSURE),
            self._above(tick, self._page_out, _PAGE_OUT),
            # What is not spent on the way is spent in the queue.
            busy & (execution > 0) & (execution - trip > _QUEUED * execution),
            busy & (trip > _ROUND_TRIP_S * requests),
        )

    def _compared_with_longest(self, tick: Tick) -> tuple[Bools, Bools]:
        """bool[M]: requests wait far longer than they ever did; they wait as they do. Learns."""
        kept, wait = self.nodes.floats, self._wait(tick)
        longest = kept["longest"]
        learned = np.maximum(self.nodes.codes["learned"], 0)
        existing = (learned >= _LEARNED) & np.isfinite(wait)
        longer = existing & (wait > _STALLED_TIMES * longest)
        step_s = min(tick.step_s, _TICKS * tick.frame.interval_s)
        most = np.where(existing, longest * np.exp(step_s / _GROWS_S), np.inf)
        faded = longest * np.exp(-step_s / _FADES_S)
        kept["longest"] = np.fmax(faded, np.minimum(wait, most))
        more = np.minimum(learned + np.isfinite(wait), _LEARNED)
        self.nodes.codes["learned"] = more.astype(np.int16)
        return np.asarray(longer & (wait > _STALLED_S)), np.asarray(existing & ~longer)

    def _wait(self, tick: Tick) -> Floats:
        """Seconds of a request, float64[M]; NaN where there are too few."""
        value = tick.nodes.value
        requests = values_at(value, self._requests)
        wait = np.full(requests.shape, np.nan)
        execution = values_at(value, self._execution)
        np.divide(execution, requests, out=wait, where=requests > _REQUESTS)
        return wait

    def _above(self, tick: Tick, position: int, least: float) -> Bools:
        """Beyond four times what peers have, or itself where it has no peers."""
        value = values_at(tick.nodes.value, position)
        peers = values_at(tick.nodes.median, position)
        usual = np.where(np.isnan(peers), values_at(tick.nodes.usual, position), peers)
        return np.asarray((value > _TIMES * usual) & (value > least))


def _below(value: Floats, peers: Floats) -> Bools:
    return np.asarray((value < _COLLAPSED * peers) & (peers > _LEAST_RATE))


def _common(present: Bools, evaluated: Bools) -> bool:
    return bool(present.sum() > max(1.0, _EVERYBODY * evaluated.sum()))
