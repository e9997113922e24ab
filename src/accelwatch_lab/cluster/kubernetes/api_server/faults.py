"""How the server misbehaves, by rule: refusals of every kind, silence, dropped connections, webhooks."""

import re
from typing import Any, Literal

import msgspec

from accelwatch_lab.cluster.kubernetes.api_server.status import RequestError

# What a status is called where a rule does not say.
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

Effect = Literal["refuse", "hang", "drop", "drop_after", "rewrite"]


class Fault(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What happens to the next requests that match."""

    # Empty: any. Path and query are searched for with regular expressions; a query is `a=b&c=d`.
    method: str = ""
    path: str = ""
    query: str = ""
    # So many requests; None: all, until the rule is cleared.
    times: int | None = 1
    # So many that match are not affected first.
    skip: int = 0
    # refuse: answered with `status`. hang: never answered. drop: connection closed before the
    # effect. drop_after: closed when the write has been stored. rewrite: `merge` is applied to
    # what is written, as a mutating webhook does.
    effect: Effect = "refuse"
    status: int = 500
    reason: str = ""
    message: str = "the lab wants it so"
    # Of `details.causes`: a 429 with DisruptionBudget is a budget's, one without flow control's.
    causes: tuple[str, ...] = ()
    retry_after_s: int = 0
    merge: dict[str, Any] = {}

    def error(self) -> RequestError:
        """What a refusal is answered with."""
        causes = [{"reason": cause, "message": self.message} for cause in self.causes]
        reason = self.reason or _REASONS.get(self.status, "Unknown")
        return RequestError(
            self.status, reason, self.message, causes=causes, retry_after_s=self.retry_after_s
        )

    def matches(self, method: str, path: str, query: str) -> bool:
        """Whether a request is one of them."""
        return (
            self.method in ("", method)
            and re.search(self.path, path) is not None
            and re.search(self.query, query) is not None
        )


def denied(webhook: str, message: str, **pattern: Any) -> Fault:
    """A validating webhook says no, with the status that controller-runtime's webhooks use."""
    text = f'admission webhook "{webhook}" denied the request: {message}'
    return Fault(
        effect="refuse", status=403, reason="Forbidden", message=text, times=None, **pattern
    )
