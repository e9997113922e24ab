"""Apprise against a receiver of JSON; what it does with 170 services is its own affair."""

import asyncio
from typing import Any

import pytest

from accelwatch.alerting.sink import NoticeKind, Outcome, Status
from support.incidents.notices import LONG, NOTICE, notice
from support.incidents.sinks import delivered, sink
from support.servers.receivers import Receiver, code, receiver

# Of the standard library's modules that apprise still imports.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def sent(
    *notices: Any, answers: Any = (), timeout_s: float = 60.0
) -> tuple[list[Outcome], Receiver]:
    async def scenario() -> tuple[list[Outcome], Receiver]:
        async with receiver(*answers) as there:
            # Apprise's own limits of 4 s must not end a message before ours does.
            url = there.base.replace("http://", "json://") + "?rto=60&cto=60"
            made = sink("apprise", timeout_s=timeout_s, url=[url])
            return await delivered(made, *notices), there

    pytest.importorskip("apprise")
    return asyncio.run(scenario())


@pytest.mark.parametrize("one", [NOTICE, LONG])
def test_a_message(one: Any) -> None:
    outcomes, there = sent(one)
    assert outcomes[0].status is Status.DELIVERED
    body: Any = there.requests[0].json()
    assert body["title"].startswith("CRITICAL ")
    assert body["type"] == "failure"
    assert len(body["title"].encode()) <= 250
    assert len(body["message"].encode()) <= 4000


def test_its_end_is_good_news() -> None:
    _, there = sent(notice(kind=NoticeKind.CLOSED, closed=NOTICE.time))
    assert there.requests[0].json()["type"] == "success"


def test_redirects_are_not_followed() -> None:
    outcomes, there = sent(answers=[code(302, Location="/elsewhere"), code(200)])
    assert (outcomes[0].status, outcomes[0].message) == (
        Status.RETRY,
        "apprise could not send it",
    )
    assert len(there.requests) == 1


def test_one_that_hangs_is_left_behind() -> None:
    outcomes, _ = sent(NOTICE, NOTICE, answers=["hang"], timeout_s=0.2)
    assert [one.message for one in outcomes] == [
        "no answer within 0.2 s",
        "the message before still hangs",
    ]
