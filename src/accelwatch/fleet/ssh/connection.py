"""One ssh to a host: its command line, its process, and requests to the shell at its other end."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from typing import IO

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.ssh.destination import Destination
from accelwatch.fleet.ssh.pipes import Output, StderrTail
from accelwatch.fleet.ssh.script import SHELL
from accelwatch.fleet.ssh.settings import Ssh

_ALIVE_EVERY_S, _ALIVE_COUNT = 5, 3
_END_S, _POLL_S = 1.0, 0.01
_REAP_S = 0.2

_OPTIONS = (
    "BatchMode=yes",  # never a question: not for a password, a passphrase or a host key
    "ConnectionAttempts=1",
    f"ServerAliveInterval={_ALIVE_EVERY_S}",
    f"ServerAliveCountMax={_ALIVE_COUNT}",
    "ControlMaster=no",  # one that is there is used; one of ours would outlive us
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "LogLevel=ERROR",  # banners and greetings are logged above it
)


def command_line(program: str, whom: Destination, settings: Ssh) -> list[str]:
    """The words of the command. What ssh's own configuration says of keys and ways stands."""
    options = [f"ConnectTimeout={max(1, round(settings.connect_timeout_s))}", *_OPTIONS]
    file = ["-F", settings.config_file] if settings.config_file else []
    return [
        *(program, "-T", "-e", "none", *file),
        *(argument for option in options for argument in ("-o", option)),
        *(*whom.arguments, SHELL),
    ]


class Connection:
    """A running ssh; the loop's thread only. It leads a process group, which ends with it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._output, self._stderr = Output(), StderrTail()
        self._transports: list[asyncio.ReadTransport] = []

    @classmethod
    async def start(cls, whom: Destination, settings: Ssh) -> "Connection":
        """Start ssh. Raises TargetFault when there is none."""
        program = shutil.which("ssh")
        if program is None:
            raise TargetFault(Reason.CONNECT, "there is no ssh on PATH; install openssh-client")
        try:
            process = subprocess.Popen(
                command_line(program, whom, settings),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"},
                start_new_session=True,
            )
        except OSError as error:
            text = f"ssh cannot be started: {error.strerror or error}"
            raise TargetFault(Reason.CONNECT, text) from error
        connection = cls(process)
        try:
            await connection._attach()
        except BaseException:
            connection.close()
            raise
        return connection

    async def _attach(self) -> None:
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        for protocol, stream in (
            (self._output, self._process.stdout),
            (self._stderr, self._process.stderr),
        ):
            transport = await _reading(protocol, stream)
            self._transports.append(transport)

    def request(self, payload: bytes, until: bytes, limit_bytes: int) -> "asyncio.Future[bytes]":
        """Send words; the future has what comes back up to `until`.

        It raises TargetFault above the limit and EOFError when ssh ends before, see `wait_for_exit`.
        """
        answer = self._output.expect(until, limit_bytes)
        assert self._process.stdin is not None
        # Questions are short and answered one by one, so the pipe always has room; a broken one is
        # shown by the end of the output.
        with contextlib.suppress(OSError):
            os.write(self._process.stdin.fileno(), payload)
        return answer

    def divert(self, receive: Callable[[bytes], None]) -> "asyncio.Future[bytes]":
        """Hand over all that comes from now on; never has a result.

        It raises what TargetFault `receive` raises, and EOFError when ssh ends, see `wait_for_exit`.
        """
        return self._output.divert(receive)

    @property
    def stderr(self) -> str:
        """The end of what ssh said on standard error."""
        return self._stderr.data.decode("utf-8", "replace")

    @property
    def printed(self) -> bytes:
        """What came on standard output and was no answer."""
        return bytes(self._output.data)

    async def wait_for_exit(self) -> int:
        """How ssh ended, once its output has; negative for a signal. One that goes on is killed."""
        for _ in range(round(_END_S / _POLL_S)):
            if (status := self._process.poll()) is not None:
                await asyncio.sleep(0)  # what stands in the pipe of standard error
                return status
            await asyncio.sleep(_POLL_S)
        self.close()
        return -signal.SIGKILL

    def close(self) -> None:
        """End ssh and the processes that it has started, such as a jump through another host."""
        self._output.forget()
        for transport in self._transports:
            transport.close()
        process = self._process
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_REAP_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


async def _reading(protocol: asyncio.Protocol, stream: "IO[bytes] | None") -> asyncio.ReadTransport:
    assert stream is not None
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, stream)
    return transport
