"""Following a host over a real sshd: hangs before and after the login, loss and return."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend.kit.remote import CommandOutput, Remote, RemoteCommand, RemoteRow
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.frames import RawTick, Received
from accelwatch.fleet.follow.poll import Exposed
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.ssh import connection
from accelwatch.fleet.ssh.destination import Destination, ssh_targets
from accelwatch.fleet.ssh.follow import SshFollower
from accelwatch.fleet.ssh.settings import Ssh
from accelwatch.fleet.ssh.transport import SshTransport
from accelwatch.fleet.target import Target
from accelwatch.schema.stream.compact import Hello, Layout
from support.processes.waiting import GUARD_S, wait_until
from support.servers.sshd import SshSite


class ReceivedRounds:
    """What a follower reports."""

    def __init__(self) -> None:
        self.faults: list[TargetFault] = []
        self.exposed_: list[Exposed] = []
        self.messages: list[Received] = []
        self.modes: list[str] = []
        self._changed = asyncio.Event()

    def started(self, target: Target, mode: str) -> None:
        self.modes.append(mode)

    def message(self, target: Target, message: Received, size: int) -> None:
        self.messages.append(message)
        self._changed.set()

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        self.exposed_.append(exposed)
        self._changed.set()

    def failed(self, target: Target, fault: TargetFault) -> None:
        self.faults.append(fault)
        self._changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(GUARD_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


@contextlib.asynccontextmanager
async def following(
    site: SshSite,
    name: str,
    remotes: dict[str, Remote] | None = None,
    timeout_s: float = 30.0,
    patience_s: float | None = None,
) -> AsyncIterator[ReceivedRounds]:
    settings = Ssh(config_file=str(site.config), interval_s=0.02, connect_timeout_s=timeout_s)
    way = SshTransport(settings, 1 << 20, 0.05, Turn(), backends=remotes)
    way.patience_s = patience_s or way.patience_s
    received = ReceivedRounds()
    task = asyncio.ensure_future(SshFollower(way, ssh_targets([name])[0], received).run())
    try:
        yield received
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def patient_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """ssh waits longer for a login than its follower, who else may hear of ssh's own time-out first."""
    words = connection.command_line

    def patiently(program: str, whom: Destination, settings: Ssh) -> list[str]:
        return words(program, whom, msgspec.structs.replace(settings, connect_timeout_s=GUARD_S))

    monkeypatch.setattr(connection, "command_line", patiently)


@pytest.mark.usefixtures("patient_ssh")
@pytest.mark.parametrize("name", ["silent", "hanging"])
def test_a_host_that_hangs_before_or_after_the_login(site: SshSite, name: str) -> None:
    async def main() -> None:
        async with following(site, name, timeout_s=0.2) as received:
            await received.until(lambda: received.faults)
            assert received.faults[0].reason is Reason.TIMEOUT
            assert "no login within 0.4 s" in str(received.faults[0])

    asyncio.run(main())


def test_a_connection_is_kept_for_many_rounds_and_made_again_when_it_is_lost(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "healthy") as received:
            await received.until(lambda: len(received.exposed_) > 2)
            assert not received.faults
            before = site.sessions()
            for pid in before:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await received.until(lambda: received.faults)
            assert received.faults[0].reason is Reason.CLOSED
            assert "the connection was lost" in str(received.faults[0])
            rounds = len(received.exposed_)
            await received.until(lambda: len(received.exposed_) > rounds)
            assert [view.device.name for view in received.exposed_[-1].devices] == [
                "nvidia0",
                "nvidia1",
            ]

    asyncio.run(main())


def test_a_host_with_accelwatch_streams_and_it_ends_with_the_connection(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "ours") as received:
            await received.until(lambda: any(isinstance(one, RawTick) for one in received.messages))
            assert received.modes == ["poll", "stream"]
            hello, *_ = received.messages
            assert isinstance(hello, Hello)
            tick = next(one for one in received.messages if isinstance(one, RawTick))
            layouts = [one for one in received.messages if isinstance(one, Layout)]
            assert len(tick.devices) == len(layouts)
            assert {one.device.vendor for one in layouts} == {"amd"}
            for pid in site.sessions():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await received.until(lambda: received.faults)
            assert received.faults[0].reason is Reason.CLOSED

    asyncio.run(main())
    wait_until(lambda: not _of_ours(site))


def _of_ours(site: SshSite) -> list[bytes]:
    """Processes of the accelwatch that hosts have."""
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            running.append((folder / "cmdline").read_bytes())
    return [words for words in running if str(site.folder / "machine").encode() in words]


def test_where_accelwatch_cannot_stream_the_commands_are_run(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "outdated") as received:
            await received.until(lambda: received.exposed_)
            assert received.modes == ["poll", "stream", "poll"]
            assert not received.faults

    asyncio.run(main())


def test_where_there_is_nothing_else_either_it_says_what_accelwatch_says(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "outdated", {}) as received:
            await received.until(lambda: received.faults)
            assert "does not stream (no such command: stream)" in str(received.faults[0])

    asyncio.run(main())


class Silent:
    """Tells of nothing."""

    def read(self, outputs: Mapping[str, CommandOutput]) -> Sequence[RemoteRow]:
        return ()


def test_a_command_that_cannot_be_stopped_is_reported_and_not_started_again(
    site: SshSite, tmp_path: Path
) -> None:
    """As with a driver that hangs: another one beside it would hang too."""
    started, free = tmp_path / "begun", tmp_path / "free"
    waiting = f"echo x >>{started}; while [ ! -e {free} ]; do sleep 0.02; done"
    command = RemoteCommand(
        key="q", programs=("setsid",), arguments=("-f", "sh", "-c", waiting), timeout_s=GUARD_S
    )

    async def main() -> None:
        stuck = {"stuck": Remote(commands=(command,), reader=Silent)}
        async with following(site, "bare", stuck, patience_s=0.2) as received:
            await received.until(lambda: received.faults and started.exists())
            count = len(received.faults)
            await received.until(lambda: len(received.faults) > count + 1)
            assert {fault.reason for fault in received.faults} == {Reason.TIMEOUT}
            assert "its commands have not come back" in str(received.faults[0])
            assert started.read_text() == "x\n"
            free.touch()
            await received.until(lambda: received.faults[-1].reason is Reason.NO_SOURCE)

    asyncio.run(main())
