"""A store on a manual clock, and what a collector would report to it."""

from typing import Any

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.clock import ManualClock
from accelwatch.node.store import Store
from accelwatch.node.store.reports import (
    Cycle,
    Failure,
    Identified,
    Outcome,
    Slots,
)
from accelwatch.schema.device import Device
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView


def device(number: int, **more: Any) -> Device:
    base = Device(
        id=f"n:{number}", vendor="nvidia", backend="nvidia", index=number, name=f"nvidia{number}"
    )
    return msgspec.structs.replace(base, **more)


class Node:
    """A store on a manual clock, with the reports a collector would send."""

    def __init__(self, **more: Any) -> None:
        self.clock = ManualClock()
        self.store = Store(self.clock, host="node", **more)

    def slots(self, *devices: Device, backend: str = "nvidia") -> None:
        self.store.apply(Slots(backend=backend, devices=devices))

    def identified(self, slot: str, *devices: Device) -> None:
        self.store.apply(Identified(backend="nvidia", slot=slot, devices=devices))

    def read(self, slot: str, *readings: Reading, backend: str = "nvidia") -> None:
        self.store.apply(
            Outcome(
                backend=backend,
                slot=slot,
                monotonic=self.clock.monotonic(),
                wall=self.clock.wall(),
                readings=readings,
            )
        )

    def failed(self, slot: str, absence: Absence, code: str = "") -> None:
        self.store.apply(
            Outcome(
                backend="nvidia",
                slot=slot,
                monotonic=self.clock.monotonic(),
                wall=self.clock.wall(),
                failure=Failure(absence=absence, code=code),
            )
        )

    def cycle(self, result: str = "ok", backend: str = "nvidia") -> None:
        self.store.apply(
            Cycle(backend=backend, result=result, duration_s=0.25, wall=self.clock.wall())
        )

    def views(self) -> dict[str, DeviceView]:
        return {view.device.id: view for view in self.store.snapshot().devices}

    def view(self, device_id: str = "n:0") -> DeviceView:
        return self.views()[device_id]


def power(device_id: str = "n:0", watts: float = 100.0, **more: float) -> Reading:
    values: dict[Series, Number] = {("power_watts",): watts}
    values.update({(key,): value for key, value in more.items()})
    return Reading(device_id=device_id, values=values)
