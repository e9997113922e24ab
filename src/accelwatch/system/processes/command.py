"""Bounded runs of vendor commands: a deadline, a limit on output, no shell, no terminal."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO

import msgspec

from accelwatch.system.processes.child_process import reap_later, reap_leftovers

# More than any document a vendor tool prints (8 x B200 in XML is 0.4 MB).
MAX_OUTPUT_BYTES = 8 << 20

# How often `break_off` is polled.
_POLL_S = 0.1
# How long a killed command may take to exit; one that is stuck in a driver never does.
_REAP_S = 0.1


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a command printed and how it ended."""

    output: bytes = b""
    errors: bytes = b""
    # Exit status, negative for a signal; None when it was not found, timed out or was cut off.
    status: int | None = None
    # `not found`, `permission`, `timeout`, `too much output`, `broken off`, or empty.
    failure: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.status == 0 and not self.failure


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    environ: Mapping[str, str] | None = None,
    max_bytes: int = MAX_OUTPUT_BYTES,
    stdin_data: bytes = b"",
    break_off: Callable[[], bool] | None = None,
) -> CommandResult:
    """Run a command in its own process group; past its deadline or limit the whole group is killed.

    `stdin_data` is what it reads from its standard input. While it runs, `break_off` is polled for
    whether it is to be killed before its deadline. LC_ALL=C keeps numbers and words as the vendor
    documents them. Never raises for what the command does.
    """
    reap_leftovers()
    env = {**os.environ, **(environ or {}), "LC_ALL": "C"}
    try:
        with _input(stdin_data) as stdin:
            process = subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                start_new_session=True,
            )
    except PermissionError:
        return CommandResult(failure="permission")
    except (OSError, ValueError):
        return CommandResult(failure="not found")
    try:
        return _collect(process, time.monotonic() + timeout_s, max_bytes, break_off)
    finally:
        # No further wait: a command stuck in the driver ignores SIGKILL, and must not hold us with it.
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        if process.poll() is None:
            # Nobody reads its code; without one Popen would warn when it is dropped, and reap it itself.
            process.returncode = 0
            reap_later(process.pid)


@contextlib.contextmanager
def _input(stdin_data: bytes) -> Iterator["IO[bytes] | int"]:
    """A file, not a pipe: nobody has to write while the command answers."""
    if not stdin_data:
        yield subprocess.DEVNULL
        return
    import tempfile  # half a MiB, for the few commands that get input

    with tempfile.TemporaryFile() as file:
        file.write(stdin_data)
        file.seek(0)
        yield file


def _collect(
    process: "subprocess.Popen[bytes]",
    deadline: float,
    limit: int,
    break_off: Callable[[], bool] | None,
) -> CommandResult:
    chunks: dict[str, list[bytes]] = {"output": [], "errors": []}
    size = 0
    failure = ""
    status: int | None = None
    with selectors.DefaultSelector() as selector:
        assert process.stdout is not None
        assert process.stderr is not None
        selector.register(process.stdout, selectors.EVENT_READ, "output")
        selector.register(process.stderr, selectors.EVENT_READ, "errors")
        while selector.get_map() and not failure:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                failure = "timeout"
                break
            if break_off is not None and break_off():
                failure = "broken off"
                break
            pause = remaining if break_off is None else min(remaining, _POLL_S)
            size += _read_ready(selector, selector.select(pause), chunks)
            if size > limit:
                failure = "too much output"
        if not failure:
            try:
                status = process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                failure = "timeout"
        if failure:
            _kill_group(process)
            # What it printed before it was killed says what it had done; it may still be in the pipe.
            while size <= limit and (ready := selector.select(0)):
                size += _read_ready(selector, ready, chunks)
    return CommandResult(
        output=b"".join(chunks["output"])[:limit],
        errors=b"".join(chunks["errors"])[:limit],
        status=status,
        failure=failure,
    )


def _read_ready(
    selector: selectors.BaseSelector,
    ready: Iterable[tuple[selectors.SelectorKey, int]],
    chunks: Mapping[str, list[bytes]],
) -> int:
    """How many bytes there were to read; streams that have ended are watched no more."""
    size = 0
    for key, _ in ready:
        data = os.read(key.fd, 1 << 16)
        if not data:
            selector.unregister(key.fileobj)
            continue
        chunks[key.data].append(data)
        size += len(data)
    return size


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_REAP_S)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        return
