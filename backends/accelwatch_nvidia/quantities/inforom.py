"""Whether the content of a GPU's infoROM is whole."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Reading
from accelwatch_nvidia import returns
from accelwatch_nvidia.mapping import Outcome
from accelwatch_nvidia.nvml.nvml import DeviceCalls

SERIES = ("inforom_corrupted",)
# A single reading validates the infoROM for this group only.
GROUP = "ecc"
# NVML reads the whole infoROM from flash to validate it, so it does that rarely, and after the rest.
PACE_S = 3600.0
# Pause after a validation without a result, which a later one may have.
RETRY_S = 60.0


class Inforom:
    """Whether a GPU's infoROM is corrupted, validated at a pace of its own."""

    def __init__(self) -> None:
        # As last validated.
        self.outcome: Outcome = Absence.NOT_COLLECTED
        self._due_at: float | None = None
        self._validating = False

    def validate(self, calls: DeviceCalls, reading: Reading, now: float) -> Reading:
        """The reading with the outcome, validated again when it is due. Raises ReadError.

        `calls` must be used for nothing else; `now` is of a monotonic clock. While a validation hangs on
        one thread, another thread does not begin a second.
        """
        if self._validating or (self._due_at is not None and now < self._due_at):
            return reading
        self._validating, self._due_at = True, now + RETRY_S
        try:
            self.outcome = _validated(calls)
        finally:
            self._validating = False
        if not isinstance(self.outcome, Absence) or self.outcome is Absence.UNSUPPORTED:
            self._due_at = now + PACE_S
        return _with_outcome(reading, self.outcome)


def _validated(calls: DeviceCalls) -> Outcome:
    answer = calls.query("nvmlDeviceValidateInforom")
    if returns.CORRUPTED_INFOROM in calls.codes:
        return 1
    return answer if isinstance(answer, Absence) else 0


def _with_outcome(reading: Reading, outcome: Outcome) -> Reading:
    values = {series: value for series, value in reading.values.items() if series != SERIES}
    absent = {series: why for series, why in reading.absent.items() if series != SERIES}
    if isinstance(outcome, Absence):
        absent[SERIES] = outcome
    else:
        values[SERIES] = outcome
    return msgspec.structs.replace(reading, values=values, absent=absent)
