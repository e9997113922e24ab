"""Five hundred clients at once, some of whom never read: they cost the fleet's freshness nothing."""

import asyncio
import contextlib
import re
import socket
from collections import Counter
from pathlib import Path
from typing import Any

from accelwatch.base.clock import SystemClock
from fleet.misbehaving_targets.processes import HubProcess, hub_process
from fleet.misbehaving_targets.short_waits import Simulated, simulation
from support.servers.ports import free_port

_READING, _SILENT, _SLOW, _POLLING, _TOO_MANY = 300, 60, 40, 100, 20
_NODES = 12
# Ticks that each node sends while all clients are there, at least.
_TICKS = 5
# The longest that the hub can be given: on a busy machine clients and nodes are slow.
_LONGEST = "1m"
_PATIENCE_S = 240.0
_SEQUENCE = re.compile(rb'"type":"tick","sequence":(\d+)')
_FIELDS = "power_watts,temperature_celsius,utilization_ratio,memory_used_bytes,clock_hertz"


class Client:
    """One connection to the hub."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writer: asyncio.StreamWriter | None = None
        self.head = b""
        # Sequences of the ticks that were read.
        self.ticks: list[int] = []

    async def request(self, path: str, receive_bytes: int | None = None) -> asyncio.StreamReader:
        """Send a request; whoever never reads has a small window."""
        sock = socket.socket()
        sock.setblocking(False)
        if receive_bytes is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self._port))
        except BaseException:
            sock.close()
            raise
        reader, writer = await asyncio.open_connection(sock=sock, limit=1 << 14)
        self._writer = writer
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return reader

    async def read(self, ticks: int) -> None:
        """Read a stream until so many ticks have come."""
        reader = await self.request(f"/v1/stream?fields={_FIELDS}")
        self.head = await reader.readuntil(b"\r\n\r\n")
        assert self.head.startswith(b"HTTP/1.1 200"), self.head
        held = b""
        while len(self.ticks) < ticks:
            data = await reader.read(1 << 16)
            assert data, "the stream has ended"
            held += data
            self.ticks += [int(one) for one in _SEQUENCE.findall(held)]
            held = held[-64:] if _SEQUENCE.search(held) else held

    async def sit(self, bytes_a_time: int) -> None:
        """Read next to nothing until the hub has had enough."""
        reader = await self.request(f"/v1/stream?fields={_FIELDS}", 4096)
        self.head = await reader.readexactly(20)
        assert self._writer is not None
        way = self._writer.transport
        assert isinstance(way, asyncio.Transport)
        way.pause_reading()
        with contextlib.suppress(ConnectionError):
            while True:
                await asyncio.sleep(0.1)
                if bytes_a_time:
                    way.resume_reading()
                    await reader.read(bytes_a_time)
                    way.pause_reading()

    async def once(self, path: str) -> tuple[int, bytes]:
        """Code and head of an answer."""
        try:
            reader = await self.request(path)
            head = await reader.readuntil(b"\r\n\r\n")
        finally:
            self.close()
        return int(head.split(b" ", 2)[1]), head

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()


async def _poll(port: int, codes: Counter[int]) -> None:
    paths = ["/v1/fleet", "/v1/devices", "/v1/nodes", "/metrics", "/-/ready"]
    while True:
        for path in paths:
            code, head = await Client(port).once(path)
            codes[code] += 1
            assert code == 200 or (code == 503 and b"Retry-After" in head), head


class Ticks:
    """Ticks of all nodes, each sent when the hub has the one before, however long that takes."""

    def __init__(self, simulated: Simulated, hub: HubProcess) -> None:
        self._simulated = simulated
        self._hub = hub
        # How many the hub has from every node.
        self.received = 0

    async def send(self) -> None:
        """Send until cancelled."""
        seen: dict[str, str | None] = {}

        def has_all(answer: Any) -> bool:
            rows = {row["node"]: row["last_seen"] for row in answer["nodes"]}
            return len(rows) == _NODES and all(
                last not in (None, seen.get(node)) for node, last in rows.items()
            )

        while True:
            self._simulated.server.tick()
            answer = await self._hub.until(has_all, "/v1/nodes")
            seen = {row["node"]: row["last_seen"] for row in answer["nodes"]}
            self.received += 1

    async def until(self, count: int) -> None:
        """Wait until the hub has so many."""
        async with asyncio.timeout(_PATIENCE_S):
            while self.received < count:
                await asyncio.sleep(0.02)


def test_five_hundred_clients_cost_the_fleet_nothing(tmp_path: Path) -> None:
    port = free_port()
    web = {
        "listen_address": [f"127.0.0.1:{port}"],
        "stream_max_clients": _READING + _SILENT + _SLOW,
        "stream_stall_timeout": _LONGEST,
        # On a busy machine the hub has connections of clients that have gone already.
        "max_connections": 10_000,
        # All may ask at the same moment.
        "max_requests": 1000,
    }

    async def main() -> None:
        async with contextlib.AsyncExitStack() as stack:
            simulated = await stack.enter_async_context(simulation(SystemClock(), _NODES))
            settings = {
                "targets": {"static": [simulated.target(name) for name in simulated.names]},
                "scrape": {"scrape_timeout": _LONGEST},
                "web": web,
                "stream_interval": "250ms",
            }
            hub = await stack.enter_async_context(hub_process(tmp_path, settings))
            ticks = Ticks(simulated, hub)
            ticking = asyncio.create_task(ticks.send())
            await ticks.until(2)
            before = hub.status("VmRSS")
            sitting = [Client(port) for _ in range(_SILENT + _SLOW)]
            sits = [
                asyncio.create_task(one.sit(0 if number < _SILENT else 1))
                for number, one in enumerate(sitting)
            ]
            reading = [Client(port) for _ in range(_READING)]
            codes: Counter[int] = Counter()
            polls = [asyncio.create_task(_poll(port, codes)) for _ in range(_POLLING)]
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    while not all(one.head for one in sitting):
                        await asyncio.sleep(0.02)
                    reads = asyncio.gather(*(one.read(12) for one in reading))
                    while not (reads.done() or all(one.ticks for one in reading)):
                        await asyncio.sleep(0.02)
                    refused = [await Client(port).once("/v1/stream") for _ in range(_TOO_MANY)]
                    await ticks.until(ticks.received + _TICKS)
                    await reads
            finally:
                for task in (*sits, *polls, ticking):
                    task.cancel()
                ended = await asyncio.gather(*sits, *polls, ticking, return_exceptions=True)
                for one in (*sitting, *reading):
                    one.close()
            for one in reading:
                assert one.ticks == sorted(one.ticks)
            # Who is let go leaves a place.
            is_full = "does not read" not in hub.log
            for code, head in refused:
                assert (code == 503 and b"Retry-After" in head) or (code == 200 and not is_full)
            assert codes[200] > _POLLING
            failed = [one for one in ended if isinstance(one, AssertionError)]
            assert not failed
            assert hub.status("VmHWM") - before < 160 << 10
            for row in (await hub.rows()).values():
                (target,) = row["targets"]
                assert (target["connected"], target["failures_total"]) == (True, 0)
                assert target["missed_ticks_total"] == 0

    asyncio.run(main())


def test_who_never_reads_is_let_go(tmp_path: Path) -> None:
    port = free_port()
    web = {"listen_address": [f"127.0.0.1:{port}"], "stream_stall_timeout": "500ms"}

    async def main() -> None:
        async with simulation(SystemClock(), _NODES, 64) as simulated:
            simulated.server.start()
            settings = {
                "targets": {"static": [simulated.target(name) for name in simulated.names]},
                "web": web,
                "stream_interval": "100ms",
            }
            async with hub_process(tmp_path, settings) as hub:
                await hub.until(lambda fleet: fleet["nodes"]["up"] == _NODES)
                before = hub.sockets()
                sitting = [Client(port) for _ in range(20)]
                sits = [asyncio.create_task(one.sit(0)) for one in sitting]
                async with asyncio.timeout(60):
                    while not all(one.head for one in sitting):
                        await asyncio.sleep(0.02)
                    while hub.sockets() > before:
                        await asyncio.sleep(0.05)
                for one, task in zip(sitting, sits, strict=True):
                    one.close()
                    task.cancel()
                await asyncio.gather(*sits, return_exceptions=True)
                assert "does not read" in hub.log

    asyncio.run(main())
