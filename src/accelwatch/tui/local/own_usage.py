"""Who uses this machine's devices, counted by the dashboard itself while it runs."""

import os
from typing import TYPE_CHECKING

from accelwatch.schema.snapshot import Snapshot

if TYPE_CHECKING:
    from accelwatch.node.usage.ledger import By, Ledger
    from accelwatch.node.usage.report import EnergyPrice, UsageReport

_STEP_S = 5.0
_GAP_LIMIT_S = 15.0


class OwnUsage:
    """A ledger that starts with the second snapshot: the first picture waits for nothing."""

    def __init__(self) -> None:
        self._ledger: Ledger | None = None
        # Unix seconds of the last snapshot that was counted.
        self._observed_at = 0.0
        self._price: EnergyPrice | None = None
        self._price_loaded = False

    def observe(self, snapshot: Snapshot, monotonic_s: float | None = None) -> None:
        """Count a snapshot; most are skipped, as counters cover what was in between.

        `monotonic_s` is that of a live one, in monotonic seconds: by it is known that the clock was set.
        """
        if 0.0 <= snapshot.time - self._observed_at < _STEP_S:
            return
        first, self._observed_at = self._observed_at == 0.0, snapshot.time
        if not first:
            self._count(snapshot, monotonic_s)

    def report(self, snapshot: Snapshot, by: "By", window_s: float | None) -> "UsageReport":
        """What was counted; the first time, from here on."""
        from accelwatch.node.usage.report import report

        ledger = self._ledger or self._count(snapshot)
        note = "counted while this dashboard runs; an agent counts all the time: accelwatch usage"
        return report(
            ledger, by, window_s, price=self._priced(), source=snapshot.host, notes=(note,)
        )

    def _count(self, snapshot: Snapshot, monotonic_s: float | None = None) -> "Ledger":
        from accelwatch.node.usage.ledger import Ledger
        from accelwatch.node.usage.observation import observations_of

        if self._ledger is None:
            self._ledger = Ledger(gap_limit_s=_GAP_LIMIT_S)
        if snapshot.devices:
            self._ledger.add(snapshot.time, observations_of(snapshot), monotonic=monotonic_s)
        return self._ledger

    def _priced(self) -> "EnergyPrice | None":
        """By the agent's configuration, read once; one that cannot be read gives none."""
        if not self._price_loaded:
            from accelwatch.node.usage.price import configured_price

            self._price, _ = configured_price(os.environ)
            self._price_loaded = True
        return self._price
