"""What one message says about the next: causes, identities and names of GPUs, NFS pairs.

Times are seconds since boot as the records carry them, so a step of the wall clock changes nothing.
"""

import re

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.event import Category
from accelwatch_kernel_log.memory import Memory
from accelwatch_kernel_log.patterns.intel import ABANDONED, INITIALIZED
from accelwatch_kernel_log.patterns.pattern import BDF, FOLD_S, Match

_UUID = re.compile(rf"NVRM: GPU at PCI:{BDF}: (?P<uuid>GPU-[0-9a-fA-F-]{{36}})\s*$")
# Without a device: that of the line before. Boards without one print nothing, 0 or `[N/A]`.
_SERIAL = re.compile(r"NVRM: GPU Board Serial Number: (?P<serial>[0-9A-Za-z]{4,32})\s*$")
_LATE_SERIAL = re.compile(
    rf"NVRM: GPU {BDF}: GPU serial number is (?P<serial>[0-9A-Za-z]{{4,32}})\."
)
# Clean-up of a channel after another error; only alone do they mean anything themselves.
_FOLLOWERS = ("xid_43", "xid_45")
_ALONE = {"xid_45": Category.OTHER}
_LOST = re.compile(rf"NVRM: The NVIDIA GPU {BDF}")
# Messages of amdgpu after which it names the process on a line of its own.
_NAMES_ITS_PROCESS = ("_ring_timeout", "_page_fault")
_PROCESS = "_process"


class Identities:
    """Remembers uuid and board serial by PCI id: the driver says them once, before the first Xid.

    Wordings: src/nvidia/src/kernel/gpu/rc/kernel_rc.c of NVIDIA's open kernel modules.
    """

    def __init__(self) -> None:
        self._identities: Memory[dict[str, str]] = Memory()
        self._last: tuple[str, float] = ("", 0.0)

    def observe(self, text: str, seconds: float) -> None:
        """Note a line that says who a GPU is."""
        if match := _UUID.match(text):
            bdf = normal_pci_bus_id(match["bdf"])
            self._identities.store(bdf, {"uuid": match["uuid"]})
            self._last = (bdf, seconds)
        elif match := _LATE_SERIAL.match(text):
            self._add(normal_pci_bus_id(match["bdf"]), match["serial"])
        elif match := _SERIAL.match(text):
            bdf, when = self._last
            if bdf and 0 <= seconds - when < FOLD_S:
                self._add(bdf, match["serial"])

    def _add(self, bdf: str, serial: str) -> None:
        self._identities.store(bdf, {**(self._identities.get(bdf) or {}), "board_serial": serial})

    def of(self, bdf: str) -> dict[str, str]:
        """`uuid` and `board_serial` as far as they are known."""
        return self._identities.get(bdf) or {}


class Correlator:
    """Adds to a found message what earlier trusted messages said."""

    def __init__(self) -> None:
        self._last_xid: Memory[tuple[str, float]] = Memory()
        self._driver_names: Memory[str] = Memory()
        self._silent_servers: Memory[float] = Memory()
        self._unnamed: Memory[tuple[Match, float]] = Memory()
        # By PCI id, with the seconds; until the driver has started the device again.
        self._abandoned: Memory[float] = Memory()
        self._identities = Identities()
        self._lost_gpu: tuple[str, float] = ("", 0.0)

    def observe(self, text: str, seconds: float) -> None:
        """Note a line that only says which GPU the next line is about, or who a GPU is."""
        self._identities.observe(text, seconds)
        if match := _LOST.match(text):
            self._lost_gpu = (normal_pci_bus_id(match["bdf"]), seconds)

    def is_event(self, match: Match, seconds: float) -> bool:
        """Whether a message says something after those before it.

        Every boot brings devices up: that is news only of one that its driver had given up.
        """
        if match.code == INITIALIZED:
            return self._abandoned.pop(match.subject) is not None
        if match.code in ABANDONED:
            self._abandoned.store(match.subject, seconds)
        return True

    def relate(self, match: Match, seconds: float) -> Match:
        """The message with what is known of its subject and its cause."""
        match = self._identified(self._resolve(match, seconds))
        if match.code.startswith("xid_"):
            return self._xid(match, seconds)
        if match.code.endswith(_NAMES_ITS_PROCESS):
            self._unnamed.store(match.subject, (match, seconds))
        elif match.code.endswith(_PROCESS):
            return self._process(match, seconds)
        elif match.code == "nfs_not_responding":
            if self._silent_servers.get(match.subject) is None:
                self._silent_servers.store(match.subject, seconds)
        elif match.code == "nfs_ok":
            return self._nfs_ok(match, seconds)
        return match

    def _resolve(self, match: Match, seconds: float) -> Match:
        if match.subject.startswith("GPU"):
            bdf = self._driver_names.get(match.subject)
            if bdf is not None:
                detail = {**match.detail, "driver_name": match.subject}
                return msgspec.structs.replace(match, subject=bdf, detail=detail)
        if match.code == "nvidia_fallen_off_bus" and not match.subject:
            bdf, when = self._lost_gpu
            if bdf and 0 <= seconds - when < FOLD_S:
                return msgspec.structs.replace(match, subject=bdf)
        return match

    def _identified(self, match: Match) -> Match:
        """With uuid and board serial of the GPU, where the driver said them in this boot."""
        identity = self._identities.of(match.subject)
        if not identity or not match.code.startswith(("xid_", "nvidia_")):
            return match
        return msgspec.structs.replace(match, detail={**match.detail, **identity})

    def _process(self, match: Match, seconds: float) -> Match:
        """The line that names a process, with the fault before it and the queue of that."""
        last = self._unnamed.get(match.subject)
        if last is None or not 0 <= seconds - last[1] < FOLD_S:
            return match
        cause = last[0]
        detail = {**match.detail, "follows": cause.code}
        detail |= {key: cause.detail[key] for key in ("ring", "hub") if key in cause.detail}
        return msgspec.structs.replace(match, detail=detail)

    def _xid(self, match: Match, seconds: float) -> Match:
        if name := match.detail.get("driver_name"):
            self._driver_names.store(name, match.subject)
        last = self._last_xid.get(match.subject)
        follows = last is not None and 0 <= seconds - last[1] < FOLD_S
        if match.code not in _FOLLOWERS:
            self._last_xid.store(match.subject, (match.code, seconds))
            return match
        if "follows" in match.detail:
            return match
        if follows and last is not None:
            detail = {**match.detail, "follows": last[0]}
            return msgspec.structs.replace(match, detail=detail)
        return msgspec.structs.replace(match, category=_ALONE.get(match.code, match.category))

    def _nfs_ok(self, match: Match, seconds: float) -> Match:
        since = self._silent_servers.pop(match.subject)
        if since is None or seconds < since:
            return match
        detail = {**match.detail, "silent_seconds": f"{seconds - since:.0f}"}
        return msgspec.structs.replace(match, detail=detail)
