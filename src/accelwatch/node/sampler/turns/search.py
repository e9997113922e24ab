"""The search for a device's processes, which must not keep its numbers waiting.

A backend reports the numbers before it looks for processes. When these are late, the numbers count as
the reading, and the device is read without processes until the search has come back.
"""

from collections.abc import Sequence

import msgspec

from accelwatch.base.backoff import Backoff
from accelwatch.node.sampler.turns.contract import ContractError, encoded_readings
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0


class Search:
    """Of one device. `store_numbers` is called on its worker, the rest on the loop."""

    def __init__(self) -> None:
        # The call that was left to go on by itself.
        self.call: int | None = None
        self._numbers: tuple[Reading, ...] = ()
        self._is_searching = False
        self._pause = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)

    def due(self, now: float) -> bool:
        """Whether processes are to be looked for at this turn."""
        self._numbers = ()
        self._is_searching = self.call is None and self._pause.ready(now)
        return self._is_searching

    def store_numbers(self, readings: Sequence[Reading]) -> None:
        """The backend has read the numbers; they are copied, as it goes on to fill what they hold."""
        self._numbers = tuple(
            msgspec.structs.replace(
                reading, values=dict(reading.values), absent=dict(reading.absent)
            )
            for reading in readings
        )

    def numbers(self, identity: tuple[Device, ...], groups: frozenset[str]) -> msgspec.Raw | None:
        """What was read before the search; None when the device has not come so far."""
        numbers, self._numbers = self._numbers, ()
        if not numbers:
            return None
        try:
            return encoded_readings(numbers, identity, groups, searched=False)
        except ContractError:
            return None

    def finish(self, now: float, *, late: bool) -> None:
        """The search is over: a late one is not repeated at once."""
        self.call = None
        if late:
            self._pause.failed(now)
        elif self._is_searching:
            self._pause.succeeded()
