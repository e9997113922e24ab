"""Events of an archive in the order in which a recorder would have received them.

They are kept by the clock of their node; its skew maps them to the recorder's.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from accelwatch.archive.history.rows import EventRow
from accelwatch.fleet.backtest.context.device_index import DeviceIndex
from accelwatch.fleet.state.events import Noted
from accelwatch.schema.event import ErrorEvent
from accelwatch.system.kernel.xid import category_in

# How far a node's clock may be ahead without its events being received late.
AHEAD_S = 900.0


class ArchiveEventHistory:
    """What was logged, as far as it can be known; the event history of a back-test."""

    def __init__(
        self, events: Iterator[EventRow], device_index: DeviceIndex, skew_s: Callable[[str], float]
    ) -> None:
        """`skew_s` says how far a node's clock is ahead, in seconds."""
        self._events = events
        self._device_index = device_index
        self._skew_s = skew_s
        self._now = 0.0
        self._last = 0
        self._waiting: list[EventRow] = []
        self._following: EventRow | None = next(events, None)
        self._new: deque[Noted] = deque()
        # Whether anything was ever logged.
        self.has_events = self._following is not None

    def advance(self, now: float) -> None:
        """Receive what was logged up to a time, Unix seconds."""
        self._now = now
        while self._following is not None and self._following.time / 1000 <= now + AHEAD_S:
            self._waiting.append(self._following)
            self._following = next(self._events, None)
        if not self._waiting:
            return
        timed = [(event.time / 1000 - self._skew_s(event.node), event) for event in self._waiting]
        self._waiting = [event for time, event in timed if time > now]
        for time, event in timed:
            if time <= now:
                self._last += 1
                self._new.append(_noted(self._last, time, event))

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self._device_index.size

    @property
    def generation(self) -> npt.NDArray[np.uint32]:
        """By row; an id is one device for ever."""
        return self._device_index.generation

    def wall(self) -> float:
        """Unix seconds."""
        return self._now

    def after(self, sequence: int) -> Iterable[Noted]:
        """Events that came after one."""
        while self._new and self._new[0].sequence <= sequence:
            self._new.popleft()
        return list(self._new)

    def rows_of(self, node: str, device_id: str) -> list[int]:
        """The rows that an event concerns; without a device that is known those of the node."""
        row = self._device_index.row(node, device_id) if device_id else None
        return self._device_index.rows(node) if row is None else [row]

    def active_alerts(self) -> tuple[()]:
        """Nothing: an archive has events, not what stood beside them."""
        return ()

    def who(self, row: int) -> tuple[str, ...]:
        """Whose row it is."""
        return (
            tuple(self._device_index.devices[row]) if row < len(self._device_index.devices) else ()
        )


def _noted(sequence: int, time: float, row: EventRow) -> Noted:
    event = ErrorEvent(
        code=row.code,
        category=category_in(row.code, row.text),
        time=time,
        text=row.text,
        source=row.kind,
        device_id=row.device or "",
    )
    return Noted(sequence=sequence, node=row.node, name="", event=event)
