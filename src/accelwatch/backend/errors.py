"""What `open` and `discover` of a backend raise; what `read` raises is in `base.errors`."""

from collections.abc import Sequence
from typing import Self

from accelwatch.base.errors import AccelwatchError
from accelwatch.schema.device import Device


class BackendUnavailable(AccelwatchError):  # noqa: N818 - a state of the machine, not a mistake
    """A driver stack cannot be used now. `reason` is a word for machines, the text is for people.

    `devices` are there all the same, as the bus or the kernel says: they stay rows that cannot be read.
    """

    def __init__(self, message: str, *, reason: str, remedy: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.remedy = remedy
        self.devices: Sequence[Device] = ()

    def with_devices(self, devices: Sequence[Device]) -> Self:
        """The same, with devices that are there."""
        self.devices = devices
        return self
