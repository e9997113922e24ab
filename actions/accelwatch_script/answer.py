"""What a hook says: of a program by exit code and output, of a request by status and body."""

from collections.abc import Callable
from typing import Literal

import msgspec

from accelwatch.action.measuring import measurement_in_output, valid_measurement
from accelwatch.action.step import Report, ReportStatus
from accelwatch.alerting.delivery.transport.post import ReceiverResponse
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.untrusted_text import escaped
from accelwatch_script.process.command import RunResult
from accelwatch_script.references import HIDDEN

# EX_TEMPFAIL of sysexits.h.
_RETRY = 75
# timeout(1), and a program that was killed.
_TIMED_OUT = frozenset({124, 137, -9})
_AGAIN = frozenset({408, 429})
# Answers after which something may have happened all the same.
_AMBIGUOUS = frozenset({500, 502, 504})
MOST_TEXT = 500

# Hides secrets in a text.
Hide = Callable[[str], str]

Status = Literal["ok", "accepted", "retry", "failed", "refused"]


class HookDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook says in JSON."""

    status: Status = "ok"
    message: str = ""
    # The id by which an accepted operation is polled.
    external_id: str = ""
    # Seconds after which it may be polled.
    poll_after: float | None = None
    # What a test has measured; more is better.
    value: float | None = None
    unit: str = ""


class HookReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call."""

    report: Report
    # The JSON object that it said, if any.
    document: bytes = b""


def refused(text: str) -> HookReply:
    """Nothing was called."""
    return HookReply(report=Report(status=ReportStatus.REFUSED, text=shown(text)))


def not_started(text: str) -> HookReply:
    """It was not called: the permission was withdrawn before."""
    return HookReply(report=Report(status=ReportStatus.NOT_STARTED, text=shown(text)))


def shown(text: str) -> str:
    """An untrusted text, escaped and shortened."""
    return escaped(text.strip())[:MOST_TEXT]


def unsettled(text: str, *, idempotent: bool) -> Report:
    """What it means that nobody knows what a call has done."""
    status = ReportStatus.RETRY if idempotent else ReportStatus.UNKNOWN
    return Report(status=status, text=shown(text))


def _as_it_is(text: str) -> str:
    return text


def of_program(
    result: RunResult, *, timeout_s: float, idempotent: bool, hide: Hide = _as_it_is
) -> HookReply:
    """What the end of a program means."""
    if result.failure:
        return refused(result.failure)
    if result.timed_out or result.stopped:
        why = f"not done after {timeout_s:g} s" if result.timed_out else "stopped before its end"
        text = f"{why}, killed{_stderr_tail(result)}"
        return HookReply(report=unsettled(text, idempotent=idempotent))
    if result.status is None:
        text = "it cannot be ended: it hangs in the kernel"
        return HookReply(report=unsettled(text, idempotent=idempotent))
    document = _document(result.output, is_complete=result.is_complete)
    if result.status == 0:
        return _of_success(result, document, idempotent=idempotent, hide=hide)
    parsed = _parse_reply(document, hide) if document else None
    message = parsed.message if parsed is not None else ""
    how = f"exit {result.status}" if result.status > 0 else f"killed by signal {-result.status}"
    text = f"{how}: {message}" if message else f"{how}{_stderr_tail(result)}"
    again_after_s = parsed.poll_after if parsed is not None else None
    if result.status == _RETRY:
        return HookReply(report=_report(ReportStatus.RETRY, text, again_after_s), document=document)
    if result.status < 0 or result.status in _TIMED_OUT:
        return HookReply(report=unsettled(text, idempotent=idempotent), document=document)
    return HookReply(report=_report(ReportStatus.REFUSED, text), document=document)


def _of_success(result: RunResult, document: bytes, *, idempotent: bool, hide: Hide) -> HookReply:
    if document:
        return of_document(document, idempotent=idempotent, hide=hide)
    if result.output.lstrip().startswith(b"{"):
        text = "its output starts like JSON but is not valid JSON"
        return HookReply(report=unsettled(text, idempotent=idempotent))
    last = result.output.strip().rsplit(b"\n", 1)[-1].decode(errors="replace")
    report = _report(ReportStatus.DONE, last)
    measured = measurement_in_output(hide(result.output.decode(errors="replace")))
    return HookReply(report=msgspec.structs.replace(report, measured=measured))


def of_document(document: bytes, *, idempotent: bool, hide: Hide = _as_it_is) -> HookReply:
    """What a hook's JSON means."""
    parsed = _parse_reply(document, hide)
    if parsed is None:
        text = 'its answer has no status that we know: {"status": "ok"} and so on'
        return HookReply(report=unsettled(text, idempotent=idempotent), document=document)
    status = {
        "ok": ReportStatus.DONE,
        "accepted": ReportStatus.ACCEPTED,
        "retry": ReportStatus.RETRY,
        "failed": ReportStatus.REFUSED,
        "refused": ReportStatus.REFUSED,
    }[parsed.status]
    report = _report(status, parsed.message, parsed.poll_after, shown(parsed.external_id))
    if parsed.value is not None:
        measured = valid_measurement(parsed.value, parsed.unit)
        report = msgspec.structs.replace(report, measured=measured)
    return HookReply(report=report, document=document)


def of_request(
    answer: ReceiverResponse, location: str, *, idempotent: bool, hide: Hide = _as_it_is
) -> HookReply:
    """What the answer to a request means; `location` is where an accepted one is polled."""
    location = _reference(location, hide)
    body = answer.body.strip()
    document = body if body.startswith(b"{") and body.endswith(b"}") else b""
    if answer.code == 202:
        after = answer.retry_after_s
        return HookReply(
            report=_report(ReportStatus.ACCEPTED, "accepted", after, location), document=document
        )
    if answer.well:
        if document:
            return of_document(document, idempotent=idempotent, hide=hide)
        return HookReply(report=_report(ReportStatus.DONE, f"answered {answer.code}"))
    text = f"answered {answer.code}"
    parsed = _parse_reply(document, hide) if document else None
    if parsed is not None and parsed.message:
        text += f": {parsed.message}"
    if answer.code in _AMBIGUOUS and not idempotent:
        return HookReply(report=unsettled(text, idempotent=False))
    if answer.code in _AGAIN or answer.code >= 500:
        return HookReply(report=_report(ReportStatus.RETRY, text, answer.retry_after_s))
    if 300 <= answer.code < 400:
        text += "; redirects are not followed"
    return HookReply(report=_report(ReportStatus.REFUSED, text))


def _report(
    status: ReportStatus, text: str, again_after_s: float | None = None, reference: str = ""
) -> Report:
    if again_after_s is not None:
        again_after_s = min(max(again_after_s, 0.0), 3600.0)
    return Report(status=status, text=shown(text), reference=reference, again_after_s=again_after_s)


def _document(output: bytes, *, is_complete: bool) -> bytes:
    """The JSON object that all of an output is, or its last line; empty without one."""
    text = output.strip()
    for candidate in (text if is_complete else b"", text.rsplit(b"\n", 1)[-1].strip()):
        if candidate.startswith(b"{") and candidate.endswith(b"}"):
            try:
                msgspec.json.decode(candidate, type=dict[str, msgspec.Raw])
            except DECODE_ERRORS:
                continue
            return candidate
    return b""


def _parse_reply(document: bytes, hide: Hide) -> HookDocument | None:
    """The reply without secrets: as JSON they look otherwise, and are cut after this."""
    try:
        parsed = msgspec.json.decode(document, type=HookDocument)
    except DECODE_ERRORS:
        return None
    return msgspec.structs.replace(
        parsed, message=hide(parsed.message), external_id=_reference(parsed.external_id, hide)
    )


def _reference(text: str, hide: Hide) -> str:
    """Empty for a text with a hidden secret: polling by it would mean another operation."""
    return "" if HIDDEN in hide(text) else text


def _stderr_tail(result: RunResult) -> str:
    last = result.errors.strip().rsplit(b"\n", 1)[-1].decode(errors="replace")
    return f": {last}" if last else ""
