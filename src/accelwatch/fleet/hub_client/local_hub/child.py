"""A process of the dashboard's own, from the parent's side: forked, and ended with the parent.

The child holds the reading end of a pipe whose other end only the parent has. However the parent ends,
the pipe ends with it, and so does the child.
"""

import contextlib
import os
import select
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.base.exit_codes import FAILED
from accelwatch.fleet.hub_client.local_hub.lifetime import Lifetime
from accelwatch.node.sampler.protocol.frames import write_all
from accelwatch.system.processes.child_process import ChildProcess, anonymous_file

# A Unix socket's path has 107 bytes at most (linux/un.h); the name follows.
_MAX_SOCKET_PATH = 100
_SOCKET = "hub.socket"
_STOP_TIMEOUT_S = 0.9
_DYING_S = 0.5
_OUTCOME_BYTES = 4096


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A child's only report: that it is ready, or why not."""

    error: str = ""
    # The exit code that the error means.
    code: int = 0
    # Something for people, when it is ready all the same.
    remark: str = ""


class ChildError(AccelwatchError):
    """A child could not begin; its own error's text and exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.exit_code = code  # type: ignore[misc]  # of the error that the child met


class Child:
    """A running child; its folder (mode 0700) holds its socket and goes with it."""

    def __init__(self, pid: int, folder: Path, lifetime: int, outcome_fd: int, crash: int) -> None:
        self.process = ChildProcess(pid, crash)
        self.folder = folder
        # What the child had to say when it was ready.
        self.remark = ""
        self._lifetime = lifetime
        self._outcome_fd = outcome_fd
        self._open = True

    @property
    def socket(self) -> Path:
        """Where the child listens once it is ready."""
        return self.folder / _SOCKET

    def order(self, order: bytes) -> None:
        """Give the child its order, which it may be waiting for: one line. It may have ended."""
        with contextlib.suppress(BrokenPipeError):
            write_all(self._lifetime, order + b"\n")

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Return when the child is ready. Raises ChildError with what it says."""
        if not select.select([self._outcome_fd], [], [], timeout_s)[0]:
            raise ChildError(f"the hub was not ready within {timeout_s:g} s", FAILED)
        try:
            outcome = msgspec.json.decode(os.read(self._outcome_fd, _OUTCOME_BYTES), type=Outcome)
        except DECODE_ERRORS:
            raise ChildError(self._death(), FAILED) from None
        if outcome.error:
            raise ChildError(outcome.error, outcome.code)
        self.remark = outcome.remark

    def death(self) -> str | None:
        """How the child ended, if it has."""
        return None if self.process.poll() is None else self._death()

    def close(self) -> None:
        """Stop the child; kill it after almost a second. Removes its folder."""
        if not self._open:
            return
        self._open = False
        os.close(self._lifetime)
        if self.process.poll_within(_STOP_TIMEOUT_S) is None:
            self.process.kill()
            self.process.poll_within(_DYING_S)
        os.close(self._outcome_fd)
        os.close(self.process.crash)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _death(self) -> str:
        report = self.process.crash_report().decode("utf-8", "replace").strip()
        last = report.splitlines()[-1] if report else self.process.how(_DYING_S)
        return f"the dashboard's own hub has ended: {last}"


def fork_child(work: Callable[[Path, Lifetime], None]) -> Child:
    """Fork a child that does `work(folder, lifetime)`; for a process with one thread.

    Its standard output is closed and its standard error kept for `death`.
    """
    folder = _folder()
    try:
        crash = anonymous_file("accelwatch-hub")
        alive_read, alive_write = os.pipe()
        outcome_read, outcome_write = os.pipe()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):  # closed from the start, or since
                stream.flush()
        pid = os.fork()
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise AccelwatchError(f"cannot start the dashboard's own hub: {error.strerror}") from error
    if pid == 0:
        life = Lifetime(alive_read, outcome_write)
        _be(work, folder, life, crash=crash)
    os.close(alive_read)
    os.close(outcome_write)
    return Child(pid, folder, alive_write, outcome_read, crash)


def _folder() -> Path:
    """A new folder for the socket, in the user's runtime directory if its path is short enough."""
    folders = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]  # noqa: S108
    for folder in folders:
        usable = folder and os.access(folder, os.W_OK | os.X_OK)
        if usable and len(folder) + len("/accelwatch-12345678/") + len(_SOCKET) < _MAX_SOCKET_PATH:
            return Path(tempfile.mkdtemp(prefix="accelwatch-", dir=folder))
    raise AccelwatchError(f"no place for a socket: {', '.join(filter(None, folders))}")


def _be(
    work: Callable[[Path, Lifetime], None],
    folder: Path,
    life: Lifetime,
    *,
    crash: int,
) -> None:
    """Be the child; never returns."""
    code = 1
    try:
        life.detach(crash)
        life.guard(folder)
        work(folder, life)
        code = 0
    except AccelwatchError as error:
        life.report(msgspec.json.encode(Outcome(error=str(error), code=error.exit_code)))
    except BaseException:  # noqa: BLE001 - the traceback is all that reports a child's end
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(code)
