"""The meaning of a hub's answers other than 200, for the user."""

import time
from collections.abc import Mapping

from accelwatch.base.backoff import retry_after
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import BodyPrefix

# Bytes of a refusal that are shown.
_SHOWN_BYTES = 2000


def refusal_body(headers: Mapping[str, str]) -> BodyPrefix | None:
    """A reader for the body of a refusal; None for a refusal without a text."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "text/plain" and "content-encoding" not in headers:
        return BodyPrefix(_SHOWN_BYTES)
    return None


def refusal(code: int, headers: Mapping[str, str], body: bytes) -> TargetFault:
    """The fault of an answer; `body` is the beginning of its body, where that is plain text."""
    message = body.decode("utf-8", "replace").strip()
    if 300 <= code < 400:
        text = f"answered {code}; redirects are not followed"
        return TargetFault(Reason.REDIRECT, text, code=code)
    if code in (401, 403):
        text = f"answered {code}: {message or 'check the credentials'}"
        return TargetFault(Reason.CREDENTIALS, text, code=code)
    wait = retry_after(headers.get("retry-after"), time.time())
    reason = Reason.BUSY if code in (429, 503) else Reason.STATUS
    return TargetFault(reason, message or f"answered {code}", code=code, retry_after_s=wait)
