"""One ssh to a host: its command line, its process, and questions to the shell at its other end."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from typing import IO

from accelwatch.fleet.follow.faults import Reason, TargetFault
from accelwatch.fleet.ssh.destination import Destination
from accelwatch.fleet.ssh.script import SHELL
from accelwatch.fleet.ssh.settings import Ssh

_MAX_SAID = 4096
_ALIVE_EVERY_S, _ALIVE_COUNT = 5, 3
_END_S, _GLANCE_S = 1.0, 0.01
_REAP_S = 0.2
_STDERR_TAIL = slice(-_MAX_SAID, None)

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
    "LogLevel=ERROR",  # banners and greetings are told above it
)


def command_line(program: str, whom: Destination, settings: Ssh) -> list[str]:
    """The words of the command. What ssh's own configuration says of keys and ways stands."""
    options = [f"ConnectTimeout={max(1, round(settings.connect_timeout_s))}", *_OPTIONS]
    file = ["-F", settings.config_file] if settings.config_file else []
    return [
        *(program, "-T", "-e", "none", *file),
        *(word for option in options for word in ("-o", option)),
        *(*whom.arguments, SHELL),
    ]


class _Output(asyncio.Protocol):
    """Standard output of ssh: bytes up to what an answer ends with, within a bound."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.ended = False
        self._until = b""
        self._limit = 0
        self._searched = 0
        self._waiting: asyncio.Future[bytes] | None = None

    def expect(self, until: bytes, limit_bytes: int) -> "asyncio.Future[bytes]":
        """The bytes up to and with `until`; raises TargetFault when there are too many."""
        self._until, self._limit, self._searched = until, limit_bytes, 0
        self._waiting = asyncio.get_running_loop().create_future()
        self._look()
        return self._waiting

    def forget(self) -> None:
        """Nobody waits any more."""
        if self._waiting is not None:
            self._waiting.cancel()

    def data_received(self, data: bytes) -> None:
        """More of it. What nobody waits for is kept within the same bound, then not at all."""
        if len(self.data) <= self._limit:
            self.data += data
        self._look()

    def connection_lost(self, _error: Exception | None) -> None:
        """No more will come."""
        self.ended = True
        self._look()

    def _look(self) -> None:
        waiting = self._waiting
        if waiting is None or waiting.done():
            return
        at = self.data.find(self._until, max(0, self._searched - len(self._until)))
        if at >= 0:
            end = at + len(self._until)
            body = bytes(self.data[:end])
            del self.data[:end]
            waiting.set_result(body)
        elif len(self.data) > self._limit:
            text = f"it prints more than {self._limit} bytes where an answer is expected"
            waiting.set_exception(TargetFault(Reason.TOO_LARGE, text))
        elif self.ended:
            waiting.set_exception(EOFError())
        self._searched = len(self.data)


class _Said(asyncio.Protocol):
    """Standard error of ssh, the end of it."""

    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        """More of it."""
        self.data = (self.data + data)[_STDERR_TAIL]


class Connection:
    """A running ssh; the loop's thread only. It leads a process group, which ends with it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._output, self._said = _Output(), _Said()
        self._transports: list[asyncio.ReadTransport] = []

    @classmethod
    async def begin(cls, whom: Destination, settings: Ssh) -> "Connection":
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
            (self._said, self._process.stderr),
        ):
            transport = await _reading(protocol, stream)
            self._transports.append(transport)

    def ask(self, words: bytes, until: bytes, limit_bytes: int) -> "asyncio.Future[bytes]":
        """Send words; the future has what comes back up to `until`.

        It raises TargetFault above the limit and EOFError when ssh ends before, see `ending`.
        """
        answer = self._output.expect(until, limit_bytes)
        assert self._process.stdin is not None
        # Questions are short and answered one by one, so the pipe always has room; a broken one is
        # told by the end of the output.
        with contextlib.suppress(OSError):
            os.write(self._process.stdin.fileno(), words)
        return answer

    @property
    def said(self) -> str:
        """The end of what ssh said on standard error."""
        return self._said.data.decode("utf-8", "replace")

    @property
    def printed(self) -> bytes:
        """What came on standard output and was no answer."""
        return bytes(self._output.data)

    async def ending(self) -> int:
        """How ssh ended, once its output has; negative for a signal. One that goes on is killed."""
        for _ in range(round(_END_S / _GLANCE_S)):
            if (status := self._process.poll()) is not None:
                await asyncio.sleep(0)  # what stands in the pipe of standard error
                return status
            await asyncio.sleep(_GLANCE_S)
        self.close()
        return -signal.SIGKILL

    def close(self) -> None:
        """End ssh and what it has begun, such as a jump through another host."""
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
