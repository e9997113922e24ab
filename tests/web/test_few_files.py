"""Fewer files than connections are allowed: who is silent gives way to who comes."""

import asyncio
import errno
import socket
from typing import Any

import pytest

from accelwatch.web.sockets.connections import Connections, Limits
from accelwatch.web.sockets.listeners import open_tcp
from support.processes.waiting import GUARD_S


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_the_longest_silent_client_gives_way_where_files_run_out(
    monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    async def main() -> None:
        connections = Connections(asyncio.Protocol, Limits(connections=100), lambda: None)
        loop = asyncio.get_running_loop()
        accept = loop.sock_accept

        async def accept_a_few(listening: socket.socket) -> Any:
            if len(connections.open) >= 3:
                raise OSError(code, "too many")
            return await accept(listening)

        monkeypatch.setattr(loop, "sock_accept", accept_a_few)
        (listening,) = open_tcp("127.0.0.1:0")
        address = listening.getsockname()
        connections.listen([listening])
        clients = [await asyncio.open_connection(*address) for _ in range(6)]
        async with asyncio.timeout(GUARD_S):
            for reader, _ in clients[:3]:
                assert await _ended(reader)
        assert len(connections.open) <= 3
        await connections.close()
        for _, writer in clients:
            writer.close()

    asyncio.run(main())


async def _ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


def test_another_reason_costs_nobody_his_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        connections = Connections(asyncio.Protocol, Limits(connections=100), lambda: None)
        loop = asyncio.get_running_loop()
        accept, refused = loop.sock_accept, asyncio.Event()

        async def accept_one(listening: socket.socket) -> Any:
            if connections.open:
                refused.set()
                raise OSError(errno.ENOBUFS, "no memory")
            return await accept(listening)

        monkeypatch.setattr(loop, "sock_accept", accept_one)
        (listening,) = open_tcp("127.0.0.1:0")
        connections.listen([listening])
        _, writer = await asyncio.open_connection(*listening.getsockname())
        await refused.wait()
        await asyncio.sleep(0)
        assert len(connections.open) == 1
        await connections.close()
        writer.close()

    asyncio.run(main())
