"""The meaning of an answer or a failure, in the words that people read."""

import os
import ssl
import time

from accelwatch.base.backoff import retry_after
from accelwatch.base.version import __version__
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault

USER_AGENT = f"accelwatch/{__version__}"
# What a peer that hangs up at once may have wanted, by the scheme.
SCHEME_HINTS = {
    "http": " (does it expect TLS?)",
    "https": " (does it ask for a client certificate?)",
}
# What OpenSSL says of bytes that are no TLS at all.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG", "HTTP_REQUEST")


def without_guess(text: str) -> str:
    """A failure without what the peer may have wanted: of one that has answered it is no question."""
    for guess in SCHEME_HINTS.values():
        text = text.removesuffix(guess)
    return text


def check_code(code: int, retry_header: str | None) -> None:
    """Raise TargetFault for any code but 200; beside it its header Retry-After."""
    if code == 200:
        return
    wait = retry_after(retry_header, time.time())
    if 300 <= code < 400:
        raise TargetFault(
            Reason.REDIRECT, f"answered {code}; redirects are not followed", code=code
        )
    if code in (401, 403):
        raise TargetFault(Reason.CREDENTIALS, f"answered {code}; check the credentials", code=code)
    reason = Reason.BUSY if code in (429, 503) else Reason.STATUS
    wait_text = "" if wait is None else f" and asks to wait {wait:.0f} s"
    raise TargetFault(reason, f"answered {code}{wait_text}", code=code, retry_after_s=wait)


def os_text(error: OSError) -> str:
    """What the system says of it, for people."""
    return os.strerror(error.errno) if error.errno else str(error)


def tls_text(error: ssl.SSLError) -> str:
    """What was wrong with TLS, for people."""
    # Only an error that OpenSSL raises has either.
    reason = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
    if reason in _NO_TLS:
        return f"the target does not speak TLS ({reason})"
    return f"TLS failed: {reason}"
