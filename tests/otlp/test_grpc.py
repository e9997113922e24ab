"""OTLP over gRPC: what is sent, which answers are tried again, how a wrong receiver is told apart."""

import asyncio
import logging
import random
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from accelwatch.alerting.delivery.transport.push_queue import NotAccepted, Request
from accelwatch.base.clock import SystemClock
from accelwatch.config.otlp import Otlp, mistakes
from accelwatch.otlp.encoding import chunks
from accelwatch.otlp.grpc_receiver import METHOD, GrpcReceiver
from accelwatch.otlp.outbox import Outbox
from accelwatch.otlp.samples import ourselves
from accelwatch.otlp.starts import Starts
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from otlp.grpc_servers import GrpcServer, grpc_server
from otlp.receiver_servers import otlp_server
from support.servers.certificate_authority import Authority
from support.servers.fake_prometheus import soon


def settings(url: str, **more: object) -> Otlp:
    usual = {"endpoint": url, "protocol": "grpc", "timeout_s": 60.0, "max_backoff_s": 0.05}
    return Otlp(**{**usual, **more})  # type: ignore[arg-type]  # of tests


async def pushed(server: GrpcServer, count: int = 4, **more: object) -> dict[str, Number]:
    """Push a request of so many points and wait until none waits; our own series."""
    outbox = Outbox(settings(server.url, points_per_request=100_000, **more), SystemClock())
    running = asyncio.create_task(outbox.run())
    own: dict[Series, Number] = {("fleet_nodes", f"{random.random()}"): n for n in range(count)}
    try:
        for part in chunks(ourselves(own), {}, 1.0, Starts(), 100_000):
            await outbox.add(part, 1.0)
        await outbox.cut()
        await soon(lambda: outbox.own()["otlp_points_pending",] == 0)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await outbox.close()
    return {key[0]: value for key, value in outbox.own().items()}


def with_server(check: Callable[[GrpcServer], Awaitable[None]]) -> None:
    async def main() -> None:
        async with grpc_server() as server:
            await check(server)

    asyncio.run(main())


async def sent(server_url: str, body: bytes = b"x", **more: object) -> NotAccepted:
    """Why a request is not taken."""
    request = Request(body=body, samples=4, newest=1.0)
    with pytest.raises(NotAccepted) as refused:
        await GrpcReceiver(settings(server_url, **more), {}).send(request)
    return refused.value


def test_what_is_taken_is_counted() -> None:
    async def check(server: GrpcServer) -> None:
        own = await pushed(server)
        assert (own["otlp_points_total"], own["otlp_points_failed_total"]) == (4, 0)
        assert len(server.points) == 4
        (headers,) = server.headers
        assert (headers[":path"], headers[":method"], headers["te"]) == (METHOD, "POST", "trailers")
        assert headers["content-type"] == "application/grpc"
        assert headers["grpc-encoding"] == "gzip"
        assert headers["grpc-timeout"] == "60000m"

    with_server(check)


def test_a_request_larger_than_the_window_waits_for_it() -> None:
    async def check(server: GrpcServer) -> None:
        own = await pushed(server, count=20_000)
        assert own["otlp_bytes_total"] > 2 * 65_535
        assert len(server.points) == 20_000

    with_server(check)


def test_a_receiver_that_answers_before_all_was_sent_is_read() -> None:
    async def check(server: GrpcServer) -> None:
        server.early, server.statuses = True, ["8"]
        fault = await sent(server.url, body=b"x" * (1 << 20))
        assert (str(fault), fault.passes) == ("answered RESOURCE_EXHAUSTED: too much", True)

    with_server(check)


def test_credentials_of_files_are_sent(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("Bearer abc\n")

    async def check(server: GrpcServer) -> None:
        files = {"Authorization": str(token)}
        await pushed(server, header_files=files, headers={"X-Scope": "a"})
        (headers,) = server.headers
        assert (headers["authorization"], headers["x-scope"]) == ("Bearer abc", "a")

    with_server(check)


def test_a_receiver_over_tls_is_checked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def main() -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*authority.issue("server", "localhost"))
        context.set_alpn_protocols(["h2"])
        async with grpc_server(context) as server:
            own = await pushed(server, ca_file=str(authority.file))
            assert own["otlp_points_total"] == 4
            fault = await sent(server.url)
            assert str(fault).startswith("TLS failed: ")
            assert fault.passes

    asyncio.run(main())


@pytest.mark.parametrize("status", ["1", "4", "8", "10", "11", "14", "15"])
def test_what_may_go_better_later_is_sent_again(status: str) -> None:
    async def check(server: GrpcServer) -> None:
        server.statuses = [status, status]
        own = await pushed(server)
        assert (own["otlp_points_total"], own["otlp_retries_total"]) == (4, 2)

    with_server(check)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("3", "INVALID_ARGUMENT"),
        ("7", "check the credentials"),
        ("12", "it accepts no metrics over gRPC"),
        ("16", "check the credentials"),
        ("99", "answered status 99"),
        ("x", "answered status x"),
    ],
)
def test_a_refusal_is_not_sent_again(
    status: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    async def check(server: GrpcServer) -> None:
        server.statuses = [status]
        own = await pushed(server)
        assert (own["otlp_points_failed_total"], own["otlp_retries_total"]) == (4, 0)

    with_server(check)
    assert words in caplog.text


@pytest.mark.parametrize(("code", "passes"), [("503", True), ("429", True), ("404", False)])
def test_an_answer_of_a_proxy_on_the_way(code: str, passes: bool) -> None:
    async def check(server: GrpcServer) -> None:
        server.http_statuses = [code]
        fault = await sent(server.url)
        assert fault.passes is passes
        assert f"answered {code} without a gRPC status" in str(fault)

    with_server(check)


def test_points_that_were_refused_are_counted() -> None:
    async def check(server: GrpcServer) -> None:
        server.partial.partial_success.rejected_data_points = 3
        own = await pushed(server)
        assert (own["otlp_points_total"], own["otlp_points_failed_total"]) == (1, 3)

    with_server(check)


def test_a_receiver_over_http_is_recognised() -> None:
    async def main() -> None:
        async with otlp_server() as server:
            assert "is it a receiver of OTLP over HTTP" in str(await sent(server.url))

    asyncio.run(main())


def test_one_that_hangs_is_given_up() -> None:
    async def check(server: GrpcServer) -> None:
        server.hangs = True
        fault = await sent(server.url, timeout_s=0.2)
        assert (str(fault), fault.passes) == ("no answer within 0.2 s", True)

    with_server(check)


def test_one_that_is_not_there_is_waited_for() -> None:
    fault = asyncio.run(sent("http://127.0.0.1:1"))
    assert (str(fault), fault.passes) == ("cannot be reached: Connection refused", True)


def test_an_endpoint_of_grpc_has_no_path() -> None:
    good = settings("http://collector:4317")
    assert list(mistakes(good)) == []
    assert list(mistakes(settings("http://collector:4317/"))) == []
    (found,) = mistakes(settings("http://collector:4317/v1/metrics"))
    assert found == ("endpoint", "gRPC has no path; write http://collector:4317")
