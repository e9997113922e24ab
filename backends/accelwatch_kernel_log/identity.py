"""Who an NVIDIA GPU is, as its driver says once, before the first Xid of the GPU.

Wordings: src/nvidia/src/kernel/gpu/rc/kernel_rc.c of NVIDIA's open kernel modules.
"""

import re

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch_kernel_log.memory import Memory
from accelwatch_kernel_log.pattern import BDF, FOLD_S

_UUID = re.compile(rf"NVRM: GPU at PCI:{BDF}: (?P<uuid>GPU-[0-9a-fA-F-]{{36}})\s*$")
_SERIAL = re.compile(r"NVRM: GPU Board Serial Number: (?P<serial>[0-9A-Za-z]{4,32})\s*$")
"""Without a device: that of the line before. Boards without one print nothing, 0 or `[N/A]`."""
_LATE_SERIAL = re.compile(
    rf"NVRM: GPU {BDF}: GPU serial number is (?P<serial>[0-9A-Za-z]{{4,32}})\."
)


class Identities:
    """Remembers uuid and board serial by PCI id; the driver says them once in its life."""

    def __init__(self) -> None:
        self._known: Memory[dict[str, str]] = Memory()
        self._last: tuple[str, float] = ("", 0.0)

    def observe(self, text: str, seconds: float) -> None:
        """Note a line that says who a GPU is."""
        if match := _UUID.match(text):
            bdf = normal_pci_bus_id(match["bdf"])
            self._known.put(bdf, {"uuid": match["uuid"]})
            self._last = (bdf, seconds)
        elif match := _LATE_SERIAL.match(text):
            self._add(normal_pci_bus_id(match["bdf"]), match["serial"])
        elif match := _SERIAL.match(text):
            bdf, when = self._last
            if bdf and 0 <= seconds - when < FOLD_S:
                self._add(bdf, match["serial"])

    def _add(self, bdf: str, serial: str) -> None:
        self._known.put(bdf, {**(self._known.get(bdf) or {}), "board_serial": serial})

    def of(self, bdf: str) -> dict[str, str]:
        """`uuid` and `board_serial` as far as they were said."""
        return self._known.get(bdf) or {}
