"""How the server misbehaves, by rule: refusals of every kind, silence, dropped connections, delay."""

import re
from collections.abc import Sequence
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
    # So many that match are left alone first.
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


class Faults:
    """The rules of a server; the first that matches a request applies."""

    def __init__(self) -> None:
        self._rules: list[Fault] = []

    def add(self, *rules: Fault) -> None:
        """After those that are there."""
        self._rules.extend(rules)

    def clear(self) -> None:
        """The server behaves again."""
        self._rules.clear()

    @property
    def rules(self) -> Sequence[Fault]:
        """Those that still apply."""
        return tuple(self._rules)

    def next(self, method: str, path: str, body: str) -> Fault | None:
        """What happens to a request; it is counted."""
        for rule in self._rules:
            if not rule.matches(method, path, body):
                continue
            if rule.skip:
                rule.skip -= 1
                continue
            if rule.times is not None:
                rule.times -= 1
                if rule.times <= 0:
                    self._rules.remove(rule)
            return rule
        return None
