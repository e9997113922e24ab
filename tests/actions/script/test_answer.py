"""What hooks say, by exit code and output, or by status and body."""

from typing import Any

import pytest

from accelwatch.action.step import ReportStatus
from accelwatch.alerting.delivery.transport.post import ReceiverResponse
from accelwatch_script.answer import HookReply, of_program, of_request
from accelwatch_script.process.command import RunResult

DONE, ACCEPTED, RETRY = ReportStatus.DONE, ReportStatus.ACCEPTED, ReportStatus.RETRY
REFUSED, UNKNOWN = ReportStatus.REFUSED, ReportStatus.UNKNOWN


def program(
    status: int | None = 0,
    output: str = "",
    errors: str = "",
    idempotent: bool = False,
    **how: Any,
) -> HookReply:
    ended = RunResult(output=output.encode(), errors=errors.encode(), status=status, **how)
    return of_program(ended, timeout_s=60.0, idempotent=idempotent)


@pytest.mark.parametrize(
    ("output", "status", "text"),
    [
        ("", DONE, ""),
        ("all went well\n", DONE, "all went well"),
        ('{"status": "ok", "message": "drained"}', DONE, "drained"),
        ('log line\n{"status": "failed", "message": "no such node"}\n', REFUSED, "no such node"),
        ('{\n "status": "retry",\n "message": "busy"\n}', RETRY, "busy"),
        ('{"status": "refused"}', REFUSED, ""),
        ('{"status": "accepted", "external_id": "t-9", "poll_after": 30}', ACCEPTED, ""),
        ('{"status": "fine"}', UNKNOWN, "no status that we know"),
        ('{"status": "ok"', UNKNOWN, "starts like JSON"),
        ("\x1b[31mred\x1b[0m", DONE, r"\x1b[31mred\x1b[0m"),
    ],
)
def test_one_that_ends_well(output: str, status: ReportStatus, text: str) -> None:
    report = program(0, output).report
    assert report.status is status
    assert text in report.text


def test_what_was_accepted_has_its_number_and_its_pause() -> None:
    report = program(0, '{"status": "accepted", "external_id": "t-9", "poll_after": 30}').report
    assert (report.reference, report.again_after_s) == ("t-9", 30.0)
    assert program(0, '{"status": "accepted", "poll_after": 1e9}').report.again_after_s == 3600.0


@pytest.mark.parametrize(
    ("status", "idempotent", "meaning"),
    [
        (75, False, RETRY),
        (1, False, REFUSED),
        (1, True, REFUSED),
        (127, False, REFUSED),
        (124, False, UNKNOWN),
        (124, True, RETRY),
        (137, False, UNKNOWN),
        (137, True, RETRY),
        (-9, False, UNKNOWN),
        (-11, False, UNKNOWN),
        (-11, True, RETRY),
    ],
)
def test_exit_codes(status: int, idempotent: bool, meaning: ReportStatus) -> None:
    assert program(status, idempotent=idempotent).report.status is meaning


def test_an_exit_code_counts_more_than_the_word() -> None:
    report = program(1, '{"status": "ok", "message": "half done"}').report
    assert (report.status, report.text) == (REFUSED, "exit 1: half done")


def test_the_last_line_of_errors_says_why() -> None:
    assert program(2, errors="one\nno route to host\n").report.text == "exit 2: no route to host"


@pytest.mark.parametrize("how", ["timed_out", "stopped"])
@pytest.mark.parametrize(("idempotent", "meaning"), [(False, UNKNOWN), (True, RETRY)])
def test_one_that_was_ended(how: str, idempotent: bool, meaning: ReportStatus) -> None:
    report = program(None, '{"status": "ok"}', "busy", idempotent, **{how: True}).report
    assert report.status is meaning
    assert report.text.endswith("killed: busy")


def test_one_that_cannot_be_ended() -> None:
    assert program(None).report.status is UNKNOWN


def test_a_lost_start_makes_no_document_of_the_rest() -> None:
    ended = RunResult(output=b'{"status": "failed"}', status=0, is_complete=False)
    # The only line that is left whole is the last one.
    assert of_program(ended, timeout_s=1.0, idempotent=False).report.status is REFUSED


def request(
    code: int, body: bytes = b"", idempotent: bool = False, after: float | None = None
) -> HookReply:
    answer = ReceiverResponse(code=code, body=body, retry_after_s=after)
    return of_request(answer, "https://h/jobs/1", idempotent=idempotent)


@pytest.mark.parametrize(
    ("code", "idempotent", "meaning"),
    [
        (200, False, DONE),
        (204, False, DONE),
        (202, False, ACCEPTED),
        (301, False, REFUSED),
        (400, False, REFUSED),
        (404, True, REFUSED),
        (408, False, RETRY),
        (429, False, RETRY),
        (503, False, RETRY),
        (500, True, RETRY),
        (500, False, UNKNOWN),
        (502, False, UNKNOWN),
        (504, False, UNKNOWN),
        (504, True, RETRY),
    ],
)
def test_codes_of_requests(code: int, idempotent: bool, meaning: ReportStatus) -> None:
    assert request(code, idempotent=idempotent).report.status is meaning


def test_pauses_and_locations_of_requests() -> None:
    assert request(429, after=7.0).report.again_after_s == 7.0
    report = request(202, after=5.0).report
    assert (report.reference, report.again_after_s) == ("https://h/jobs/1", 5.0)


def test_a_body_says_more_than_its_code() -> None:
    assert request(200, b' {"status": "failed", "message": "no"} ').report.text == "no"
    assert request(200, b' {"status": "failed"}').report.status is REFUSED
    assert request(200, b"<html>").report.status is DONE
    assert request(409, b'{"message": "held by x"}').report.text == "answered 409: held by x"


def test_redirects_are_named() -> None:
    assert "redirects are not followed" in request(302).report.text


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ('{"status": "ok", "value": 7.5, "unit": "bytes_per_second"}', 7.5),
        ('{"status": "ok"}', None),
        ('{"status": "ok", "value": -1}', None),
        ("# Avg bus bandwidth    : 2.5 \n#\n", 2.5e9),
        ("fine", None),
    ],
)
def test_a_test_says_what_it_has_measured(output: str, value: float | None) -> None:
    report = program(output=output).report
    assert report.status is DONE
    assert (None if report.measured is None else report.measured.value) == value
