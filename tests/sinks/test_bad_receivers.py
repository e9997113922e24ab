"""What every sink that speaks HTTP makes of a receiver that fails."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from accelwatch.alerting.sink import Outcome, Status
from support.incidents.notices import NOTICE
from support.incidents.sinks import delivered, sink
from support.servers.ports import free_port
from support.servers.receivers import Receiver, code, receiver
from support.servers.unreadable_json import UNREADABLE

HTTP_SINKS = ("webhook", "slack", "slack-token", "teams", "alertmanager")


def outcome(
    plugin: str, *answers: Callable[[], web.StreamResponse] | str, timeout_s: float = 60.0
) -> tuple[Outcome, Receiver]:
    async def scenario() -> tuple[Outcome, Receiver]:
        async with receiver(*answers) as there:
            options = {"url": f"{there.base}/services/T0/B0/very-secret"}
            if plugin == "slack-token":
                options = {"api": there.base, "token": "xoxb-very-secret", "channel": "C1"}
            made = sink(plugin.partition("-")[0], timeout_s=timeout_s, **options)
            return (await delivered(made))[0], there

    result = asyncio.run(scenario())
    assert "very-secret" not in result[0].message
    assert "127.0.0.1" not in result[0].message
    return result


@pytest.mark.parametrize("plugin", HTTP_SINKS)
@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (code(500), Status.RETRY, "answered 500"),
        (code(503), Status.RETRY, "answered 503"),
        (code(401), Status.RETRY, "answered 401; check the credentials"),
        (code(404), Status.RETRY, "answered 404; check the URL"),
        (code(400), Status.REFUSED, "answered 400"),
        (code(413), Status.REFUSED, "answered 413"),
        (
            code(302, Location="/elsewhere"),
            Status.RETRY,
            "answered 302; redirects are not followed",
        ),
    ],
)
def test_a_code_says_whether_to_try_again(
    plugin: str, answer: Callable[[], web.StreamResponse], status: Status, text: str
) -> None:
    result, there = outcome(plugin, answer)
    assert (result.status, result.message) == (status, text)
    assert len(there.requests) == 1


@pytest.mark.parametrize("plugin", HTTP_SINKS)
def test_retry_after_is_reported(plugin: str) -> None:
    result, _ = outcome(plugin, code(429, Retry_After="37"))
    assert (result.status, result.retry_after_s) == (Status.RETRY, 37.0)


@pytest.mark.parametrize("plugin", HTTP_SINKS)
def test_one_that_hangs_is_left_alone(plugin: str) -> None:
    result, _ = outcome(plugin, "hang", timeout_s=0.3)
    assert (result.status, result.message) == (Status.RETRY, "no answer within 0.3 s")


@pytest.mark.parametrize("plugin", HTTP_SINKS)
def test_one_that_drips_has_taken_the_message_where_its_code_says_so(plugin: str) -> None:
    needs_body = plugin == "slack-token"
    result, _ = outcome(plugin, "drip", timeout_s=0.5 if needs_body else 60.0)
    assert result.status is (Status.RETRY if needs_body else Status.DELIVERED)


@pytest.mark.parametrize("plugin", HTTP_SINKS)
def test_one_that_is_not_there(plugin: str) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    options: dict[str, Any] = {"url": url}
    if plugin == "slack-token":
        options = {"api": url, "token": "t", "channel": "C1"}
    made = sink(plugin.partition("-")[0], **options)
    result = asyncio.run(_first(made))
    assert (result.status, result.message) == (
        Status.RETRY,
        "cannot be reached: Connection refused",
    )


async def _first(made: object) -> Outcome:
    return (await delivered(made, NOTICE))[0]  # type: ignore[arg-type]


def test_an_endless_answer_is_read_to_a_bound() -> None:
    result, _ = outcome("slack-token", code(200, "x" * (1 << 20)))
    assert (result.status, result.message) == (Status.RETRY, "the answer is not Slack's")


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_an_answer_that_cannot_be_read_is_tried_again(body: bytes) -> None:
    result, _ = outcome("slack-token", lambda: web.Response(body=body))
    assert (result.status, result.message) == (Status.RETRY, "the answer is not Slack's")


def test_one_that_speaks_no_http() -> None:
    async def scenario() -> Outcome:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 mail.example.org ESMTP\r\n")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        result = (await delivered(sink("webhook", url=f"http://127.0.0.1:{port}/x")))[0]
        server.close()
        return result

    assert asyncio.run(scenario()).status is Status.RETRY
