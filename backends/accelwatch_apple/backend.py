"""The GPU and the neural engine of an Apple Silicon Mac.

Anywhere but on macOS looking around touches nothing, and what an open backend does is imported when it
is first needed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from accelwatch.backend import Check, Context, Opened, Option, Probe, Request, Support
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Reading
from accelwatch_apple.system import System, this_system

if TYPE_CHECKING:
    from accelwatch_apple.session import Session


class AppleBackend:
    """Options: `macmon` (path of that program), `pace_s` (seconds between two rounds of commands)."""

    name = "apple"
    vendor = "apple"
    serial = False
    options = (
        Option("macmon", is_path=True),
        Option("pace_s"),
    )
    support = Support(
        vendor="Apple Silicon",
        source="`ioreg`, `vm_stat`, `notifyutil`; `macmon` where installed, `powermetrics` as root",
        tested_with="recorded documents of powermetrics and macmon; composed Macs, healthy and faulty",
    )

    def __init__(self, context: Context, system: System | None = None) -> None:
        self._context = context
        self._system = system or this_system()
        self._session: Session | None = None

    def probe(self) -> Probe:
        """Identify the machine by Python alone; search for sources only on an Apple Silicon Mac."""
        if not self._system.is_apple_silicon:
            here = f"{self._system.platform} {self._system.machine}".strip()
            check = Check(subject="macOS on arm64", ok=False, found=here)
            return Probe(present=False, checks=(check,))
        from accelwatch_apple.session import checks

        return Probe(present=True, checks=checks(self._context, self._system))

    def open(self) -> Opened:
        """Find the commands and start to poll them. Raises BackendUnavailable."""
        if not self._system.is_apple_silicon:
            raise BackendUnavailable("not a Mac with Apple Silicon", reason="no_device", remedy="")
        from accelwatch_apple.session import GPU_UNREAD, Session

        try:
            self._session = Session(self._context, self._system)
            return self._session.opened()
        except BackendUnavailable as refusal:
            raise refusal.with_devices([GPU_UNREAD]) from None

    def discover(self) -> Sequence[Device]:
        """The GPU, and the neural engine once its power was reported. Raises BackendUnavailable."""
        return self._opened.discover()

    def identify(self, device: Device) -> Sequence[Device]:
        """Neither has partitions. Raises ReadError."""
        return self._opened.identify(device)

    def read(self, device: Device, request: Request) -> Sequence[Reading]:
        """What the newest round of commands says. Raises ReadError."""
        return self._opened.read(device, request)

    def close(self) -> None:
        """Stop polling."""
        if self._session is not None:
            self._session.close()

    @property
    def _opened(self) -> "Session":
        assert self._session is not None
        return self._session
