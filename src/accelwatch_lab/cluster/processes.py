"""Processes that outlive who began them: each has a file that says which one it is, and a mark.

A pid alone is no name, for it is given again. The file has the moment of its start beside it, in the
kernel's ticks since the boot, and the boot; a signal goes through a descriptor of the process that was
compared. What they fork is found by a variable of its environment, which names the folder.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.system.kernel.machine import boot_id
from accelwatch.system.kernel.proc import start_ticks

# Variable of everything that runs in a lab.
FOLDER_VARIABLE = "ACCELWATCH_LAB_FOLDER"
_ROOT = Path("/")
_SWEEPS = 20
_SWEEP_PAUSE_S = 0.05
_EXEC_LIMIT_S = 10.0
_EXEC_PAUSE_S = 0.001


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A process that was started, as its file says."""

    name: str
    pid: int
    # Of the kernel's clock, from the boot to its start.
    ticks: int
    boot_id: str


class Processes:
    """All that runs in one folder; files `pids/NAME.json`, output `NAME.out`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files = folder / "pids"
        self._children: list[subprocess.Popen[bytes]] = []

    def start(
        self, name: str, argv: Sequence[str], environ: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Begin a process in a session of its own. Raises AccelwatchError."""
        self._files.mkdir(mode=0o700, exist_ok=True)
        log = self.folder / f"{name}.out"
        try:
            with log.open("ab") as out:
                child = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd=self.folder,
                    env={**os.environ, **(environ or {}), FOLDER_VARIABLE: str(self.folder)},
                    start_new_session=True,
                )
        except OSError as error:
            raise AccelwatchError(f"{argv[0]} cannot be run: {error.strerror}") from error
        self._children.append(child)
        _wait_for_environ(child)
        self.adopt(name, child.pid)
        return child

    def adopt(self, name: str, pid: int) -> None:
        """Record a process under a name; nothing happens when it has ended."""
        ticks = start_ticks(_ROOT, pid)
        if ticks is not None:
            record = ProcessRecord(name=name, pid=pid, ticks=ticks, boot_id=boot_id(_ROOT))
            self._file(name).write_bytes(msgspec.json.encode(record))

    def records(self) -> list[ProcessRecord]:
        """The processes of the files, the youngest first. A file that cannot be read is left out."""
        records: list[ProcessRecord] = []
        for file in self._files.glob("*.json"):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                records.append(msgspec.json.decode(file.read_bytes(), type=ProcessRecord))
        return sorted(records, key=lambda record: (-record.ticks, -record.pid))

    def running(self) -> list[ProcessRecord]:
        """Those of them that run."""
        return [record for record in self.records() if self._is_there(record)]

    def runs(self, name: str) -> bool:
        """Whether the process of that name runs."""
        return any(record.name == name for record in self.running())

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a signal to the process of that name; False when it does not run."""
        for record in self.records():
            if record.name == name:
                with _open_pidfd(record) as descriptor:
                    return descriptor is not None and _sent(descriptor, number)
        return False

    def stop(self, grace_s: float = 5.0) -> int:
        """End everything, by SIGTERM first and killed after `grace_s`; how many processes there were.

        Files of processes that are gone are removed. A foreign process with the same pid is not touched.
        """
        there = 0
        with contextlib.ExitStack() as stack:
            descriptors = []
            for record in self.records():
                descriptor = stack.enter_context(_open_pidfd(record))
                if descriptor is not None:
                    descriptors.append(descriptor)
            there = len(descriptors)
            if grace_s:
                for descriptor in descriptors:
                    _sent(descriptor, signal.SIGTERM)
                    _sent(descriptor, signal.SIGCONT)
                self._wait(descriptors, grace_s)
            for descriptor in descriptors:
                _sent(descriptor, signal.SIGKILL)
            self._wait(descriptors, 5.0)
        there += self.sweep()
        for file in self._files.glob("*.json"):
            file.unlink(missing_ok=True)
        return there

    def sweep(self, also: Mapping[str, str] | None = None) -> int:
        """Kill what has our mark, and `also` these variables; how many processes there were.

        Ended by two scans in a row that show nothing: what runs another program at this moment has no
        environment for an instant.
        """
        killed: set[int] = set()
        clean = False
        for _ in range(_SWEEPS):
            left = list(lab_processes(self.folder, also or {}))
            if not left and clean:
                break
            clean = not left
            killed.update(left)
            for pid in left:
                _kill_lab_process(pid, self.folder, also or {})
            time.sleep(_SWEEP_PAUSE_S)
            self._reap()
        return len(killed)

    def _is_there(self, record: ProcessRecord) -> bool:
        with _open_pidfd(record) as descriptor:
            return descriptor is not None

    def _wait(self, descriptors: list[int], limit_s: float) -> None:
        """Return when all have ended, or after that long."""
        end = time.monotonic() + limit_s
        left = list(descriptors)
        while left and (pause := end - time.monotonic()) > 0:
            exited = select.select(left, [], [], pause)[0]
            left = [descriptor for descriptor in left if descriptor not in exited]
        self._reap()

    def _reap(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]

    def _file(self, name: str) -> Path:
        return self._files / f"{name}.json"


@contextlib.contextmanager
def _open_pidfd(record: ProcessRecord) -> Iterator[int | None]:
    """A descriptor of exactly that process; None when it has ended or the pid is another's now."""
    descriptor = None
    if record.boot_id == boot_id(_ROOT):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(record.pid)
    try:
        # Checked after the descriptor is there: from then on the pid cannot be given again unseen.
        if (
            descriptor is None
            or start_ticks(_ROOT, record.pid) != record.ticks
            or _over(descriptor)
        ):
            yield None
        else:
            yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _wait_for_environ(child: "subprocess.Popen[bytes]") -> None:
    """Return when the process shows an environment, or has ended.

    `Popen` returns when exec has closed its pipe; the kernel writes the new environment's address into
    the process after that (fs/exec.c: begin_new_exec, then fs/binfmt_elf.c: create_elf_tables), and
    /proc/PID/environ is empty until then.
    """
    end = time.monotonic() + _EXEC_LIMIT_S
    while time.monotonic() < end and child.poll() is None:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{child.pid}/environ").read_bytes():
                return
        time.sleep(_EXEC_PAUSE_S)


def _over(descriptor: int) -> bool:
    """Whether it has ended, reaped or not."""
    return bool(select.select([descriptor], [], [], 0)[0])


def _sent(descriptor: int, number: signal.Signals) -> bool:
    try:
        signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    return True


def lab_processes(folder: Path, also: Mapping[str, str]) -> Iterator[int]:
    """Processes other than this one with the mark of a folder, and these variables besides."""
    for entry in Path("/proc").iterdir():
        pid = int(entry.name) if entry.name.isdigit() else os.getpid()
        if pid != os.getpid() and _belongs_to_lab(pid, folder, also):
            yield pid


def _belongs_to_lab(pid: int, folder: Path, also: Mapping[str, str]) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    required = {FOLDER_VARIABLE: str(folder), **also}
    return all(f"{name}={value}".encode() in variables for name, value in required.items())


def _kill_lab_process(pid: int, folder: Path, also: Mapping[str, str]) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if _belongs_to_lab(pid, folder, also):
                _sent(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
