"""The generic webhook; signatures are checked by the library that receivers use."""

import asyncio
import base64
from datetime import UTC, datetime
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from accelwatch.alerting.sink import ApprovalRequest, NoticeKind, Planned
from support.incidents.notices import LONG, NOTICE, notice
from support.incidents.sinks import delivered, sink
from support.servers.receivers import Request, code, receiver

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def sent(*notices: Any, **options: Any) -> list[Request]:
    async def scenario() -> list[Request]:
        async with receiver() as there:
            made = sink("webhook", url=f"{there.base}/in", **options)
            await delivered(made, *notices)
            return there.requests

    return asyncio.run(scenario())


@pytest.mark.parametrize("one", [NOTICE, LONG])
@pytest.mark.parametrize("secret", [SECRET, SECRET.rstrip("=")])
def test_the_receivers_library_verifies_it(one: Any, secret: str) -> None:
    (request,) = sent(one, secret=secret)
    body = Webhook(SECRET).verify(request.body, request.headers)
    assert body["type"] == "incident.opened"
    assert body["schema"] == "accelwatch.webhook/2"
    assert body["data"]["key"] == "west/i42"
    assert body["data"]["evidence"] == list(one.evidence)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(request.body + b" ", request.headers)


def test_ours_is_the_librarys_own_signature() -> None:
    (request,) = sent(secret=SECRET)
    timestamp = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
    theirs = Webhook(SECRET).sign(request.headers["webhook-id"], timestamp, request.body.decode())
    assert request.headers["webhook-signature"] == theirs


def test_one_that_is_sent_again_has_the_same_id() -> None:
    again, first, other = sent(NOTICE, NOTICE, notice(sequence=2))
    assert again.headers["webhook-id"] == first.headers["webhook-id"] == "west.i42.1"
    assert other.headers["webhook-id"] == "west.i42.2"


def test_nothing_is_signed_without_a_secret() -> None:
    (request,) = sent(notice(kind=NoticeKind.CLOSED), token="t")
    assert "webhook-signature" not in request.headers
    assert request.headers["authorization"] == "Bearer t"
    assert request.json()["type"] == "incident.closed"


def test_connections_are_used_again_and_answers_are_not_read() -> None:
    async def scenario() -> None:
        async with receiver(code(204)) as there:
            await delivered(sink("webhook", url=there.base), *[NOTICE] * 20)
            assert len(there.requests) == 20

    asyncio.run(scenario())


def test_every_time_is_rfc_3339_in_utc() -> None:
    requested = (ApprovalRequest(node="n1", plan="p", steps=("reset",), at=1.0, until=2.5),)
    plans = (Planned(node="n1", steps=("reset",), at=None),)
    (request,) = sent(notice(since=60.0, time=90.25, closed=None, asks=requested, plans=plans))
    body = request.json()
    assert body["timestamp"] == body["data"]["time"] == "1970-01-01T00:01:30.250Z"
    assert body["data"]["since"] == "1970-01-01T00:01:00.000Z"
    assert body["data"]["closed"] is None
    (first,) = body["data"]["asks"]
    assert (first["at"], first["until"], first["as_of"]) == (
        "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.500Z", None,
    )  # fmt: skip
    assert first["steps"] == ["reset"]
    assert body["data"]["plans"][0]["at"] is None
