"""What one message says about the next: causes, identities and names of GPUs, NFS pairs.

Times are seconds since boot as the records carry them, so a step of the wall clock changes nothing.
"""

import re

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.event import Category
from accelwatch_kernel_log.identity import Identities
from accelwatch_kernel_log.memory import Memory
from accelwatch_kernel_log.pattern import BDF, FOLD_S, Found

_FOLLOWERS = ("xid_43", "xid_45")
"""Clean-up of a channel after another error; only alone do they mean anything themselves."""
_ALONE = {"xid_45": Category.OTHER}
_LOST = re.compile(rf"NVRM: The NVIDIA GPU {BDF}")
_NAMES_ITS_PROCESS = ("_ring_timeout", "_page_fault")
"""Messages of amdgpu after which it names the process on a line of its own."""
_PROCESS = "_process"


class Correlator:
    """Adds to a found message what earlier trusted messages told."""

    def __init__(self) -> None:
        self._last_xid: Memory[tuple[str, float]] = Memory()
        self._driver_names: Memory[str] = Memory()
        self._silent_servers: Memory[float] = Memory()
        self._unnamed: Memory[tuple[Found, float]] = Memory()
        self._identities = Identities()
        self._lost_gpu: tuple[str, float] = ("", 0.0)

    def observe(self, text: str, seconds: float) -> None:
        """Note a line that only says which GPU the next line is about, or who a GPU is."""
        self._identities.observe(text, seconds)
        if match := _LOST.match(text):
            self._lost_gpu = (normal_pci_bus_id(match["bdf"]), seconds)

    def relate(self, found: Found, seconds: float) -> Found:
        """The message with what is known of its subject and its cause."""
        found = self._identified(self._resolve(found, seconds))
        if found.code.startswith("xid_"):
            return self._xid(found, seconds)
        if found.code.endswith(_NAMES_ITS_PROCESS):
            self._unnamed.put(found.subject, (found, seconds))
        elif found.code.endswith(_PROCESS):
            return self._process(found, seconds)
        elif found.code == "nfs_not_responding":
            if self._silent_servers.get(found.subject) is None:
                self._silent_servers.put(found.subject, seconds)
        elif found.code == "nfs_ok":
            return self._nfs_ok(found, seconds)
        return found

    def _resolve(self, found: Found, seconds: float) -> Found:
        if found.subject.startswith("GPU"):
            bdf = self._driver_names.get(found.subject)
            if bdf is not None:
                detail = {**found.detail, "driver_name": found.subject}
                return msgspec.structs.replace(found, subject=bdf, detail=detail)
        if found.code == "nvidia_fallen_off_bus" and not found.subject:
            bdf, when = self._lost_gpu
            if bdf and 0 <= seconds - when < FOLD_S:
                return msgspec.structs.replace(found, subject=bdf)
        return found

    def _identified(self, found: Found) -> Found:
        """With uuid and board serial of the GPU, where the driver said them in this boot."""
        identity = self._identities.of(found.subject)
        if not identity or not found.code.startswith(("xid_", "nvidia_")):
            return found
        return msgspec.structs.replace(found, detail={**found.detail, **identity})

    def _process(self, found: Found, seconds: float) -> Found:
        """The line that names a process, with the fault before it and the queue of that."""
        last = self._unnamed.get(found.subject)
        if last is None or not 0 <= seconds - last[1] < FOLD_S:
            return found
        cause = last[0]
        detail = {**found.detail, "follows": cause.code}
        detail |= {key: cause.detail[key] for key in ("ring", "hub") if key in cause.detail}
        return msgspec.structs.replace(found, detail=detail)

    def _xid(self, found: Found, seconds: float) -> Found:
        if name := found.detail.get("driver_name"):
            self._driver_names.put(name, found.subject)
        last = self._last_xid.get(found.subject)
        follows = last is not None and 0 <= seconds - last[1] < FOLD_S
        if found.code not in _FOLLOWERS:
            self._last_xid.put(found.subject, (found.code, seconds))
            return found
        if "follows" in found.detail:
            return found
        if follows and last is not None:
            detail = {**found.detail, "follows": last[0]}
            return msgspec.structs.replace(found, detail=detail)
        return msgspec.structs.replace(found, category=_ALONE.get(found.code, found.category))

    def _nfs_ok(self, found: Found, seconds: float) -> Found:
        since = self._silent_servers.pop(found.subject)
        if since is None or seconds < since:
            return found
        detail = {**found.detail, "silent_seconds": f"{seconds - since:.0f}"}
        return msgspec.structs.replace(found, detail=detail)
