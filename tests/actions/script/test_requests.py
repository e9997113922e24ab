"""Hooks that are URLs: signed as receivers' libraries check it, polled, never led elsewhere."""

import asyncio
import base64
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from accelwatch.action.step import Refusal, Report, ReportStatus, Step, Wait
from accelwatch.base.clock import Clock, ManualClock, SystemClock
from support.actions.hooks import intent, operation, printing, script
from support.servers.receivers import Receiver, code, receiver

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OPEN = {"name": "n3", "standing": "open"}


async def performed(
    there: Receiver, tmp_path: Any, clock: Clock | None = None, **hook: Any
) -> tuple[Any, Report]:
    """The action after one step, and what it was told."""
    made = script(
        clock or SystemClock(),
        {"SECRET": SECRET, "TOKEN": "t0ps3cret"},
        observe={"argv": printing(tmp_path, node=OPEN)},
        hooks={"quarantine": {"url": f"{there.base}/in", **hook}},
    )
    step = made.propose(intent(), await made.observe(intent()))
    assert isinstance(step, Step)
    return made, await made.perform(step, operation())


def outcome(tmp_path: Any, *answers: Any, **hook: Any) -> tuple[Report, Receiver]:
    async def scenario() -> tuple[Report, Receiver]:
        async with receiver(*answers) as there:
            made, report = await performed(there, tmp_path, **hook)
            await made.close()
            return report, there

    return asyncio.run(scenario())


def test_the_receivers_library_verifies_it(tmp_path: Any) -> None:
    report, there = outcome(tmp_path, secret="env:SECRET", token="env:TOKEN")
    assert report.status is ReportStatus.DONE
    (request,) = there.requests
    body = Webhook(SECRET).verify(request.body, request.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(request.body + b" ", request.headers)
    assert request.headers["idempotency-key"] == request.headers["webhook-id"]
    assert request.headers["webhook-id"] == body["operation_id"]
    assert request.headers["authorization"] == "Bearer t0ps3cret"
    assert (request.method, request.path) == ("POST", "/in")
    assert (body["version"], body["hook"], body["attempt_id"]) == (1, "quarantine", "op-1")
    assert (body["attempt"], body["fence"], body["dry_run"]) == (1, 3, False)
    assert body["entity"] == {"node": "n3", "device": "GPU-aa", "boot_id": "boot-1"}
    assert body["incident"]["id"] == "i7"


def test_redirects_are_not_followed(tmp_path: Any) -> None:
    report, there = outcome(tmp_path, code(307, Location="/elsewhere"))
    assert report.status is ReportStatus.REFUSED
    assert len(there.requests) == 1


def test_what_asks_for_a_pause_gets_it(tmp_path: Any) -> None:
    report, _ = outcome(tmp_path, code(503, Retry_After="17"))
    assert (report.status, report.again_after_s) == (ReportStatus.RETRY, 17.0)


@pytest.mark.parametrize(
    ("idempotent", "meaning"), [(False, ReportStatus.UNKNOWN), (True, ReportStatus.RETRY)]
)
def test_no_answer_in_time_is_unknown(
    tmp_path: Any, idempotent: bool, meaning: ReportStatus
) -> None:
    report, _ = outcome(tmp_path, "hang", timeout="200ms", idempotent=idempotent)
    assert report.status is meaning
    report, _ = outcome(tmp_path, "drip", timeout="200ms", idempotent=idempotent)
    assert report.status is meaning


def test_what_never_arrived_may_be_tried_again(tmp_path: Any) -> None:
    async def scenario() -> Report:
        gone = Receiver()
        gone.base = "http://127.0.0.1:9"
        made, report = await performed(gone, tmp_path)
        await made.close()
        return report

    assert asyncio.run(scenario()).status is ReportStatus.RETRY


def test_an_endless_answer_is_cut(tmp_path: Any) -> None:
    report, _ = outcome(tmp_path, lambda: web.Response(body=b"x" * (8 << 20)))
    assert report.status is ReportStatus.DONE


def test_a_secret_in_an_answer_is_hidden(tmp_path: Any) -> None:
    report, _ = outcome(tmp_path, code(400, '{"message": "bad t0ps3cret"}'), token="env:TOKEN")
    assert report.text == "answered 400: bad <hidden>"


def test_a_location_that_has_a_secret_in_it_is_not_kept(tmp_path: Any) -> None:
    report, _ = outcome(tmp_path, code(202, Location="/jobs/1?key=t0ps3cret"), token="env:TOKEN")
    assert (report.status, report.reference) == (ReportStatus.ACCEPTED, "")


def test_what_was_accepted_is_polled_at_its_location(tmp_path: Any) -> None:
    async def scenario() -> None:
        answers = (
            code(202, Location="/jobs/1", Retry_After="0"),
            code(202, Retry_After="0"),
            code(500),
            code(200, '{"status": "failed", "message": "no such rack"}'),
        )
        async with receiver(*answers) as there:
            clock = ManualClock()
            made, report = await performed(there, tmp_path, clock, secret="env:SECRET")
            assert report.status is ReportStatus.ACCEPTED
            assert isinstance(made.propose(intent(), await made.observe(intent())), Wait)
            assert len(there.requests) == 1
            for count in (2, 3, 4):
                clock.advance(10.0)
                while len(there.requests) < count:
                    await made.observe(intent())
            while isinstance(
                proposal := made.propose(intent(), await made.observe(intent())), Wait
            ):
                await asyncio.sleep(0)
            assert isinstance(proposal, Refusal)
            assert proposal.text == "the hook refused: no such rack"
            assert [(one.method, one.path) for one in there.requests] == [
                ("POST", "/in"),
                *[("GET", "/jobs/1")] * 3,
            ]
            assert "idempotency-key" not in there.requests[1].headers
            await made.close()

    asyncio.run(scenario())


def test_credentials_go_to_no_other_address(tmp_path: Any) -> None:
    report, _ = outcome(tmp_path, code(202, Location="http://127.0.0.2:1/jobs/1"))
    assert (report.status, report.reference) == (ReportStatus.ACCEPTED, "")
