"""Devices that a refusal names are rows until the backend opens, which may list them by other ids."""

from collections.abc import Sequence

import msgspec
import pytest

from accelwatch.backend import Opened
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.node.store import Store
from accelwatch.node.store.reports import BackendChanged, Noted, Slots
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.snapshot import DeviceView
from node.sampler.rig import Rig, Scripted


class Unloaded(Scripted):
    """Its devices are on the bus, and its driver is not loaded yet."""

    def __init__(self, on_bus: list[str], devices: int) -> None:
        super().__init__(devices)
        self.on_bus = on_bus
        self.is_loaded = False
        self.why = "load the driver"
        self.first = 0

    def discover(self) -> Sequence[Device]:
        return [
            msgspec.structs.replace(device, id=f"s:{device.index + self.first}")
            for device in super().discover()
        ]

    def open(self) -> Opened:
        if self.is_loaded:
            return super().open()
        refusal = BackendUnavailable(self.why, reason="driver_not_loaded")
        raise refusal.with_devices(
            [
                Device(id=bus, vendor="scripted", backend="scripted", index=n, name=f"s{n}")
                for n, bus in enumerate(self.on_bus)
            ]
        )


def views(rig: Rig) -> tuple[DeviceView, ...]:
    store = Store(rig.clock, host="node")
    for report in rig.reports:
        if not isinstance(report, Noted):
            store.apply(report)
    return store.snapshot().devices


def states(rig: Rig) -> dict[str, DeviceState]:
    return {view.device.id: view.state for view in views(rig)}


def reasons(rig: Rig) -> list[str]:
    return ["; ".join(view.health_reasons) for view in views(rig)]


@pytest.mark.parametrize(
    ("on_bus", "devices"),
    [(["bus:0", "bus:1"], 2), (["s:0", "s:1"], 2), (["s:0", "bus:1"], 2)],
    ids=["other ids", "the same ids", "some other ids"],
)
def test_no_device_is_lost_when_the_driver_lists_it_by_another_id(
    on_bus: list[str], devices: int
) -> None:
    backend = Unloaded(on_bus, devices)
    rig = Rig(backend)
    rig.until(lambda: rig.of(BackendChanged))
    assert states(rig) == dict.fromkeys(on_bus, DeviceState.DEGRADED)
    backend.is_loaded = True
    rig.clock.advance(10.0)
    rig.first_cycle()
    for _ in range(5):
        rig.tick()
    assert states(rig) == dict.fromkeys(["s:0", "s:1"], DeviceState.OK)


def refused(rig: Rig, backend: Unloaded, *on_bus: str, why: str) -> None:
    """Another try, which names these devices."""
    backend.on_bus, backend.why = list(on_bus), why
    rig.clock.advance(600.0)
    before = len(rig.of(BackendChanged)), len(rig.of(Slots))
    rig.until(lambda: (len(rig.of(BackendChanged)), len(rig.of(Slots))) > before)


@pytest.mark.parametrize("why", ["load the driver", "the library is empty"])
@pytest.mark.parametrize(
    ("named", "rows"),
    [
        ((), ["bus:0", "bus:1"]),
        (("bus:0",), ["bus:0"]),
        (("uuid:0", "uuid:1"), ["uuid:0", "uuid:1"]),
        (("bus:0", "uuid:1"), ["bus:0", "uuid:1"]),
    ],
    ids=["none", "fewer", "others", "some others"],
)
def test_no_device_is_twice_there_after_another_refusal(
    why: str, named: tuple[str, ...], rows: list[str]
) -> None:
    backend = Unloaded(["bus:0", "bus:1"], 2)
    rig = Rig(backend)
    rig.until(lambda: rig.of(BackendChanged))
    refused(rig, backend, *named, why=why)
    assert states(rig) == dict.fromkeys(rows, DeviceState.DEGRADED)
    assert all(why in text for text in reasons(rig))
    backend.is_loaded = True
    rig.clock.advance(600.0)
    rig.first_cycle()
    for _ in range(5):
        rig.tick()
    assert states(rig) == dict.fromkeys(["s:0", "s:1"], DeviceState.OK)


@pytest.mark.parametrize("left", [0, 1])
def test_a_device_that_is_gone_when_the_driver_is_loaded_is_lost(left: int) -> None:
    backend = Unloaded(["s:0", "s:1"], left)
    rig = Rig(backend)
    rig.until(lambda: rig.of(BackendChanged))
    backend.is_loaded = True
    rig.clock.advance(10.0)
    rig.first_cycle()
    for _ in range(5):
        rig.tick()
    lost = [name for name, state in states(rig).items() if state is DeviceState.LOST]
    assert lost == ["s:0", "s:1"][left:]


def test_a_device_that_was_read_is_lost_when_it_is_listed_by_another_id() -> None:
    backend = Unloaded(["s:0"], 1)
    backend.is_loaded = True
    rig = Rig(backend)
    rig.first_cycle()
    backend.is_loaded = False
    backend.discover_error = BackendUnavailable("driver unloaded", reason="driver_gone")
    rig.clock.advance(10.0)
    rig.until(lambda: len(rig.of(BackendChanged)) == 2)
    rig.clock.advance(10.0)
    rig.until(lambda: len(rig.of(BackendChanged)) == 3)
    backend.is_loaded, backend.discover_error, backend.first = True, None, 1
    rig.clock.advance(20.0)
    rig.until(lambda: len(rig.of(BackendChanged)) == 4)
    for _ in range(5):
        rig.tick()
    assert states(rig) == {"s:0": DeviceState.LOST, "s:1": DeviceState.OK}
