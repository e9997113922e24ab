"""Access to /dev/kmsg: one record a read, without blocking for longer than the caller allows."""

import errno
import os
import re
import select
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.absence import Absence
from accelwatch.system.kernel.sysfs import read_int, read_text

# The kernel refuses a read smaller than the record; a record has at most 8 KiB.
_READ_BYTES = 16 * 1024
# include/uapi/linux/capability.h.
_CAP_SYSLOG = 1 << 34
_CAPABILITIES = re.compile(r"^CapEff:\s*([0-9a-f]{1,16})$", re.MULTILINE)
REMEDY = "run as root, give CAP_SYSLOG, or set sysctl kernel.dmesg_restrict=0"


def may_read(root: Path) -> bool:
    """Whether this process may open the log where `kernel.dmesg_restrict` is 1 (syslog(2))."""
    if read_int(root / "proc/sys/kernel/dmesg_restrict") != 1:
        return True
    status = read_text(root / "proc/self/status")
    match = None if isinstance(status, Absence) else _CAPABILITIES.search(status)
    if match is None:
        return os.geteuid() == 0
    return bool(int(match[1], 16) & _CAP_SYSLOG)


class LogLost(Exception):  # noqa: N818 - a state of the log, not a mistake
    """The kernel overwrote records before they were read; the next read goes on with the oldest."""


class LogDevice(Protocol):
    """What the backend needs of the log: tests give their own."""

    def wait(self, timeout_s: float) -> None:
        """Block until there may be something to read, at most `timeout_s` seconds."""
        ...

    def read(self) -> bytes:
        """The next piece; empty when there is none now. Raises LogLost, OSError."""
        ...

    def close(self) -> None:
        """Give the descriptor back; never raises."""
        ...


class KmsgDevice:
    """The character device. Opening it starts at the oldest record that the kernel still has."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._is_exhausted = False

    def wait(self, timeout_s: float) -> None:
        """Poll the device; a file that has ended (no real device) only lets the time pass."""
        if self._is_exhausted:
            select.select((), (), (), max(timeout_s, 0.0))
        else:
            self._poll.poll(max(timeout_s, 0.0) * 1000)

    def read(self) -> bytes:
        """One record; EPIPE, by which the kernel reports an overrun, becomes LogLost."""
        try:
            piece = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            self._is_exhausted = False
            return b""
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise LogLost from error
            raise
        self._is_exhausted = not piece
        return piece

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = -1


def open_kmsg(path: Path) -> LogDevice:
    """The kernel log under a root's /dev. Raises BackendUnavailable with the reason and a remedy."""
    try:
        return KmsgDevice(path)
    except PermissionError as error:
        message = f"{path}: {error.strerror}; the kernel log cannot be read"
        raise BackendUnavailable(message, reason="permission", remedy=REMEDY) from error
    except FileNotFoundError as error:
        raise BackendUnavailable(
            f"{path}: no such device",
            reason="not_found",
            remedy="in a container, pass the host's /dev/kmsg through",
        ) from error
    except OSError as error:
        raise BackendUnavailable(f"{path}: {error.strerror}", reason="error") from error
