"""Whether the content of a GPU's infoROM is whole."""

from accelwatch.schema.absence import Absence
from accelwatch_nvidia import returns
from accelwatch_nvidia.mapping import Outcome
from accelwatch_nvidia.nvml import DeviceCalls

PACE_S = 3600.0
"""NVML reads the whole infoROM from flash to validate it, which no reading has to wait for."""


class Inforom:
    """Whether a GPU's infoROM is corrupted, validated at a pace of its own."""

    def __init__(self) -> None:
        self._outcome: Outcome = Absence.NOT_COLLECTED
        self._read_at: float | None = None

    def corrupted(self, calls: DeviceCalls, now: float) -> Outcome:
        """As last validated; validated anew when that is an hour ago. `now` is of a monotonic clock."""
        if self._read_at is None or now - self._read_at >= PACE_S:
            self._read_at = now
            self._outcome = _validated(calls)
        return self._outcome


def _validated(calls: DeviceCalls) -> Outcome:
    before = set(calls.codes)
    calls.codes.clear()
    answer = calls.ask("nvmlDeviceValidateInforom")
    corrupted = returns.CORRUPTED_INFOROM in calls.codes
    calls.codes |= before
    if corrupted:
        return 1
    return answer if isinstance(answer, Absence) else 0
