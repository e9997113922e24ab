"""Three hours of a fleet as arrays, and what faults do to them."""

from dataclasses import dataclass, field

import numpy as np

from healthy_fleets.nuisances import Event
from traces.character import Array
from traces.placed import Placed


@dataclass
class Span:
    """Columns of devices are by node, device and tick, those of hosts by node and tick.

    A column `rate:NAME` is of counts in a second and becomes the counter NAME.
    """

    # When each sample is taken, by the true time, seconds of the trace.
    seconds: Array
    # The end of the tick before the first.
    begin: float
    step: float
    phase: Array
    device: dict[str, Array]
    host: dict[str, Array]
    # Whether there is a row, by node, device and tick, and by node and tick.
    device_rows: Array
    host_rows: Array
    events: list[Event] = field(default_factory=list)

    @property
    def end(self) -> float:
        """The end of the last tick."""
        return self.begin + self.step * float(self.seconds.shape[-1])

    def during(self, node: int, start: float, end: float) -> Array:
        """Which samples of a node lie between two moments."""
        found: Array = (self.seconds[node] > start) & (self.seconds[node] <= end)
        return found

    def signature(self, fault: Placed) -> Array:
        """Which samples of its node a fault lies in."""
        return self.during(fault.node, fault.onset, fault.until)

    def log(self, second: float, node: int, device: int | None, code: str, text: str) -> None:
        """A line of the kernel log, if it falls into this span."""
        if self.begin <= second < self.end:
            self.events.append(Event(second, node, device, code, text))

    def xid(self, second: float, node: int, device: int | None, code: str, rest: str = "") -> None:
        """A line of the driver, which names its code."""
        text = f"NVRM: Xid (PCI:0000:{0x1B + (device or 0):02x}:00): {code}, pid=4242{rest}"
        self.log(second, node, device, f"xid_{code}", text)


def poisson(rng: np.random.Generator, rate: float, step: float, shape: tuple[int, ...]) -> Array:
    """Counts a second of what comes `rate` times a second on each; hardly any, so placed one by one."""
    found = np.zeros(shape, dtype=np.float32)
    size = int(np.prod(shape))
    places = rng.integers(0, max(size, 1), rng.poisson(rate * step * size))
    np.add.at(found.reshape(-1), places, 1.0 / step)
    return found
