"""How the server misbehaves, by rule: refusals of every kind, silence, dropped connections, delay."""

import re
from typing import Literal

import msgspec

# refuse: answered with `status`. not_ok: a mutation of GraphQL answers 200 with `ok: false`, undone.
# hang: never answered. drop: connection closed before the effect. drop_after: closed when the write has
# been done. slow: done and answered after `delay_s` of the manager's clock. late: connection closed, and
# done after `delay_s`, as by a proxy that has kept the request.
Effect = Literal["refuse", "not_ok", "hang", "drop", "drop_after", "slow", "late"]


class Fault(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What happens to the next requests that match."""

    # Empty: any. Path (with its query) and body are searched for with regular expressions.
    method: str = ""
    path: str = ""
    body: str = ""
    # So many requests; None: all, until the rule is cleared.
    times: int | None = 1
    # So many that match are not affected first.
    skip: int = 0
    effect: Effect = "refuse"
    status: int = 500
    # Empty: the manager's own document of a failure. Else the text of a proxy before it.
    message: str = ""
    delay_s: float = 0.0

    def matches(self, method: str, path: str, body: str) -> bool:
        """Whether a request is meant."""
        return (
            self.method in ("", method)
            and re.search(self.path, path) is not None
            and re.search(self.body, body) is not None
        )
