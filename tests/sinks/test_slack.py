"""Slack: a webhook, a bot's message that is edited, and the limits of Block Kit."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.alerting.sink import NoticeKind, Outcome, Status
from support.incidents.notices import LONG, NOTICE, REQUEST, notice
from support.incidents.sinks import delivered, sink
from support.servers.receivers import Receiver, code, receiver

OK = '{"ok": true, "channel": "C9", "ts": "17.5"}'


def by_token(
    *notices: Any, answers: Any = (), reference: str = ""
) -> tuple[list[Outcome], Receiver]:
    async def scenario() -> tuple[list[Outcome], Receiver]:
        async with receiver(*(answers or [code(200, OK)])) as there:
            made = sink("slack", api=there.base, token="xoxb-t", channel="C1")
            return await delivered(made, *notices, reference=reference), there

    return asyncio.run(scenario())


def texts(value: Any) -> list[str]:
    """Every text of a message's blocks."""
    return [block["text"]["text"] for block in value["attachments"][0]["blocks"]]


def test_an_incident_has_one_message_which_is_edited() -> None:
    closed = notice(sequence=2, kind=NoticeKind.CLOSED, closed=NOTICE.time + 60)
    outcomes, there = by_token(NOTICE, closed)
    assert [one.reference for one in outcomes] == ["C9:17.5", "C9:17.5"]
    first, second = there.requests
    assert (first.path, second.path) == ("/chat.postMessage", "/chat.update")
    assert first.json()["channel"] == "C1"
    assert (second.json()["channel"], second.json()["ts"]) == ("C9", "17.5")
    assert first.headers["authorization"] == "Bearer xoxb-t"


def test_a_reminder_is_an_answer_that_rings_and_the_message_stays_known() -> None:
    outcomes, there = by_token(notice(kind=NoticeKind.REMINDER), reference="C9:12.0")
    (request,) = there.requests
    assert (request.path, request.json()["thread_ts"]) == ("/chat.postMessage", "12.0")
    assert request.json()["reply_broadcast"] is True
    assert outcomes[0].reference == "C9:12.0"


def test_a_message_that_somebody_deleted_is_posted_anew() -> None:
    gone = code(200, '{"ok": false, "error": "message_not_found"}')
    outcomes, there = by_token(NOTICE, answers=[gone, code(200, OK)], reference="C9:12.0")
    assert [request.path for request in there.requests] == ["/chat.update", "/chat.postMessage"]
    assert (outcomes[0].status, outcomes[0].reference) == (Status.DELIVERED, "C9:17.5")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("invalid_blocks", Status.REFUSED),
        ("ratelimited", Status.RETRY),
        ("invalid_auth", Status.RETRY),
    ],
)
def test_an_error_in_an_answer_of_200(error: str, status: Status) -> None:
    answer = code(200, f'{{"ok": false, "error": "{error}"}}')
    outcomes, _ = by_token(NOTICE, answers=[answer])
    assert (outcomes[0].status, outcomes[0].message) == (status, f"answered {error}")


def test_an_error_cannot_say_what_it_likes() -> None:
    answer = code(200, '{"ok": false, "error": "x\\u001b[2J https://hooks/secret"}')
    outcomes, _ = by_token(NOTICE, answers=[answer])
    assert outcomes[0].message == "answered x2Jhttpshookssecret"


def test_a_webhook_cannot_edit() -> None:
    assert not sink("slack", url="https://hooks.slack.com/services/x").edits
    assert sink("slack", token="t", channel="C1").edits


@pytest.mark.parametrize("one", [NOTICE, LONG])
def test_it_stays_inside_the_limits(one: Any) -> None:
    _, there = by_token(one)
    message: Any = there.requests[0].json()
    assert len(message["attachments"][0]["blocks"]) <= 50
    assert all(0 < len(text.encode()) <= 3000 for text in texts(message))
    assert len(message["text"].encode()) <= 3000


def test_everything_of_a_usual_notice_is_there() -> None:
    _, there = by_token(NOTICE)
    message: Any = there.requests[0].json()
    for part in ("GPU has fallen", "n12 nvidia3", "since 2026", "Xid 79", "job 4711", "reboot"):
        assert part in "\n".join(texts(message))
    assert "<https://hub/i42|Incident> · <https://example.org/xid79|Runbook>" in texts(message)


def test_names_mention_nobody_and_link_nowhere() -> None:
    _, there = by_token(
        notice(where="<!channel> & <https://evil|here>", link="javascript:x", runbook="none")
    )
    message: Any = there.requests[0].json()
    assert all("<" not in text for text in (message["text"], *texts(message)))
    blocks = message["attachments"][0]["blocks"]
    assert {block["text"]["type"] for block in blocks} == {"plain_text"}


def test_who_has_to_decide_gets_an_answer_that_rings_and_the_message_has_the_plan() -> None:
    outcomes, there = by_token(
        notice(kind=NoticeKind.APPROVAL, asks=(REQUEST,)), reference="C9:12.0"
    )
    edited, answer = there.requests
    assert (edited.path, edited.json()["ts"]) == ("/chat.update", "12.0")
    assert any("waits for a yes" in text for text in texts(edited.json()))
    assert (answer.path, answer.json()["thread_ts"]) == ("/chat.postMessage", "12.0")
    assert answer.json()["reply_broadcast"] is True
    link = f"<{REQUEST.link}|Decide on n12>"
    assert link in answer.json()["blocks"][1]["text"]["text"]
    assert link in texts(edited.json())[-1]
    assert outcomes[0].reference == "C9:17.5", "the message, not the answer"


def test_an_answer_that_fails_is_sent_again() -> None:
    answers = [code(200, OK), code(500)]
    request = notice(kind=NoticeKind.APPROVAL, asks=(REQUEST,))
    outcomes, _ = by_token(request, answers=answers, reference="C9:12.0")
    assert outcomes[0].status is Status.RETRY


def test_a_node_cannot_write_a_link() -> None:
    nasty = msgspec.structs.replace(REQUEST, node="<!channel>|x>")
    _, there = by_token(notice(asks=(nasty,)))
    last = texts(there.requests[0].json())[-1]
    assert f"<{REQUEST.link}|Decide on &lt;!channel&gt; x&gt;>" in last


def test_a_call_for_a_person_rings_and_says_why() -> None:
    called = notice(kind=NoticeKind.CALLED, done=("drained", "no spare replaces <n12>"))
    outcomes, there = by_token(called, answers=[code(200, OK), code(200, OK)], reference="C9:12.0")
    edited, answer = there.requests
    assert outcomes[0].status is Status.DELIVERED
    assert answer.json()["thread_ts"] == "12.0"
    assert "needs a person" in answer.json()["text"]
    assert "no spare replaces &lt;n12&gt;" in answer.json()["blocks"][1]["text"]["text"]
    assert "needs a person" in edited.json()["text"]
