"""Nuisances beside those of healthy fleets: frozen exporters, resets, a driver update, repairs."""

from collections.abc import Iterator, Sequence

import numpy as np

from healthy_fleets.nuisances import Away, Nuisances
from traces.character import Array, Settings
from traces.hosts import NFS
from traces.span import Span

_DAY_S = 86_400.0
_UPDATE_S = 900.0
_EDGE_S = 300.0


class Quirks:
    """All of a trace."""

    def __init__(
        self,
        rng: np.random.Generator,
        settings: Settings,
        nuisances: Nuisances,
        repairs: Sequence[tuple[int, float, float]],
    ) -> None:
        self._nuisances, self._nodes = nuisances, settings.nodes
        share = settings.nodes / 63.0 * settings.days
        # 5.1 has frozen exporters and noisy neighbours without a rate: one and two a week are assumed.
        self._frozen = self._away(rng, settings, rng.poisson(share / 7.0), 600.0, 3600.0)
        self._noisy = self._away(rng, settings, rng.poisson(share * 2.0 / 7.0), 1800.0, 7200.0)
        # 5.1: a third of the nodes gets another driver in the middle, announced; not within a day.
        first = rng.uniform(0.4, 0.6) * settings.seconds
        several_days = settings.days >= 2.0
        updated = rng.permutation(settings.nodes)[: settings.nodes // 3 * several_days]
        updates = [
            Away(int(node), None, first + 60.0 * at, first + 60.0 * at + _UPDATE_S)
            for at, node in enumerate(updated)
        ]
        self._gone = [*nuisances.gone, *updates]
        self._booted = [*nuisances.started, *updates]
        self.windows: list[tuple[int, float, float, str]] = [
            (one.node, one.start - _EDGE_S, one.end + _EDGE_S, "update")
            for one in (*nuisances.maintenance, *updates)
        ]
        for node, begin, end in repairs:
            # Assumption: three in ten are taken away, the others are started anew.
            away = end if rng.random() < 0.3 else min(end, begin + rng.uniform(600.0, 2400.0))
            back = Away(node, None, begin + _EDGE_S, max(away - _EDGE_S, begin + 2 * _EDGE_S))
            self._gone.append(back)
            self._booted.append(back)
            self.windows.append((node, begin, max(end, back.end + _EDGE_S), "repair"))

    @staticmethod
    def _away(
        rng: np.random.Generator, settings: Settings, count: int, least: float, most: float
    ) -> list[Away]:
        return [
            Away(int(rng.integers(settings.nodes)), None, at, at + rng.uniform(least, most))
            for at in rng.uniform(0, settings.seconds, count)
        ]

    def disturb(self, span: Span) -> None:
        """What is away, what cannot be read, and a neighbour who uses the storage."""
        for away in self._gone:
            span.host_rows[away.node, span.during(away.node, away.start, away.end)] = False
        for away in self._noisy:
            for node in range(self._nodes):
                slow = span.during(node, away.start, away.end)
                for name in (NFS % "round_trip_seconds", NFS % "execution_seconds"):
                    span.host[name][node, slow] *= 2.5
        for away in self._nuisances.unreadable:
            which = slice(None) if away.device is None else away.device
            during = span.during(away.node, away.start, away.end)
            if not during.any():
                continue
            for name, values in span.device.items():
                if not name.startswith("rate:"):
                    values[away.node, which, during] = 0.0 if name == "device_up" else np.nan

    def freeze(self, span: Span) -> None:
        """An exporter tells its last values again and again."""
        for away in self._frozen:
            at = np.flatnonzero(span.during(away.node, away.start, away.end))
            if len(at) > 1:
                for values in (*span.device.values(), *span.host.values()):
                    values[away.node, ..., at] = values[away.node, ..., at[0]]

    def resets(self, span: Span) -> Iterator[tuple[int, int]]:
        """Nodes and ticks at which all their counters begin at 0."""
        for away in self._booted:
            after = np.flatnonzero(span.seconds[away.node] > away.end)
            if span.seconds[away.node, 0] - span.step <= away.end and len(after):
                yield away.node, int(after[0])

    def uptime(self, seconds: Array) -> Array:
        """Seconds since each node was started, by node and tick."""
        booted = np.full(seconds.shape, -30.0 * _DAY_S)
        for away in sorted(self._booted, key=lambda one: one.end):
            booted[away.node, seconds[away.node] > away.end] = away.end - 60.0
        since: Array = np.round(seconds - booted)
        return since

    def skews(self, seconds: Array) -> Array:
        """By how many seconds the clock of each node is off, by node and tick."""
        found = np.zeros(seconds.shape)
        for node, since, by in self._nuisances.skews:
            found[node, seconds[node] > since] = by
        return found
