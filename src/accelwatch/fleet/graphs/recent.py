"""What the hub's memory keeps of a subject and its peers: a quarter of an hour, in steps."""

import math
from typing import NamedTuple

import numpy as np

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.expr.vocabulary.detector_names import DETECTOR
from accelwatch.fleet.graphs.peers import Subject
from accelwatch.fleet.graphs.quartiles import folded, steps_together
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.history import STEP_S, STEPS
from accelwatch.fleet.table.belief import Floats
from accelwatch.schema.display import duration
from accelwatch.schema.metrics import Series

# What is shown of the time before it began: rules and the detector need minutes until they are sure,
# so that what came first lies before.
LEAD_S = 600.0
# Steps that are drawn at least, however short it has lasted.
_LEAST_STEPS = 30
SPAN = duration(STEPS * STEP_S)


class Values(NamedTuple):
    """A series by step, oldest first; NaN where there is no value."""

    series: Series
    # Whether it is by how much a counter grows a second.
    rate: bool
    line: Floats
    # float64[steps, peers].
    peers: Floats

    @property
    def first(self) -> int:
        """The first step in which anything is known."""
        present = ~np.isnan(self.line) | ~np.isnan(self.peers).all(axis=1)
        return int(present.argmax()) if present.any() else len(present)

    def since(self, step: int) -> "Values":
        """The same without the steps before."""
        return self._replace(line=self.line[step:], peers=self.peers[step:])


class Recent:
    """The steps of an incident that are still kept; for the hub's loop."""

    def __init__(self, fleet: Fleet, incident: Incident, subject: Subject) -> None:
        self._fleet = fleet
        self._subject = subject
        # How many steps of history make one: a device that reports more rarely has a value in each.
        self._together = steps_together(_interval_s(fleet, subject), STEP_S)
        self.step_s = float(STEP_S * self._together)
        clock = fleet.clock
        # The last step is still open.
        newest = clock.wall() + STEP_S - clock.monotonic() % STEP_S
        oldest = newest - STEPS * STEP_S
        self._stop, self._start = STEPS, 0
        if incident.closed is not None:
            self._stop = min(math.ceil((incident.closed - oldest) / STEP_S), STEPS)
        first = math.floor((onset_of(incident) - LEAD_S - oldest) / STEP_S)
        self._start = max(min(first, self._stop - _LEAST_STEPS), 0)
        # Unix seconds at which the last step ends.
        self.end = oldest + STEP_S * self._stop

    @property
    def is_over(self) -> bool:
        """Whether it was over before anything that is kept."""
        return self._stop <= 0

    @property
    def ends_now(self) -> bool:
        """Whether the last step is the present one."""
        return self._stop == STEPS

    @property
    def least(self) -> int:
        """Steps that are drawn at least."""
        return _LEAST_STEPS // self._together

    def kept(self) -> tuple[Series, ...]:
        """Of what anything is kept."""
        return self._fleet.history.series()

    def values(self, series: Series) -> Values | None:
        """A series that is kept; None where the subject has none of it."""
        rows = np.concatenate([self._subject.rows, self._subject.peers])
        kept = self._fleet.history.recent(series, rows)
        if kept is None:
            return None
        is_growth, steps = kept
        steps = folded(steps[self._start : self._stop], self._together)
        own, peers = np.split(steps, [len(self._subject.rows)], axis=1)
        line = own[:, 0] if own.shape[1] == 1 else median(own)
        return None if np.isnan(line).all() else Values(series, is_growth, line, peers)


def onset_of(incident: Incident) -> float:
    """When it began, Unix seconds: a finding of the detector dates that back, before a rule holds."""
    findings = (
        record.since
        for record in incident.evidence
        if record.since is not None and record.source.startswith(DETECTOR)
    )
    return min((incident.since, *findings))


def median(values: Floats) -> Floats:
    """Of float64[steps, devices] by step; NaN where none has a value."""
    medians = np.full(len(values), math.nan)
    present = ~np.isnan(values).all(axis=1)
    medians[present] = np.nanmedian(values[present], axis=1)
    return medians


def _interval_s(fleet: Fleet, subject: Subject) -> float:
    """How often the subject reports, or half of its peers where that is rarer."""
    own, peers = (fleet.table.interval_s[rows] for rows in (subject.rows, subject.peers))
    intervals = [np.median(present) for of in (own, peers) if len(present := of[~np.isnan(of)])]
    return float(max(intervals, default=0.0))
