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


class Heard:
    """What a follower tells."""

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
) -> AsyncIterator[Heard]:
    settings = Ssh(config_file=str(site.config), interval_s=0.02, connect_timeout_s=timeout_s)
    way = SshTransport(settings, 1 << 20, 0.05, Turn(), backends=remotes)
    way.patience_s = patience_s or way.patience_s
    heard = Heard()
    task = asyncio.ensure_future(SshFollower(way, ssh_targets([name])[0], heard).run())
    try:
        yield heard
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
        async with following(site, name, timeout_s=0.2) as heard:
            await heard.until(lambda: heard.faults)
            assert heard.faults[0].reason is Reason.TIMEOUT
            assert "no login within 0.4 s" in str(heard.faults[0])

    asyncio.run(main())


def test_a_connection_is_kept_for_many_rounds_and_made_again_when_it_is_lost(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "healthy") as heard:
            await heard.until(lambda: len(heard.exposed_) > 2)
            assert not heard.faults
            before = site.sessions()
            for pid in before:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await heard.until(lambda: heard.faults)
            assert heard.faults[0].reason is Reason.CLOSED
            assert "the connection was lost" in str(heard.faults[0])
            rounds = len(heard.exposed_)
            await heard.until(lambda: len(heard.exposed_) > rounds)
            assert [view.device.name for view in heard.exposed_[-1].devices] == [
                "nvidia0",
                "nvidia1",
            ]

    asyncio.run(main())


def test_a_host_with_accelwatch_streams_and_it_ends_with_the_connection(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "ours") as heard:
            await heard.until(lambda: any(isinstance(one, RawTick) for one in heard.messages))
            assert heard.modes == ["poll", "stream"]
            hello, *_ = heard.messages
            assert isinstance(hello, Hello)
            tick = next(one for one in heard.messages if isinstance(one, RawTick))
            layouts = [one for one in heard.messages if isinstance(one, Layout)]
            assert len(tick.devices) == len(layouts)
            assert {one.device.vendor for one in layouts} == {"amd"}
            for pid in site.sessions():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await heard.until(lambda: heard.faults)
            assert heard.faults[0].reason is Reason.CLOSED

    asyncio.run(main())
    wait_until(lambda: not _of_ours(site))


def _of_ours(site: SshSite) -> list[bytes]:
    """Processes of the accelwatch that hosts have."""
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            running.append((folder / "cmdline").read_bytes())
    return [words for words in running if str(site.folder / "machine").encode() in words]


def test_where_accelwatch_cannot_stream_the_commands_are_asked(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "outdated") as heard:
            await heard.until(lambda: heard.exposed_)
            assert heard.modes == ["poll", "stream", "poll"]
            assert not heard.faults

    asyncio.run(main())


def test_where_there_is_nothing_else_either_it_says_what_accelwatch_says(site: SshSite) -> None:
    async def main() -> None:
        async with following(site, "outdated", {}) as heard:
            await heard.until(lambda: heard.faults)
            assert "does not stream (no such command: stream)" in str(heard.faults[0])

    asyncio.run(main())


class Silent:
    """Tells of nothing."""

    def read(self, outputs: Mapping[str, CommandOutput]) -> Sequence[RemoteRow]:
        return ()


def test_a_command_that_cannot_be_ended_is_told_and_not_begun_again(
    site: SshSite, tmp_path: Path
) -> None:
    """As with a driver that hangs: another one beside it would hang too."""
    begun, free = tmp_path / "begun", tmp_path / "free"
    waiting = f"echo x >>{begun}; while [ ! -e {free} ]; do sleep 0.02; done"
    command = RemoteCommand(
        key="q", programs=("setsid",), arguments=("-f", "sh", "-c", waiting), timeout_s=GUARD_S
    )

    async def main() -> None:
        stuck = {"stuck": Remote(commands=(command,), reader=Silent)}
        async with following(site, "bare", stuck, patience_s=0.2) as heard:
            await heard.until(lambda: heard.faults and begun.exists())
            told = len(heard.faults)
            await heard.until(lambda: len(heard.faults) > told + 1)
            assert {fault.reason for fault in heard.faults} == {Reason.TIMEOUT}
            assert "its commands have not come back" in str(heard.faults[0])
            assert begun.read_text() == "x\n"
            free.touch()
            await heard.until(lambda: heard.faults[-1].reason is Reason.NO_SOURCE)

    asyncio.run(main())
