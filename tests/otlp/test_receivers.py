"""Receivers that fail, are busy, refuse a part or hang; credentials from files and variables."""

import asyncio
import logging
from pathlib import Path

import pytest
from aiohttp import web

from accelwatch.alerting.delivery.transport.push_queue import NotAccepted, Request
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.config.otlp import Otlp, mistakes
from accelwatch.otlp.encoding import chunks
from accelwatch.otlp.outbox import Outbox
from accelwatch.otlp.receiver import Receiver, from_environment
from accelwatch.otlp.samples import ourselves
from accelwatch.otlp.starts import Starts
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from otlp.receiver_servers import OtlpServer, otlp_server
from support.servers.fake_prometheus import soon

POINTS = 4


async def pushed(server: OtlpServer, rounds: int = 1, **settings: object) -> dict[str, Number]:
    """Push so many requests and wait until none waits; our own series."""
    usual = {"endpoint": server.url, "timeout_s": 60.0, "max_backoff_s": 0.05}
    outbox = Outbox(Otlp(**{**usual, **settings}), SystemClock())  # type: ignore[arg-type]  # of tests
    running = asyncio.create_task(outbox.run())
    own: dict[Series, Number] = {("fleet_nodes", str(n)): n for n in range(POINTS)}
    try:
        for number in range(rounds):
            for part in chunks(ourselves(own), {}, float(number + 1), Starts(), 100):
                await outbox.add(part, float(number + 1))
            await outbox.cut()
        await soon(lambda: outbox.own()["otlp_points_pending",] == 0)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await outbox.close()
    return {key[0]: value for key, value in outbox.own().items()}


def answering(server: OtlpServer, *codes: int, **headers: str) -> None:
    left = list(codes)
    server.answer = lambda: web.Response(status=left.pop(0), headers=headers) if left else None


def test_what_is_taken_is_counted() -> None:
    async def main() -> None:
        async with otlp_server() as server:
            own = await pushed(server, 2)
            assert server.paths == ["/v1/metrics"] * 2
            assert server.headers[0]["content-type"] == "application/x-protobuf"
            assert server.headers[0]["content-encoding"] == "gzip"
            assert len(server.named("accel_fleet_nodes")) == 2 * POINTS
        assert own["otlp_points_total"] == 2 * POINTS
        assert own["otlp_bytes_total"] > 0
        assert own["otlp_lag_seconds"] > 1e9

    asyncio.run(main())


def test_what_may_pass_is_sent_again_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with otlp_server() as server:
            answering(server, 429, 502, 503, 504)
            own = await pushed(server)
            assert (own["otlp_retries_total"], own["otlp_points_total"]) == (4, POINTS)
            answering(server, 400, 500)
            own = await pushed(server, 3)
            assert (own["otlp_points_failed_total"], own["otlp_points_total"]) == (8, 4)

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    messages = [
        record.getMessage() for record in caplog.records if record.name.endswith("push_queue")
    ]
    assert messages == [
        "otlp waits code=429: answered 429",
        "otlp goes well again",
        "otlp is refused code=400: answered 400",
        "otlp goes well again",
    ]


def test_retry_after_is_kept() -> None:
    async def main() -> None:
        async with otlp_server() as server:
            answering(server, 503, **{"Retry-After": "7"})
            receiver = Receiver(Otlp(endpoint=server.url, timeout_s=60.0), {})
            with pytest.raises(NotAccepted) as caught:
                await receiver.send(Request(body=b"", samples=1, newest=0.0))
            assert (caught.value.passes, caught.value.retry_after_s) == (True, 7.0)
            await receiver.close()

    asyncio.run(main())


def test_a_partial_success_is_counted_and_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with otlp_server() as server:
            server.partial.partial_success.rejected_data_points = 3
            server.partial.partial_success.error_message = "too\x1bold"
            own = await pushed(server, 2)
            assert (own["otlp_points_total"], own["otlp_points_failed_total"]) == (2, 6)
            assert own["otlp_retries_total"] == 0

    asyncio.run(main())
    messages = [text for text in caplog.messages if "partial success" in text]
    assert len(messages) == 1
    assert "refused=3" in messages[0]
    assert "\x1b" not in messages[0]


def test_an_answer_that_is_no_message_is_a_success() -> None:
    async def main() -> None:
        async with otlp_server() as server:
            server.answer = lambda: web.Response(text="\xff thanks")
            assert (await pushed(server))["otlp_points_total"] == POINTS

    asyncio.run(main())


def test_a_receiver_that_hangs_costs_the_oldest_points_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with otlp_server() as server:
            server.hangs = True
            outbox = Outbox(Otlp(endpoint=server.url, timeout_s=60.0, queue_bytes=1), SystemClock())
            running = asyncio.create_task(outbox.run())
            for number in range(5):
                for part in chunks(ourselves({("fleet_nodes", "up"): 1}), {}, 1.0, Starts(), 9):
                    await outbox.add(part, float(number))
                await outbox.cut()
            own = outbox.own()
            assert own["otlp_points_pending",] == 1
            assert own["otlp_points_dropped_total",] == 4
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await outbox.close()

    asyncio.run(main())


def test_credentials_come_from_files_and_are_never_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = tmp_path / "token"
    secret.write_text("Bearer s3cret\n")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-scope=ml%20a, authorization=Bearer%20v4r")
    files = {"authorization": str(secret)}

    async def main() -> None:
        async with otlp_server() as server:
            answering(server, 401)
            await pushed(server, 2, header_files=files, headers={"X-Tenant": "b"})
            header = server.headers[-1]
            assert (header["authorization"], header["x-scope"]) == ("Bearer s3cret", "ml a")
            assert header["x-tenant"] == "b"

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    assert "check the credentials" in caplog.text
    assert "s3cret" not in caplog.text
    assert "v4r" not in caplog.text


def test_a_header_file_that_is_missing_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        receiver = Receiver(
            Otlp(endpoint="http://127.0.0.1:9", header_files={"a": str(tmp_path / "none")}), {}
        )
        with pytest.raises(NotAccepted, match="none") as caught:
            await receiver.send(Request(body=b"", samples=1, newest=0.0))
        assert caught.value.passes
        await receiver.close()

    asyncio.run(main())


@pytest.mark.parametrize("text", ["novalue", "a=b%0Ac"])
def test_a_variable_that_holds_no_headers_is_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_METRICS_HEADERS") as caught:
        from_environment({"OTEL_EXPORTER_OTLP_METRICS_HEADERS": text})
    assert text not in str(caught.value)


GOOD = {"endpoint": "https://collector:4318"}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({}, None),
        (GOOD, None),
        ({**GOOD, "cert_file": "a", "key_file": "b", "ca_file": "c"}, None),
        ({"interval_s": 5.0}, "endpoint"),
        ({"endpoint": "collector:4318"}, "endpoint"),
        ({"endpoint": "http://ada:s3cret@collector"}, "endpoint"),
        ({"endpoint": "http://collector", "ca_file": "c"}, "endpoint"),
        ({"endpoint": "http://collector", "cert_file": "c", "key_file": "k"}, "endpoint"),
        ({**GOOD, "cert_file": "a"}, "cert_file"),
        ({**GOOD, "key_file": "a"}, "cert_file"),
        ({**GOOD, "headers": {"Host": "x"}}, "headers"),
        ({**GOOD, "header_files": {"a b": "x"}}, "headers"),
        ({**GOOD, "headers": {"Authorization": "s3cret"}}, "headers.Authorization"),
        ({**GOOD, "headers": {"X-Api-Key": "s3cret"}}, "headers.X-Api-Key"),
        ({**GOOD, "headers": {"X-Tenant": "a\n"}}, "headers.X-Tenant"),
        ({**GOOD, "resource_attributes": {"": "x"}}, "resource_attributes"),
    ],
)
def test_settings_that_do_not_fit_together(given: dict[str, object], key: str | None) -> None:
    problems = list(mistakes(Otlp(**given)))  # type: ignore[arg-type]  # of tests
    assert [name for name, _ in problems] == [key] * (key is not None)
    assert "s3cret" not in str(problems)


def test_the_missing_extra_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accelwatch.config.otlp.installed", lambda: False)
    (problem,) = mistakes(Otlp(endpoint="http://collector:4318"))
    assert problem == ("endpoint", "needs opentelemetry-proto: pip install 'accelwatch[otlp]'")


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://c:4318", "http://c:4318/v1/metrics"),
        ("http://c:4318/", "http://c:4318/v1/metrics"),
        ("http://c/otlp/v1/metrics", "http://c/otlp/v1/metrics"),
    ],
)
def test_an_endpoint_with_a_path_is_used_as_it_is(endpoint: str, url: str) -> None:
    assert Otlp(endpoint=endpoint).url == url
