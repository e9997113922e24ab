"""Puts faults into the life of a fleet: which node, when exactly, what becomes of its job and of it."""

import bisect
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from traces.arrivals import Arrival, node_weights
from traces.character import Character, Settings
from traces.placed import Placed, group_of, lasting, precursor_of
from traces.sessions import DEAD, HANG, Session, session_of
from traces.truth import GROUP, JOB

_DAY_S = 86_400.0


@dataclass
class Life:
    """All that happens in a trace."""

    sessions: list[Session] = field(default_factory=list)
    small: list[Session] = field(default_factory=list)
    faults: list[Placed] = field(default_factory=list)
    # Node, begin and end of repairs.
    repairs: list[tuple[int, float, float]] = field(default_factory=list)


class Placing:
    """Lives through a trace, session after session."""

    def __init__(self, rng: np.random.Generator, character: Character, settings: Settings) -> None:
        self._rng, self._character, self._settings = rng, character, settings
        # Who is a spare, who fails often, and who shares a row of racks is not in any name.
        self._order = rng.permutation(settings.nodes)
        self._rows = rng.permutation(settings.nodes)
        self._weights = node_weights(rng, character, settings.nodes)
        self._out = np.zeros(settings.nodes)
        self._latest = 0.0
        self.life = Life()

    def live(self, coming: list[Arrival]) -> Life:
        """Everything until the end."""
        rng, waiting = self._rng, deque(coming)
        at = float(rng.uniform(0, 600))
        while at < self._settings.seconds:
            session = self._session(at)
            retried = False
            while waiting and waiting[0].second < session.end:
                arrival = waiting.popleft()
                fault = self._placed(arrival, session)
                if fault is None:  # this session never trains long enough
                    self._put(waiting, arrival._replace(second=session.end + 1.0))
                    continue
                self.life.faults.append(fault)
                if session.tail is not None and session.tail[0] == fault.onset:
                    retried = fault.kind.hangs + fault.kind.dies > 0
                self._relapse(waiting, fault)
            self._small_jobs(session)
            at = session.end + rng.uniform(360.0, 1500.0)  # 5.1: idle 6-25 min
            if retried and rng.random() < self._character.blind_retry:
                at = self._retry(session, at)
        return self.life

    def _session(self, at: float) -> Session:
        size = self._settings.nodes - self._settings.spares
        able = [int(node) for node in self._order if self._out[node] <= at][:size]
        session = session_of(self._rng, len(self.life.sessions), able, at)
        self.life.sessions.append(session)
        return session

    def _retry(self, session: Session, at: float) -> float:
        """The same nodes once more, which dies while it loads (1.4); returns when the next starts."""
        lasts = self._rng.uniform(120.0, 360.0)
        number = len(self.life.sessions)
        self.life.sessions.append(Session(number, session.nodes, at, at + lasts, at + lasts))
        return at + lasts + self._rng.uniform(360.0, 1500.0)

    def _small_jobs(self, session: Session) -> None:
        """Somebody's small job on spare nodes and some of their devices."""
        rng = self._rng
        able = [
            int(node)
            for node in self._order
            if node not in session.nodes and self._out[node] <= session.start
        ]
        if not able or rng.random() < 0.5:
            return
        lasts = session.end - session.start
        start = session.start + rng.uniform(0.0, 0.4) * lasts
        size = int(rng.integers(1, self._settings.devices + 1))
        self.life.small.append(
            Session(
                len(self.life.small),
                tuple(able[: int(rng.integers(1, 7))]),  # 5.1: 2-6 nodes, as far as there are
                start,
                start + 60.0,
                start + rng.uniform(0.3, 0.6) * lasts,
                devices=tuple(range(size)),
            )
        )

    def _placed(self, arrival: Arrival, session: Session) -> Placed | None:
        rng, kind = self._rng, arrival.kind
        # In order of time, or one would end the job before another that is already placed in it.
        earliest = max(arrival.second, session.start + 60.0, self._latest + 60.0)
        onset: float | None = earliest
        save = session.next_save(earliest) if kind.name == "storage" else None
        if kind.name == "storage":
            onset = None if save is None else session.saves[save][0]
        elif kind.needs_training:
            onset = session.training_from(earliest, rng)
        stopped = session.tail is not None and onset is not None and onset >= session.tail[0]
        if onset is None or stopped or onset >= session.end:
            return None
        self._latest = onset
        fault = self._made(arrival, session, onset)
        if save is not None:
            begin, end, _ = session.saves[save]
            fault.magnitude = rng.uniform(3.0, 10.0)  # 5.3: 3-10x longer
            fault.until = min(begin + fault.magnitude * (end - begin), session.end - 60.0)
            session.saves[save] = (begin, fault.until, True)
            fault.end = fault.until
        fault.precursor = precursor_of(rng, kind, onset)
        self._affects(fault, session)
        return fault

    def _made(self, arrival: Arrival, session: Session, onset: float) -> Placed:
        rng, kind, settings = self._rng, arrival.kind, self._settings
        able = self._out <= onset
        if kind.needs_training or kind.scope == JOB:
            inside = np.zeros(settings.nodes, dtype=bool)
            inside[list(session.nodes)] = True
            able &= inside
        weights = np.where(able, self._weights, 0.0)
        if weights.sum() == 0:
            weights = np.ones(settings.nodes)
        node = arrival.node if arrival.node is not None and able[arrival.node] else None
        if node is None:
            node = int(rng.choice(settings.nodes, p=weights / weights.sum()))
        lasts, magnitude = lasting(rng, kind)
        fault = Placed(
            kind,
            onset,
            node,
            int(rng.integers(settings.devices)),
            session if node in session.nodes else None,
            onset + lasts,
            onset + lasts,
            magnitude,
            variant=float(rng.random()),
        )
        if kind.scope == GROUP:
            fault.nodes = group_of(rng, kind.name, session.nodes, self._rows)
        if kind.xid is not None and not (kind.name == "off_bus" and fault.variant < 0.1):
            # 5.3: 79 comes 0-60 s after the device has gone, and sometimes never; 119 after a time-out.
            fault.xid_at = onset + {"off_bus": rng.uniform(0, 60), "gsp": rng.uniform(6, 60)}.get(
                kind.name, rng.uniform(0, 3)
            )
        return fault

    def _affects(self, fault: Placed, session: Session) -> None:
        """Its job stops, its node is repaired."""
        rng, kind = self._rng, fault.kind
        if fault.session is not None:
            chance = rng.random()
            if kind.name == "app":
                # 5.3: work ends some ten minutes before the record.
                session.stop(fault.onset, DEAD, rng.uniform(480.0, 720.0), 1.0)
                fault.xid_at = session.end - rng.uniform(20.0, 60.0)
                fault.until = fault.end = session.end
            elif chance < kind.hangs:
                # 5.3: time-outs of 10-30 min, power at 35-55 %.
                session.stop(fault.onset, HANG, rng.uniform(600.0, 1800.0), rng.uniform(0.35, 0.55))
            elif chance < kind.hangs + kind.dies:
                session.stop(fault.onset, HANG, rng.uniform(5.0, 60.0), rng.uniform(0.35, 0.55))
        if rng.random() < kind.repaired:
            # Half an hour to four hours later (assumption); 5.1: outages last 1.1 d, p90 15 d.
            begin = max(fault.until, session.end) + rng.uniform(1800.0, 14400.0)
            lasts = min(float(rng.lognormal(np.log(1.1), 2.02)), 20.0) * _DAY_S
            if np.count_nonzero(self._out > begin) >= max(1, self._settings.nodes // 12):
                lasts = min(lasts, 7200.0)  # 0, row 7: at most 8.75 % are out at once
            fault.until, fault.end = begin, begin + lasts
            self._out[fault.node] = begin + lasts
            self.life.repairs.append((fault.node, begin, begin + lasts))
        elif session.tail is not None and session.tail[0] == fault.onset and kind.name != "ecc_94":
            # Whatever stopped the job is reset before the next; memory waits for its repair (5.3).
            fault.until = fault.end = session.end + rng.uniform(60.0, 300.0)

    def _relapse(self, waiting: deque[Arrival], fault: Placed) -> None:
        """0, row 7: what was repaired fails again, within days."""
        if fault.kind.repaired and self._rng.random() < self._character.relapse * 0.5:
            after = float(self._rng.exponential(3.0)) * _DAY_S
            second = fault.end + after
            if second < self._settings.seconds * 0.98:
                self._put(waiting, Arrival(second, fault.kind, fault.node))

    @staticmethod
    def _put(waiting: deque[Arrival], arrival: Arrival) -> None:
        seconds = [one.second for one in waiting]
        waiting.insert(bisect.bisect(seconds, arrival.second), arrival)
