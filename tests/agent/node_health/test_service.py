"""The health check over gRPC on a real Unix socket."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import msgspec
import pytest

from accelwatch.agent.node_health.service import ConnectionLimits, HealthService
from accelwatch.backend.kit.grpc.protobuf import fields
from accelwatch.base.errors import AccelwatchError

METHOD = "/nvhcd.HealthCheckService/RunHealthCheck"
# A HealthCheckRequest with the argument `--no-slurm`.
REQUEST = b"\x0a\x0a--no-slurm"
# How a client of HTTP/2 begins, with empty settings (RFC 9113, 3.4).
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"

Call = grpc.aio.UnaryUnaryMultiCallable[bytes, bytes]
Failures = Callable[[], Awaitable[tuple[str, ...]]]


_SHIPPED = ConnectionLimits()


async def healthy() -> tuple[str, ...]:
    return ()


async def two_failed() -> tuple[str, ...]:
    return ("nvidia3: GPU has fallen off the bus.", "n01: Überhitzt")


@asynccontextmanager
async def serving(
    path: Path, failures: Failures, limits: ConnectionLimits = _SHIPPED
) -> AsyncIterator[HealthService]:
    service = HealthService(path, failures, limits)
    await service.start()
    try:
        yield service
    finally:
        await service.stop()


async def answer_of(path: Path, request: bytes = REQUEST) -> dict[int, int | bytes]:
    async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
        call: Call = channel.unary_unary(METHOD)
        return dict(fields(await call(request)))


def test_a_healthy_node_succeeds(tmp_path: Path) -> None:
    async def script() -> None:
        async with serving(tmp_path / "s", healthy):
            answer = await answer_of(tmp_path / "s")
        assert (answer[1], answer[2]) == (1, 0)
        assert msgspec.json.decode(bytes(answer[3])) == {"fail_count": 0, "failed_checks": []}

    asyncio.run(script())


def test_what_failed_is_reported(tmp_path: Path) -> None:
    async def script() -> None:
        async with serving(tmp_path / "s", two_failed):
            answer = await answer_of(tmp_path / "s")
        assert (answer[1], answer[2]) == (0, 2)
        assert msgspec.json.decode(bytes(answer[3])) == {
            "fail_count": 2,
            "failed_checks": ["nvidia3: GPU has fallen off the bus.", "n01: Überhitzt"],
        }

    asyncio.run(script())


def test_of_very_many_failures_all_are_counted_and_some_are_named(tmp_path: Path) -> None:
    async def many() -> tuple[str, ...]:
        return tuple(f"nvidia{number}: lost" for number in range(300))

    async def script() -> None:
        async with serving(tmp_path / "s", many):
            answer = await answer_of(tmp_path / "s")
        output = msgspec.json.decode(bytes(answer[3]))
        assert (output["fail_count"], len(output["failed_checks"])) == (300, 20)

    asyncio.run(script())


def test_garbage_as_a_request_changes_nothing(tmp_path: Path) -> None:
    async def script() -> None:
        async with serving(tmp_path / "s", healthy):
            assert (await answer_of(tmp_path / "s", b"\xff" * 100))[1] == 1
            with pytest.raises(grpc.aio.AioRpcError, match="larger than max"):
                await answer_of(tmp_path / "s", b"\xff" * 100_000)
            async with grpc.aio.insecure_channel(f"unix:{tmp_path / 's'}") as channel:
                other: Call = channel.unary_unary("/nvhcd.HealthCheckService/Other")
                with pytest.raises(grpc.aio.AioRpcError, match="UNIMPLEMENTED"):
                    await other(b"")
            reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
            writer.write(b"GET / HTTP/1.1\r\n\r\n" * 100)
            await reader.read()
            writer.close()
            assert (await answer_of(tmp_path / "s"))[1] == 1

    asyncio.run(script())


def test_a_thousand_requests_are_answered(tmp_path: Path) -> None:
    async def script() -> None:
        async with (
            serving(tmp_path / "s", two_failed),
            grpc.aio.insecure_channel(f"unix:{tmp_path / 's'}") as channel,
        ):
            call: Call = channel.unary_unary(METHOD)
            for _ in range(20):
                answers = await asyncio.gather(*(call(REQUEST) for _ in range(50)))
                assert {dict(fields(answer))[1] for answer in answers} == {0}

    asyncio.run(script())


def test_beyond_so_many_at_once_requests_are_refused_and_nobody_waits(tmp_path: Path) -> None:
    async def script() -> None:
        released = asyncio.Event()

        async def late() -> tuple[str, ...]:
            await released.wait()
            return ()

        async with (
            serving(tmp_path / "s", late),
            grpc.aio.insecure_channel(f"unix:{tmp_path / 's'}") as channel,
        ):
            call: Call = channel.unary_unary(METHOD)
            calls = [asyncio.ensure_future(call(REQUEST)) for _ in range(80)]
            done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_EXCEPTION)
            assert all("RESOURCE_EXHAUSTED" in str(request.exception()) for request in done)
            released.set()
            answers = await asyncio.gather(*waiting, return_exceptions=True)
            assert any(isinstance(answer, bytes) for answer in answers)

    asyncio.run(script())


def test_clients_that_never_read_or_never_ask_keep_nobody_waiting(tmp_path: Path) -> None:
    """Many pings whose answers nobody reads; and silence."""
    pings = (b"\0\0\x08\x06\0\0\0\0\0" + b"\0" * 8) * 2000

    async def script() -> None:
        deaf: list[socket.socket] = []
        async with serving(tmp_path / "s", two_failed):
            for number in range(200):
                client = socket.socket(socket.AF_UNIX)
                client.setblocking(False)
                client.connect(str(tmp_path / "s"))
                deaf.append(client)
                if number % 2:
                    with contextlib.suppress(OSError):
                        client.send(PREFACE + pings)
            for _ in range(20):
                assert (await answer_of(tmp_path / "s"))[1] == 0
        for client in deaf:
            client.close()

    asyncio.run(script())


def connected(path: Path, many: int, first: bytes = b"") -> list[socket.socket]:
    clients = [socket.socket(socket.AF_UNIX) for _ in range(many)]
    for client in clients:
        client.setblocking(False)
        client.connect(str(path))
        if first:
            with contextlib.suppress(OSError):
                client.send(first)
    return clients


async def closed(clients: list[socket.socket], many: int) -> None:
    """Wait until the server has closed so many, in whatever state it has left them."""
    done: set[socket.socket] = set()
    async with asyncio.timeout(60):
        while len(done) < many:
            for client in clients:
                try:
                    while data := client.recv(4096):
                        assert data
                    done.add(client)
                except BlockingIOError:
                    pass
                except OSError:
                    done.add(client)
            await asyncio.sleep(0.02)


def test_beyond_so_many_connections_clients_are_closed_at_once(tmp_path: Path) -> None:
    limits = ConnectionLimits(most=8, handshake_s=600.0)

    async def script() -> None:
        async with serving(tmp_path / "s", two_failed, limits):
            clients = connected(tmp_path / "s", 20)
            await closed(clients, 12)
            with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
                await answer_of(tmp_path / "s")
            for client in clients:
                client.close()
            async with asyncio.timeout(60):
                while not await answers(tmp_path / "s"):
                    await asyncio.sleep(0.02)

    asyncio.run(script())


async def answers(path: Path) -> bool:
    with contextlib.suppress(grpc.aio.AioRpcError):
        return (await answer_of(path))[1] == 0
    return False


@pytest.mark.parametrize("speaks", [False, True])
def test_a_client_that_sends_no_request_is_closed_after_a_while(
    tmp_path: Path, speaks: bool
) -> None:
    limits = ConnectionLimits(
        handshake_s=600.0 if speaks else 0.2, idle_s=0.2 if speaks else 600.0, age_s=600.0
    )

    async def script() -> None:
        async with serving(tmp_path / "s", two_failed, limits):
            clients = connected(tmp_path / "s", 5, PREFACE if speaks else b"")
            await closed(clients, 5)
            for client in clients:
                client.close()

    asyncio.run(script())


def test_a_client_whose_answer_does_not_come_is_closed_after_a_while(tmp_path: Path) -> None:
    released = asyncio.Event()

    async def late() -> tuple[str, ...]:
        await released.wait()
        return ()

    async def script() -> None:
        limits = ConnectionLimits(age_s=0.5)
        async with serving(tmp_path / "s", late, limits):
            with pytest.raises(grpc.aio.AioRpcError):
                await answer_of(tmp_path / "s")
            released.set()
            assert (await answer_of(tmp_path / "s"))[1] == 1

    asyncio.run(script())


def test_other_users_may_ask_and_the_socket_goes_at_the_end(tmp_path: Path) -> None:
    async def script() -> None:
        async with serving(tmp_path / "s", healthy):
            assert (tmp_path / "s").stat().st_mode & 0o777 == 0o666
        assert list(tmp_path.iterdir()) == []

    asyncio.run(script())


def test_a_socket_that_was_left_behind_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "s"))

    async def script() -> None:
        async with serving(tmp_path / "s", healthy):
            assert (await answer_of(tmp_path / "s"))[1] == 1

    asyncio.run(script())


def test_a_socket_in_use_and_a_file_stay(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")

    async def script() -> None:
        with pytest.raises(AccelwatchError, match="exists and is not a socket"):
            await HealthService(tmp_path / "file", healthy).start()
        async with serving(tmp_path / "s", healthy):
            with pytest.raises(AccelwatchError, match="another process listens there"):
                await HealthService(tmp_path / "s", two_failed).start()
            assert (await answer_of(tmp_path / "s"))[1] == 1
        with pytest.raises(AccelwatchError, match=r"node_health.socket: cannot listen on .*/no/s"):
            await HealthService(tmp_path / "no" / "s", healthy).start()

    asyncio.run(script())
    assert (tmp_path / "file").read_text() == "precious"
