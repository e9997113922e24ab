"""Writes one trace: the archive of a fleet, three hours at a time, and the truth beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from healthy_fleets.folder import START, write_days, write_events, write_rest
from healthy_fleets.nuisances import Event, Nuisances
from traces.arrivals import Arrival, arrivals
from traces.character import Array, Settings, drawn
from traces.devices import Devices
from traces.effects.by_class import EFFECTS
from traces.effects.groups import GROUP_EFFECTS, precede, steps
from traces.hosts import Hosts
from traces.placed import Placed
from traces.placing import Placing
from traces.quirks import Quirks
from traces.records import Records, roster_of
from traces.sessions import IDLE, phases_of
from traces.span import Span
from traces.truth import GROUP, TRUTH, Fault, write_truth


class Trace:
    """One trace, drawn with its seed."""

    def __init__(self, settings: Settings, coming: Sequence[Arrival] | None = None) -> None:
        """`coming` are other faults than those that would be drawn."""
        self._rng = rng = np.random.default_rng([31, settings.seed])
        self._settings, self._character = settings, drawn(rng)
        due = arrivals(rng, self._character, settings)
        self.life = Placing(rng, self._character, settings).live(
            due if coming is None else list(coming)
        )
        self._phases = phases_of(self.life.sessions)
        shape = settings.nodes, settings.devices
        self._nuisances = Nuisances(
            settings.seconds, [], rng, shape=shape, rates=self._character.rates
        )
        self._devices = Devices(rng, self._character, settings)
        self._hosts = Hosts(rng, self._character, settings)
        self.roster = roster_of(rng, settings, self._devices.models)
        self._records = Records(self.roster, settings.seconds)
        self._stage = rng.permutation(settings.nodes) % len(self._character.stage_power)
        self._offset = rng.uniform(1.5, settings.interval_s - 1.5, (settings.nodes, 1))
        # Nodes end a phase at their own moment (4.4).
        self._lag = rng.uniform(0.0, 15.0, (settings.nodes, 1))
        self._member = np.zeros((len(self.life.sessions) + 1, settings.nodes), dtype=bool)
        for place, session in enumerate(self.life.sessions):
            self._member[place, list(session.nodes)] = True
        self._quirks = Quirks(rng, settings, self._nuisances, self.life.repairs)
        self._totals: dict[str, Array] = {}
        self._events: list[Event] = []

    def write(self, folder: Path) -> None:
        """The archive in `folder/archive`, the truth in `folder/truth.ndjson`."""
        archive, settings = folder / "archive", self._settings
        write_days(archive, self._spans(), span_s=settings.span_s)
        skew = self._nuisances.skew
        rows = [
            self.roster.event(event, skew(event.node, event.second))
            for event in (*self._events, *self._nuisances.events)
            if event.second < settings.seconds
        ]
        write_events(archive, rows)
        sessions = (*self.life.sessions, *self.life.small)
        jobs = [row for session in sessions for row in self._records.jobs(session)]
        windows = [self._records.window(*one) for one in self._quirks.windows]
        write_rest(archive, jobs, windows, seconds=settings.seconds, step_s=settings.interval_s)
        write_truth(folder / TRUTH, self.truth())

    def _spans(self) -> Iterator[tuple[Any, Any]]:
        for begin in range(0, int(self._settings.seconds), self._settings.span_s):
            span = self._span(float(begin))
            ms = ((START + span.seconds) * 1000).astype(np.int64)
            yield (
                self.roster.table(ms, span.device_rows, span.device),
                self.roster.table(ms, span.host_rows, span.host),
            )

    def _span(self, begin: float) -> Span:
        settings, rng = self._settings, self._rng
        lasts = min(float(settings.span_s), settings.seconds - begin)
        ticks = int(lasts // settings.interval_s)
        shape = settings.nodes, ticks
        ends = begin + np.arange(1, ticks + 1) * settings.interval_s
        seconds = ends - self._offset + rng.uniform(-1.0, 1.0, shape)
        at = self._phases.at(seconds - self._lag)
        member = self._member[self._phases.session[at], np.arange(settings.nodes)[:, None]]
        phase = np.where(member, self._phases.phase[at], IDLE)
        small = np.zeros((settings.nodes, settings.devices, ticks), dtype=bool)
        for job in self.life.small:
            for node in job.nodes:
                there = (seconds[node] > job.start) & (seconds[node] <= job.end)
                small[node, : len(job.devices or ()), there] = True
        span = Span(
            seconds=seconds,
            begin=begin,
            step=settings.interval_s,
            phase=phase,
            device=self._devices.columns(
                seconds, phase, self._phases.factor[at], self._stage, small
            ),
            host=self._hosts.columns(
                seconds, phase, self._quirks.skews(seconds), self._quirks.uptime(seconds)
            ),
            device_rows=np.ones((settings.nodes, settings.devices, ticks), dtype=bool),
            host_rows=~self._nuisances.missed(ticks).T,
        )
        for fault in self.life.faults:
            self._apply(span, fault)
        self._quirks.disturb(span)
        span.device_rows &= span.host_rows[:, None, :]
        for columns in (span.device, span.host):
            self._count(span, columns)
        self._quirks.freeze(span)
        self._events += span.events
        return span

    def _apply(self, span: Span, fault: Placed) -> None:
        """Everything of a fault that lies in a span, also before its onset."""
        first = fault.onset if fault.precursor is None else fault.precursor.start
        if first >= span.end:
            return
        if fault.precursor is not None:
            precede(span, fault, fault.precursor, self._devices, self._rng)
            for second in steps(fault):
                after = span.seconds[fault.node] > second
                span.device[fault.precursor.signal][fault.node, fault.device, after] += 1.0
        lasting = fault.kind.name == "ecc_94"  # rows stay remapped
        if fault.onset < span.end and (lasting or fault.until + 120.0 > span.begin):
            if fault.kind.scope == GROUP:
                GROUP_EFFECTS[fault.kind.name](span, fault)
            else:
                EFFECTS[fault.kind.name](span, fault, span.signature(fault), self._rng)

    def _count(self, span: Span, columns: dict[str, Array]) -> None:
        """Rates become totals that go on from the span before, in blocks as a recorder keeps them."""
        for name in [one for one in columns if one.startswith("rate:")]:
            key = name.removeprefix("rate:")
            rate = columns.pop(name).astype(np.float64)
            before = self._totals.get(key)
            total = np.cumsum(rate * span.step, axis=-1)
            total += 1e6 if before is None else before[..., None]
            for node, tick in self._quirks.resets(span):
                total[node, ..., tick:] -= total[node, ..., tick : tick + 1]
            self._totals[key] = total[..., -1].copy()
            block = self._character.block_bytes if "_bytes_" in key else 1.0
            columns[key] = np.floor(total / block + 1e-6) * block
        unread = span.device.get("device_up")
        if columns is span.device and unread is not None:
            for key in self._totals:
                if key in columns:
                    columns[key][unread == 0] = np.nan

    def truth(self) -> list[Fault]:
        """What is broken, as far as it begins before the end."""
        seconds = self._settings.seconds
        return [self._records.fault(one) for one in self.life.faults if one.onset < seconds]
