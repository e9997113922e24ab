"""Teams: an Adaptive Card of at most 28 KB in UTF-8."""

import asyncio
from typing import Any

import pytest

from accelwatch.alerting.sink import NoticeKind
from accelwatch_teams import MOST_BYTES
from support.incidents.notices import LONG, NOTICE, REQUEST, notice
from support.incidents.sinks import delivered, sink
from support.servers.receivers import Request, code, receiver


def sent(one: Any) -> Request:
    async def scenario() -> Request:
        async with receiver(code(202)) as there:
            await delivered(sink("teams", url=f"{there.base}/workflows/x"), one)
            return there.requests[0]

    return asyncio.run(scenario())


def content(request: Request) -> Any:
    message: Any = request.json()
    assert message["type"] == "message"
    (attachment,) = message["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    return attachment["content"]


@pytest.mark.parametrize("one", [NOTICE, LONG])
def test_it_stays_inside_the_limit_in_bytes(one: Any) -> None:
    request = sent(one)
    assert len(request.body) <= MOST_BYTES
    assert content(request)["body"][0]["type"] == "TextBlock"


def test_lines_go_from_the_end_until_it_fits() -> None:
    crowded = notice(evidence=tuple(f"{at} {'가' * 480}" for at in range(40)))
    blocks = [block["text"] for block in content(sent(crowded))["body"]]
    assert blocks[1].startswith("since")
    assert 10 < len(blocks) < 30


def test_a_card() -> None:
    card = content(sent(NOTICE))
    assert card["body"][0]["color"] == "Attention"
    assert card["actions"] == [
        {"type": "Action.OpenUrl", "title": "Runbook", "url": "https://example.org/xid79"},
        {"type": "Action.OpenUrl", "title": "Incident", "url": "https://hub/i42"},
    ]
    over = content(sent(notice(kind=NoticeKind.CLOSED, closed=NOTICE.time, runbook="", link="")))
    assert over["body"][0]["color"] == "Good"
    assert "actions" not in over


def test_names_are_no_markdown() -> None:
    card = content(sent(notice(where="[here](https://evil) **n1** <at>all</at>")))
    assert card["body"][0]["text"].endswith(
        r"\[here\]\(https://evil\) \*\*n1\*\* &lt;at\>all&lt;/at\>"
    )


def test_a_card_has_a_button_to_decide() -> None:
    card = content(sent(notice(kind=NoticeKind.APPROVAL, asks=(REQUEST,))))
    assert card["actions"][0] == {
        "type": "Action.OpenUrl",
        "title": "Decide on n12",
        "url": REQUEST.link,
    }
