"""Busy ratios from cumulative engine counters: what moved between two scans, client by client."""

from collections.abc import Iterable

from accelwatch.system.kernel.drm_fdinfo.client import DrmClient

Ratios = dict[str, float]


class UsageMeter:
    """Turns counters of successive scans into ratios of 0 to 1.

    A client without an earlier reading adds nothing, and a vanished client's counters are gone,
    so the sums are over the positive deltas of clients that live in both scans.
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[str, int | str], DrmClient] = {}
        self._time: float | None = None
        self._totals: dict[str, Ratios] = {}

    def update(self, clients: Iterable[DrmClient], now: float) -> dict[int, Ratios]:
        """pid -> engine -> busy ratio since the last update; `now` is monotonic seconds.

        Empty the first time, and when no time has passed. Only pids and engines with two readings
        are in it.
        """
        current = {client.key(): client for client in clients}
        before, elapsed = self._clients, 0.0 if self._time is None else now - self._time
        if self._time is not None and elapsed <= 0:
            return {}
        self._clients, self._time = current, now
        self._totals = {}
        usage: dict[int, Ratios] = {}
        for key, client in current.items():
            if elapsed <= 0 or key not in before:
                continue
            ratios = client_ratios(before[key], client, elapsed)
            _add(usage.setdefault(client.pid, {}), ratios)
            _add(self._totals.setdefault(client.pdev, {}), ratios)
        return usage

    def engine_totals(self, pdev: str) -> Ratios:
        """engine -> busy ratio of a device over all clients of the last update; empty when unknown."""
        return dict(self._totals.get(pdev, {}))


def client_ratios(before: DrmClient, after: DrmClient, elapsed_s: float) -> Ratios:
    """engine -> busy ratio of one client between two readings.

    Nanosecond counters are divided by wall time, cycle counters by the device's own total; both are
    divided by the engine's capacity. A counter that went back counts as 0.
    """
    ratios: Ratios = {}
    for engine, busy_ns in after.engines.items():
        if engine in before.engines:
            moved = max(busy_ns - before.engines[engine], 0)
            ratios[engine] = _ratio(moved, elapsed_s * 1e9, after.capacity.get(engine, 1))
    for engine, busy in after.cycles.items():
        passed = after.total_cycles.get(engine, 0) - before.total_cycles.get(engine, 0)
        if engine in before.cycles and engine in before.total_cycles and passed > 0:
            moved = max(busy - before.cycles[engine], 0)
            ratios[engine] = _ratio(moved, float(passed), after.capacity.get(engine, 1))
    return ratios


def _ratio(moved: int, passed: float, capacity: int) -> float:
    return min(moved / passed / max(capacity, 1), 1.0)


def _add(sums: Ratios, ratios: Ratios) -> None:
    for engine, ratio in ratios.items():
        sums[engine] = min(sums.get(engine, 0.0) + ratio, 1.0)
