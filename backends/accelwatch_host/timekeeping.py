"""How well the system clock is kept, by adjtimex(2) in its read-only form."""

import ctypes
import errno

import msgspec

from accelwatch.base.absence import Absence

_STA_UNSYNC = 0x0040
# Status bits and the layout below: include/uapi/linux/timex.h.
_STA_NANO = 0x2000


class ClockState(msgspec.Struct, frozen=True):
    """What the kernel believes of its clock."""

    synchronized: bool
    offset_s: float


class _Timeval(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_usec", ctypes.c_long))


class _Timex(ctypes.Structure):
    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("time", _Timeval),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("stabil", ctypes.c_long),
        ("jitcnt", ctypes.c_long),
        ("calcnt", ctypes.c_long),
        ("errcnt", ctypes.c_long),
        ("stbcnt", ctypes.c_long),
        ("tai", ctypes.c_int),
        ("reserved", ctypes.c_int * 11),
    )


def decode(status: int, offset: int) -> ClockState:
    """State from the status bits and the offset in nanoseconds or microseconds, as the bits say."""
    unit = 1e-9 if status & _STA_NANO else 1e-6
    return ClockState(synchronized=not status & _STA_UNSYNC, offset_s=offset * unit)


def clock_state() -> ClockState | Absence:
    """Query the kernel; nothing is set (`modes` is 0)."""
    try:
        adjtimex = ctypes.CDLL(None, use_errno=True).adjtimex
    except (OSError, AttributeError):
        return Absence.UNSUPPORTED
    buffer = _Timex()
    if adjtimex(ctypes.byref(buffer)) < 0:
        denied = ctypes.get_errno() in (errno.EPERM, errno.EACCES)
        return Absence.PERMISSION if denied else Absence.UNSUPPORTED
    return decode(buffer.status, buffer.offset)
