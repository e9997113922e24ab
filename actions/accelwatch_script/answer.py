"""What a hook says: of a program by exit code and output, of a request by status and body."""

from collections.abc import Callable
from typing import Literal

import msgspec

from accelwatch.action.step import Told, ToldStatus
from accelwatch.alerting.delivery.post import Answer
from accelwatch.base.untrusted_text import escaped
from accelwatch_script.process import Ended
from accelwatch_script.references import HIDDEN

_RETRY = 75
"""EX_TEMPFAIL of sysexits.h."""
_TIMED_OUT = frozenset({124, 137, -9})
"""timeout(1), and a program that was killed."""
_AGAIN = frozenset({408, 429})
_AMBIGUOUS = frozenset({500, 502, 504})
"""Answers after which something may have happened all the same."""
MOST_TEXT = 500

Hide = Callable[[str], str]
"""Hides secrets in a text."""

Status = Literal["ok", "accepted", "retry", "failed", "refused"]


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook says in JSON."""

    status: Status = "ok"
    message: str = ""
    external_id: str = ""
    """By what a hook that has accepted something is asked for it."""
    poll_after: float | None = None
    """Seconds after which it may be asked."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call."""

    told: Told
    document: bytes = b""
    """The JSON object that it said, if any."""


def refused(text: str) -> Said:
    """Nothing was called."""
    return Said(told=Told(status=ToldStatus.REFUSED, text=shown(text)))


def not_begun(text: str) -> Said:
    """It was not called: the permission was withdrawn before."""
    return Said(told=Told(status=ToldStatus.NOT_BEGUN, text=shown(text)))


def shown(text: str) -> str:
    """Somebody else's text, harmless and short."""
    return escaped(text.strip())[:MOST_TEXT]


def unsettled(text: str, *, idempotent: bool) -> Told:
    """What it means that nobody knows what a call has done."""
    status = ToldStatus.RETRY if idempotent else ToldStatus.UNKNOWN
    return Told(status=status, text=shown(text))


def _as_it_is(text: str) -> str:
    return text


def of_program(ended: Ended, *, timeout_s: float, idempotent: bool, hide: Hide = _as_it_is) -> Said:
    """What the end of a program means."""
    if ended.failure:
        return refused(ended.failure)
    if ended.timed_out or ended.stopped:
        why = f"not done after {timeout_s:g} s" if ended.timed_out else "stopped before its end"
        text = f"{why}, killed{_last_words(ended)}"
        return Said(told=unsettled(text, idempotent=idempotent))
    if ended.status is None:
        text = "it cannot be ended: it hangs in the kernel"
        return Said(told=unsettled(text, idempotent=idempotent))
    document = _document(ended.output, whole=ended.whole)
    if ended.status == 0:
        return _ended_well(ended, document, idempotent=idempotent, hide=hide)
    word = _word(document, hide) if document else None
    said = word.message if word is not None else ""
    how = f"exit {ended.status}" if ended.status > 0 else f"killed by signal {-ended.status}"
    text = f"{how}: {said}" if said else f"{how}{_last_words(ended)}"
    again_after_s = word.poll_after if word is not None else None
    if ended.status == _RETRY:
        return Said(told=_told(ToldStatus.RETRY, text, again_after_s), document=document)
    if ended.status < 0 or ended.status in _TIMED_OUT:
        return Said(told=unsettled(text, idempotent=idempotent), document=document)
    return Said(told=_told(ToldStatus.REFUSED, text), document=document)


def _ended_well(ended: Ended, document: bytes, *, idempotent: bool, hide: Hide) -> Said:
    if document:
        return of_document(document, idempotent=idempotent, hide=hide)
    if ended.output.lstrip().startswith(b"{"):
        text = "what it printed begins as JSON and is none"
        return Said(told=unsettled(text, idempotent=idempotent))
    last = ended.output.strip().rsplit(b"\n", 1)[-1].decode(errors="replace")
    return Said(told=_told(ToldStatus.DONE, last))


def of_document(document: bytes, *, idempotent: bool, hide: Hide = _as_it_is) -> Said:
    """What a hook's JSON means."""
    word = _word(document, hide)
    if word is None:
        text = 'its answer has no status that we know: {"status": "ok"} and so on'
        return Said(told=unsettled(text, idempotent=idempotent), document=document)
    status = {
        "ok": ToldStatus.DONE,
        "accepted": ToldStatus.ACCEPTED,
        "retry": ToldStatus.RETRY,
        "failed": ToldStatus.REFUSED,
        "refused": ToldStatus.REFUSED,
    }[word.status]
    told = _told(status, word.message, word.poll_after, shown(word.external_id))
    return Said(told=told, document=document)


def of_request(answer: Answer, location: str, *, idempotent: bool, hide: Hide = _as_it_is) -> Said:
    """What the answer to a request means; `location` is where one that was accepted is asked for."""
    location = _reference(location, hide)
    body = answer.body.strip()
    document = body if body.startswith(b"{") and body.endswith(b"}") else b""
    if answer.code == 202:
        after = answer.retry_after_s
        return Said(told=_told(ToldStatus.ACCEPTED, "accepted", after, location), document=document)
    if answer.well:
        if document:
            return of_document(document, idempotent=idempotent, hide=hide)
        return Said(told=_told(ToldStatus.DONE, f"answered {answer.code}"))
    text = f"answered {answer.code}"
    word = _word(document, hide) if document else None
    if word is not None and word.message:
        text += f": {word.message}"
    if answer.code in _AMBIGUOUS and not idempotent:
        return Said(told=unsettled(text, idempotent=False))
    if answer.code in _AGAIN or answer.code >= 500:
        return Said(told=_told(ToldStatus.RETRY, text, answer.retry_after_s))
    if 300 <= answer.code < 400:
        text += "; redirects are not followed"
    return Said(told=_told(ToldStatus.REFUSED, text))


def _told(
    status: ToldStatus, text: str, again_after_s: float | None = None, reference: str = ""
) -> Told:
    if again_after_s is not None:
        again_after_s = min(max(again_after_s, 0.0), 3600.0)
    return Told(status=status, text=shown(text), reference=reference, again_after_s=again_after_s)


def _document(output: bytes, *, whole: bool) -> bytes:
    """The JSON object that all of an output is, or its last line; empty without one."""
    text = output.strip()
    for part in (text if whole else b"", text.rsplit(b"\n", 1)[-1].strip()):
        if part.startswith(b"{") and part.endswith(b"}"):
            try:
                msgspec.json.decode(part, type=dict[str, msgspec.Raw])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            return part
    return b""


def _word(document: bytes, hide: Hide) -> Word | None:
    """What is said, without secrets: as JSON they look otherwise, and are cut after this."""
    try:
        word = msgspec.json.decode(document, type=Word)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return msgspec.structs.replace(
        word, message=hide(word.message), external_id=_reference(word.external_id, hide)
    )


def _reference(text: str, hide: Hide) -> str:
    """None where it has a secret: another one would be asked for, and nobody know it."""
    return "" if HIDDEN in hide(text) else text


def _last_words(ended: Ended) -> str:
    last = ended.errors.strip().rsplit(b"\n", 1)[-1].decode(errors="replace")
    return f": {last}" if last else ""
