"""Network namespaces that a test makes for itself, without root where the kernel lets users have them.

The hub is in one, simulated nodes are in others. The way between is a veth pair, which netem can spoil,
or two TUN devices with `relay.py` between them, which does the same where the kernel has no netem.
"""

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

_ENTER = ("nsenter", "--preserve-credentials", "--user", "--mount", "--net")
_SIM = "from accelwatch.cli.trial.sim import sim_command; sim_command()"
_RELAY = Path(__file__).with_name("relay.py")
PORT = 19_400


def check_tools(*names: str) -> None:
    """Skip in words when a tool is missing."""
    for name in ("unshare", "nsenter", *names):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed (util-linux, iproute2)")


class Space:
    """A namespace, held by a process that sleeps in it."""

    def __init__(self, holder: asyncio.subprocess.Process) -> None:
        self._holder = holder
        self.pid = holder.pid

    @property
    def enter(self) -> list[str]:
        """Words that run a command inside."""
        return [*_ENTER, "--target", str(self.pid)]

    def run(self, *words: str) -> None:
        done = subprocess.run(
            [*self.enter, *words], capture_output=True, text=True, check=False, timeout=30
        )
        assert done.returncode == 0, (words, done.stderr)

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._holder.kill()
        await self._holder.wait()


@contextlib.asynccontextmanager
async def space(inside: Space | None = None) -> AsyncIterator[Space]:
    """A namespace; `inside` another one it has the same users. Skips where the kernel forbids it."""
    wanted = ["--net", "--mount"]
    before: list[str] = []
    if inside is not None:
        before = ["nsenter", "--preserve-credentials", "--user", "--target", str(inside.pid)]
    else:
        wanted = ["--user", "--map-root-user", *wanted]
    text = "ip link set lo up && echo ready && exec sleep 600"
    holder = await asyncio.create_subprocess_exec(
        *(*before, "unshare", *wanted, "sh", "-c", text),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    one = Space(holder)
    assert holder.stdout is not None
    assert holder.stderr is not None
    try:
        if await holder.stdout.readline() != b"ready\n":
            why = (await holder.stderr.read()).decode().strip()
            pytest.skip(f"this machine lets no user have a network namespace: {why}")
        yield one
    finally:
        await one.end()


class Relay:
    """The way between two namespaces as a process that can lose and delay what passes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def set(self, **rule: float) -> None:
        """`loss_out` and `loss_back` (shares of packets from the hub and to it), `delay_s`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(rule).encode() + b"\n")
        await self._process.stdin.drain()
        assert await self._process.stdout.readline() == b"set\n"


@contextlib.asynccontextmanager
async def relay(hub: Space, nodes: Space) -> AsyncIterator[Relay]:
    """Two TUN devices `way`, one in each namespace, and what goes in between."""
    process = await asyncio.create_subprocess_exec(
        *(*hub.enter, sys.executable, str(_RELAY), "nsenter", "--net", "--target", str(nodes.pid)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        if await process.stdout.readline() != b"ready\n":
            pytest.skip("this machine lets no user have a TUN device (/dev/net/tun)")
        yield Relay(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def veth(hub: Space, nodes: Space, name: str) -> None:
    """A pair of devices of one name in both namespaces."""
    words = ("ip", "link", "add", name, "type", "veth", "peer", "name", name)
    hub.run(*words, "netns", str(nodes.pid))


def address(where: Space, device: str, number: int, subnet: int) -> None:
    """Give a device its address, 10.77.SUBNET.NUMBER, and switch it on."""
    where.run("ip", "address", "add", f"10.77.{subnet}.{number}/24", "dev", device)
    where.run("ip", "link", "set", device, "up")


@contextlib.asynccontextmanager
async def simulator(
    where: Space, listen: str, words: Sequence[str] = ("--nodes", "3", "--devices", "2")
) -> AsyncIterator[None]:
    """Simulated nodes in a namespace, under paths of one port, four ticks a second, once they listen."""
    process = await asyncio.create_subprocess_exec(
        *(*where.enter, sys.executable, "-c", _SIM, *words, "--listen", listen, "--listen-any"),
        *("--ports", "one", "--interval", "250ms", "--vendor", "nvidia"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        # A hub that came first would be refused, and count that.
        line = await process.stderr.readline()
        assert line.startswith(b"serving "), line
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
