"""The rules by which a server misbehaves, in the order in which they were added."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar


class Rule(Protocol):
    """What happens to the next requests that match."""

    # So many requests; None: all, until the rule is cleared.
    times: int | None
    # So many that match are not affected first.
    skip: int

    def matches(self, method: str, path: str, detail: str, /) -> bool:
        """Whether a request is meant; `detail` is its query or its body."""
        ...


RuleT = TypeVar("RuleT", bound=Rule)


class FaultRules(Generic[RuleT]):
    """The rules of a server; the first that matches a request applies."""

    def __init__(self) -> None:
        self._rules: list[RuleT] = []

    def add(self, *rules: RuleT) -> None:
        """After those that are there."""
        self._rules.extend(rules)

    def clear(self) -> None:
        """The server behaves again."""
        self._rules.clear()

    @property
    def rules(self) -> Sequence[RuleT]:
        """Those that still apply."""
        return tuple(self._rules)

    def next(self, method: str, path: str, detail: str) -> RuleT | None:
        """What happens to a request; it is counted."""
        for rule in self._rules:
            if not rule.matches(method, path, detail):
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
