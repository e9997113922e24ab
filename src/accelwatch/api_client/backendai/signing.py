"""The signature of a request, as the manager checks it: of what is in its head, not of its body.

The manager computes the same from the method, the path with its query, and four headers as they came,
and refuses a Date that is more than 15 minutes from its own clock.
"""

import hashlib
import hmac
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# The newest that every release from 23.03 to 26.9 accepts.
API_VERSION = "v6.20230315"
CONTENT_TYPE = "application/json"
# How far our clock may be from the manager's.
CLOCK_WINDOW_S = 15 * 60
# Stands for the body, which is not signed by versions of the API from v4 on.
_NO_BODY = hashlib.sha256(b"").hexdigest()


def signed_headers(
    method: str, target: str, *, host: str, access_key: str, secret_key: str, at: float
) -> dict[str, str]:
    """Headers of a request. `target` is the path with its query, as sent; `at` is Unix time."""
    date = datetime.fromtimestamp(int(at), UTC)
    date_text = date.isoformat()
    lines = (
        method,
        target,
        date_text,
        f"host:{host}",
        f"content-type:{CONTENT_TYPE}",
        f"x-backendai-version:{API_VERSION}",
        _NO_BODY,
    )
    key = _digest(secret_key.encode(), date.strftime("%Y%m%d"))
    signature = _digest(_digest(key, host), "\n".join(lines)).hex()
    return {
        "Date": date_text,
        "Content-Type": CONTENT_TYPE,
        "X-BackendAI-Version": API_VERSION,
        "Authorization": f"BackendAI signMethod=HMAC-SHA256, credential={access_key}:{signature}",
    }


def clock_offset_s(date: str, at: float) -> float | None:
    """How far our clock, which says `at`, is before (+) or behind (-) the Date of an answer."""
    try:
        return at - parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None


def _digest(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
