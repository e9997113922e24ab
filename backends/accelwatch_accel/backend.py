"""The backend of accel class devices: present by their driver, read from sysfs and fdinfo.

Every machine with a device of that class loads this module: what an open backend does is imported when
it is first needed.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_accel import node

if TYPE_CHECKING:
    from accelwatch_accel.session import Session


class AccelBackend:
    """No options."""

    name = "accel"
    vendor = node.VENDOR
    serial = False
    options: tuple[Option, ...] = ()
    support = Support(
        vendor="AMD XDNA, Rockchip, Arm Ethos-U and other accel nodes",
        source="sysfs; fdinfo for load, memory and processes",
        tested_with="composed sysfs trees, healthy and faulty",
    )

    def __init__(self, context: Context, pause: Callable[[float], None] = time.sleep) -> None:
        self._context = context
        self._pause = pause
        self._session: Session | None = None

    def probe(self) -> Probe:
        """Look through /sys/class/accel."""
        nodes = node.find_nodes(self._context.root)
        listing = " ".join(f"accel{entry.number} ({entry.driver})" for entry in nodes)
        check = Check(subject="/sys/class/accel", ok=bool(nodes), found=listing)
        return Probe(present=bool(nodes), checks=(check,))

    def open(self) -> Opened:
        """Nothing is loaded. Raises BackendUnavailable where there is no device."""
        return self._opened.open()

    def discover(self) -> Sequence[Device]:
        """All devices, asleep or not."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """With product and firmware, also asleep where its driver keeps them. Raises DeviceLost."""
        return self._opened.identify(device)

    def readable_asleep(self, device: Device) -> bool:
        """Whether it may be identified asleep: its driver answers from memory."""
        return self._opened.readable_asleep(device)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What its clients use. Raises DeviceSuspended before anything could wake it, DeviceLost."""
        return self._opened.read(device, request)

    def close(self) -> None:
        """Forget the counters."""
        self._session = None

    @property
    def _opened(self) -> "Session":
        if self._session is None:
            from accelwatch_accel.session import Session

            self._session = Session(self._context, self._pause)
        return self._session
