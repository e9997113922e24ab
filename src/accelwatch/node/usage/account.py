"""What was counted for one holder: by minutes of the last hour, and of all the time before."""

from accelwatch.base.absence import Absence
from accelwatch.node.usage.observation import Observation
from accelwatch.node.usage.shares import Holder
from accelwatch.node.usage.sums import Sums

MINUTE_S = 60.0


class Account:
    """Everything counted for one holder."""

    def __init__(self, holder: Holder, time: float) -> None:
        self.holder = holder
        # Unix seconds since which it is counted.
        self.first = time
        self.last = time
        # Unix seconds of its oldest process.
        self.started_at: float | None = None
        # By the device's identity: when it was held last.
        self.devices: dict[str, float] = {}
        # By the minute of the clock: those of the last hour.
        self.minutes: dict[int, Sums] = {}
        # What was counted before these minutes.
        self.older = Sums()
        # Why a quantity was not known when it was last missed.
        self.reasons: dict[str, Absence] = {}

    def see(self, observation: Observation, started_at: float | None, time: float) -> None:
        """It holds a device now."""
        self.last = time
        self.devices[observation.device] = time
        if started_at is not None and (self.started_at is None or started_at < self.started_at):
            self.started_at = started_at

    def sums(self, time: float) -> Sums:
        """Those that a moment belongs to."""
        minute = int(time // MINUTE_S)
        sums = self.minutes.get(minute)
        if sums is None:
            sums = self.minutes[minute] = Sums()
        return sums

    def forget(self, since: float) -> None:
        """Let go of minutes that were over by then; their sums stay in those of all time."""
        for minute in [minute for minute in self.minutes if (minute + 1) * MINUTE_S <= since]:
            self.older.add(self.minutes.pop(minute))

    def move(self, by_s: float) -> None:
        """All of it was so much later, by a clock that was set."""
        self.first += by_s
        self.last += by_s
        self.started_at = None if self.started_at is None else self.started_at + by_s
        self.devices = {device: last + by_s for device, last in self.devices.items()}
        minutes = round(by_s / MINUTE_S)
        self.minutes = {minute + minutes: sums for minute, sums in self.minutes.items()}

    def over(self, since: float | None) -> Sums:
        """Sums of the minutes from the one of a moment on; of all time where None."""
        total = Sums()
        if since is None:
            total.add(self.older)
        for minute, sums in self.minutes.items():
            if since is None or (minute + 1) * MINUTE_S > since:
                total.add(sums)
        return total
