"""What psutil reads: processor times, memory, disks, network traffic, size of a file system.

The only module that imports psutil. Its /proc is turned to the root for the time of a call; every
failure of it, also over damaged files, is a typed absence.
"""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.system.kernel.sysfs import reason_of

T = TypeVar("T")
# psutil has one PROCFS_PATH for the process, and warning filters are global as well.
_LOCK = threading.Lock()
# What psutil raises over files that are damaged; its assertions are about them too.
_FAULTS = (
    *(ValueError, LookupError, TypeError, ArithmeticError),
    *(RuntimeError, AttributeError, AssertionError),
)
CPU_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Main memory in bytes."""

    size: int
    available: int


class DiskTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """Traffic of one block device: bytes, and seconds in which it had work."""

    read: int
    written: int
    busy_s: float


class NetworkTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """Traffic of one interface: bytes and packets that were lost."""

    received: int
    transmitted: int
    receive_errors: int
    transmit_errors: int
    receive_drops: int
    transmit_drops: int


class FilesystemSize(msgspec.Struct, frozen=True, kw_only=True):
    """Size of a file system and what ordinary users can still get, in bytes."""

    size: int
    available: int


@contextmanager
def _under(root: Path) -> Iterator[None]:
    import psutil

    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        before = psutil.PROCFS_PATH
        psutil.PROCFS_PATH = str(root / "proc")
        try:
            yield
        finally:
            psutil.PROCFS_PATH = before


def _query(root: Path, question: Callable[[], T]) -> T | Absence:
    try:
        with _under(root):
            return question()
    except OSError as error:
        return reason_of(error)
    except (NotImplementedError, ImportError):
        return Absence.UNSUPPORTED
    except _FAULTS:
        return Absence.ERROR


def cpu_seconds(root: Path) -> dict[str, float] | Absence:
    """Processor seconds by mode, all processors together; time given to guests is in `user`."""

    def question() -> dict[str, float]:
        import psutil

        times = psutil.cpu_times()
        return {mode: getattr(times, mode) for mode in CPU_MODES if hasattr(times, mode)}

    return _query(root, question)


def memory(root: Path) -> Memory | Absence:
    """Main memory: MemTotal and MemAvailable."""

    def question() -> Memory:
        import psutil

        virtual = psutil.virtual_memory()
        return Memory(size=virtual.total, available=virtual.available)

    return _query(root, question)


def disks(root: Path) -> dict[str, DiskTraffic] | Absence:
    """Block devices and partitions by name."""

    def question() -> dict[str, DiskTraffic]:
        import psutil

        counters = psutil.disk_io_counters(perdisk=True, nowrap=False)
        return {
            name: DiskTraffic(
                read=io.read_bytes, written=io.write_bytes, busy_s=io.busy_time / 1000
            )
            for name, io in counters.items()
        }

    return _query(root, question)


def networks(root: Path) -> dict[str, NetworkTraffic] | Absence:
    """Interfaces of this network namespace by name."""

    def question() -> dict[str, NetworkTraffic]:
        import psutil

        counters = psutil.net_io_counters(pernic=True, nowrap=False)
        return {
            name: NetworkTraffic(
                received=io.bytes_recv,
                transmitted=io.bytes_sent,
                receive_errors=io.errin,
                transmit_errors=io.errout,
                receive_drops=io.dropin,
                transmit_drops=io.dropout,
            )
            for name, io in counters.items()
        }

    return _query(root, question)


def filesystem(root: Path, path: Path) -> FilesystemSize | Absence:
    """Size of the file system at a path, which must be one that cannot hang."""

    def question() -> FilesystemSize:
        import psutil

        usage = psutil.disk_usage(str(path))
        return FilesystemSize(size=usage.total, available=usage.free)

    return _query(root, question)
