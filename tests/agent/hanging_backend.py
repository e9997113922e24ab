"""A driver stack of two devices, of which the second never answers; loaded by the agent under test."""

import threading
from collections.abc import Sequence

from accelwatch.backend import Context, Opened, Probe, Request
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Collected, Reading


class HangingBackend:
    """See the module."""

    name = "hanging"
    vendor = "test"
    serial = False

    def __init__(self, context: Context) -> None:
        self._root = context.root

    def probe(self) -> Probe:
        return Probe(present=True)

    def open(self) -> Opened:
        return Opened(source="test", versions={"driver": "1"})

    def discover(self) -> Sequence[Device]:
        return [
            Device(
                id=f"test:{i}",
                vendor="test",
                backend="hanging",
                index=i,
                name=f"test{i}",
                uuid=f"u{i}",
            )
            for i in range(2)
        ]

    def identify(self, device: Device) -> Sequence[Device]:
        return [device]

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        if device.index == 1:
            threading.Event().wait()
        collected = Collected(device.id)
        collected.put("utilization_ratio", 0.5)
        collected.put("pipe_active_ratio", 0.25, "tensor")
        return [collected.reading(processes=())]

    def close(self) -> None:
        return
