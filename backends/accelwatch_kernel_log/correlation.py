"""What one message says about the next: follow-up Xids, driver names of GPUs, NFS pairs, repeats.

Times are seconds since boot as the records carry them, so a step of the wall clock changes nothing.
"""

import re
from collections import OrderedDict
from typing import Generic, TypeVar

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.event import Category
from accelwatch_kernel_log.pattern import BDF, FOLD_S, Found

_FOLLOWERS = ("xid_43", "xid_45")
"""Clean-up of a channel after another error; only alone do they mean anything themselves."""
_ALONE = {"xid_45": Category.OTHER}
_LOST = re.compile(rf"NVRM: The NVIDIA GPU {BDF}")
_MAX_KEYS = 4096
V = TypeVar("V")


class Memory(Generic[V]):
    """A mapping that holds a bounded number of entries and forgets the oldest."""

    def __init__(self, limit: int = _MAX_KEYS) -> None:
        self._entries: OrderedDict[str, V] = OrderedDict()
        self._limit = limit

    def get(self, key: str) -> V | None:
        """The entry, or None."""
        return self._entries.get(key)

    def put(self, key: str, value: V) -> None:
        """Set an entry and make it the newest."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)

    def pop(self, key: str) -> V | None:
        """Take an entry out, or None."""
        return self._entries.pop(key, None)


class Fold:
    """Makes a burst of equal messages one event: the first is let through, the others are not."""

    def __init__(self) -> None:
        self._seen: Memory[float] = Memory()

    def admit(self, found: Found, seconds: float, *, trusted: bool) -> bool:
        """Whether this is the first of its kind within its time.

        A record of user space never hides one of the kernel, nor a lesser category a graver one.
        """
        key = "\0".join((found.subject, found.fault, found.category, str(trusted)))
        first = self._seen.get(key)
        if first is not None and 0 <= seconds - first < found.fold_s:
            return False
        self._seen.put(key, seconds)
        return True


class Correlator:
    """Adds to a found message what earlier trusted messages told."""

    def __init__(self) -> None:
        self._last_xid: Memory[tuple[str, float]] = Memory()
        self._driver_names: Memory[str] = Memory()
        self._silent_servers: Memory[float] = Memory()
        self._lost_gpu: tuple[str, float] = ("", 0.0)

    def observe(self, text: str, seconds: float) -> None:
        """Note a line that only names the GPU which the next line is about."""
        if match := _LOST.match(text):
            self._lost_gpu = (normal_pci_bus_id(match["bdf"]), seconds)

    def relate(self, found: Found, seconds: float) -> Found:
        """The message with what is known of its subject and its cause."""
        found = self._resolve(found, seconds)
        if found.code.startswith("xid_"):
            return self._xid(found, seconds)
        if found.code == "nfs_not_responding":
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

    def _xid(self, found: Found, seconds: float) -> Found:
        if name := found.detail.get("driver_name"):
            self._driver_names.put(name, found.subject)
        last = self._last_xid.get(found.subject)
        follows = last is not None and 0 <= seconds - last[1] < FOLD_S
        if found.code not in _FOLLOWERS:
            self._last_xid.put(found.subject, (found.code, seconds))
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
