"""States of the nodes and devices of an archive: by how long they are silent, and by their samples.

Who is silent is slow, then stale, then down, as in a live fleet with an interval as long as a step of
the archive.
"""

import math

import numpy as np

from accelwatch.alerting.rules.timing import silence_s
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.backtest.context.newest_samples import DEVICE_UP, NewestSamples
from accelwatch.fleet.rules.columns.columns import Indices
from accelwatch.fleet.rules.columns.event_columns import EventHistory
from accelwatch.fleet.state.nodes.liveness import ORDER, Thresholds
from accelwatch.fleet.state.nodes.losses import are_lost, reports_loss
from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.fleet.table.rows import grown
from accelwatch.fleet.table.state_codes import NODE_STATE, STATE
from accelwatch.schema.device import DeviceState

UNREADABLE = "device_unreadable_info"
_STATE_CODES = np.array([NODE_STATE[state] for state in ORDER[:4]], dtype=np.intp)


class ArchiveStates:
    """By row, as of the latest `refresh`."""

    def __init__(
        self, device_index: DeviceIndex, samples: NewestSamples, event_history: EventHistory
    ) -> None:
        self._device_index, self._samples = device_index, samples
        self._step_s = device_index.step_s
        self._event_history, self._last_sequence = event_history, 0
        # When a log said last that it is lost, Unix seconds.
        self._reported_lost_at: Floats = np.full(device_index.size, -math.inf)
        self.here: Bools = device_index.here
        # Whether what is known of the device, or of its node, is of now.
        self.current: Bools = device_index.here
        self.node_current: Bools = device_index.here
        self.of_device: Indices = np.zeros(0, dtype=np.intp)
        self.of_node: Indices = np.zeros(0, dtype=np.intp)

    def refresh(self, now: float) -> None:
        """How everybody is at `now`, Unix seconds."""
        self.here = self._device_index.here.copy()
        self._record_losses()
        self._evaluate(now)

    def _record_losses(self) -> None:
        """Events that have come since and say that a device is lost."""
        device_index = self._device_index
        self._reported_lost_at = grown(self._reported_lost_at, device_index.size, -math.inf)
        for noted in self._event_history.after(self._last_sequence):
            self._last_sequence = noted.sequence
            event = noted.event
            row = device_index.row(noted.node, event.device_id) if reports_loss(event) else None
            if row is not None:
                self._reported_lost_at[row] = max(self._reported_lost_at[row], event.time)

    def _evaluate(self, now: float) -> None:
        device_index, limits = self._device_index, Thresholds()
        age = now - device_index.node_reported_at
        late, silent = 1.5 * self._step_s + 1.0, 6.0 * self._step_s
        edges = (
            max(limits.slow_s, late),
            max(limits.stale_s, 3.0 * self._step_s),
            max(limits.down_s, silent),
        )
        of_node = _STATE_CODES[
            np.searchsorted(edges, np.nan_to_num(age, nan=math.inf), side="left")
        ]
        node_state = of_node[device_index.node_of]
        self.of_node = np.where(self.here, node_state, -1)
        speaks = (node_state != NODE_STATE[ORDER[2]]) & (node_state != NODE_STATE[ORDER[3]])
        missed = device_index.missed()
        # If none of its devices is reported any more, their collector is silent and they are not lost.
        is_reported = now - device_index.reported_at <= edges[1]
        newest_s = silence_s(self._step_s)
        current = now - device_index.reported_at <= newest_s
        self.current = speaks & current & ~missed
        self.node_current = speaks & (age <= newest_s)[device_index.node_of]
        state = np.full(device_index.size, STATE["ok"], dtype=np.intp)
        self._evaluate_unread(state)
        state[~current] = -1
        state[~(speaks & is_reported)] = STATE["stale"]
        state[missed & speaks] = np.where(self.node_current, STATE["missing"], -1)[missed & speaks]
        self.of_device = np.where(self.here, state, -1)

    def _evaluate_unread(self, state: Indices) -> None:
        """Devices that cannot be read: what was recorded of them, else how long it lasts."""
        samples = self._samples
        unread = samples.device_values(DEVICE_UP) == 0
        failing_s = self._device_index.reported_at - samples.unread_since
        lost = unread & are_lost(failing_s, self._reported_lost_at, samples.read_at)
        state[unread] = STATE[DeviceState.DEGRADED]
        state[lost] = STATE[DeviceState.LOST]
        for series in samples.series:
            if series[0] == UNREADABLE and series[1] in STATE:
                state[unread & (samples.device_values(series) == 1)] = STATE[series[1]]
