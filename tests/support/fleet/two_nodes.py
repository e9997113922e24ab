"""A fleet of two nodes whose devices report what a test wants."""

from collections.abc import Mapping
from typing import Any

import msgspec

from accelwatch.base.clock import ManualClock
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from accelwatch.schema.device import DeviceKind
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView
from support.fleet.manual_fleet import THRESHOLDS
from support.machines import composed as machines


def view(
    index: int, values: Mapping[Series, Number | None] | None = None, **changes: Any
) -> DeviceView:
    """A device with some values of its own; None takes one away."""
    whole = machines.view(index)
    reported = {**whole.reading.values, **(values or {})}
    reading = msgspec.structs.replace(
        whole.reading, values={key: value for key, value in reported.items() if value is not None}
    )
    return msgspec.structs.replace(whole, reading=reading, **changes)


def host(**values: Number) -> DeviceView:
    """The host itself."""
    device = machines.device(
        0, id="host", name="host", kind=DeviceKind.HOST, uuid=None, serial=None
    )
    whole = machines.view(0, device=device)
    reported: dict[Series, Number] = {(key,): value for key, value in values.items()}
    reading = msgspec.structs.replace(whole.reading, device_id="host", values=reported)
    return msgspec.structs.replace(whole, reading=reading)


class TwoNodes:
    """Polled nodes `a` and `b` of rack r1 on a clock of their own."""

    def __init__(self) -> None:
        self.clock = ManualClock(wall=machines.NOW)
        self.fleet = Fleet(self.clock, THRESHOLDS, None)
        targets = [
            *targets_of(["a"], {"rack": "r1", "pool": "train"}),
            *targets_of(["b"], {"rack": "r1", "pool": "dev"}),
        ]
        self.targets = targets
        self.fleet.set_targets(targets)
        self.keys = {one.node: one.key for one in targets}

    def report(self, node: str, *views: DeviceView) -> None:
        """What a node says now."""
        self.fleet.read(self.keys[node], views, self.clock.wall(), 1.0)
