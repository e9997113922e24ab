"""What is muted for a while: silences of incidents, and maintenance of nodes.

Both mute messages; an incident is still opened, shown and closed. Matchers are Alertmanager's, all of
which must hold: `name=value`, `name!=value`, `name=~pattern`, `name!~pattern`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand
from accelwatch.expr.vocabulary.kleene import Raw
from accelwatch.expr.vocabulary.pattern import compile_pattern

LONGEST_S = 90 * 86_400.0
MOST_MATCHERS = 16
_MATCHER = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*(=~|!~|!=|=)\s*(.*?)\s*")


class Operator(StrEnum):
    """How a matcher compares."""

    IS = "="
    IS_NOT = "!="
    MATCHES = "=~"
    MATCHES_NOT = "!~"


class Matcher(msgspec.Struct, frozen=True):
    """One condition on one label; a label that is not there is empty."""

    name: str
    operator: Operator
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether it holds."""
        actual = labels.get(self.name, "")
        match self.operator:
            case Operator.IS:
                return actual == self.value
            case Operator.IS_NOT:
                return actual != self.value
            case Operator.MATCHES:
                return _cached_match(self.value, actual) is True
        # A text too long for the pattern is neither: nothing is muted by an unknown match.
        return _cached_match(self.value, actual) is False

    @property
    def is_pattern(self) -> bool:
        """Whether it costs more than to compare."""
        return self.operator in (Operator.MATCHES, Operator.MATCHES_NOT)

    def __str__(self) -> str:
        value = self.value.replace(",", "\\,")
        return f"{self.name}{self.operator}{value}"


# Every silence is matched against every incident and label at each evaluation; labels are few and
# repeat. Patterns are pure, so an entry never expires.
@lru_cache(maxsize=8192)
def _cached_match(pattern: str, text: str) -> Raw:
    """Whether a pattern matches a text; rules, racks and models are few, and matched again and again."""
    return _pattern(pattern)(text)


# Compiling costs far more than matching, and silences last for hours.
@lru_cache(maxsize=4096)
def _pattern(text: str) -> Callable[[Raw], Raw]:
    return compile_pattern(rf"\A(?:{text})\Z", ignore_case=False)


def matchers(text: str) -> tuple[Matcher, ...]:
    """`node=n12, rule=~nvidia.*` as matchers; a comma in a value is written `\\,`. Raises UsageError."""
    fragments = [
        fragment.replace("\\,", ",") for fragment in re.split(r"(?<!\\),", text) if fragment.strip()
    ]
    if not fragments:
        raise UsageError("say what to silence, such as node=n12 or rule=~nvidia.*")
    if len(fragments) > MOST_MATCHERS:
        raise UsageError(f"more than {MOST_MATCHERS} matchers")
    return tuple(_matcher(fragment) for fragment in fragments)


def _matcher(text: str) -> Matcher:
    match = _MATCHER.fullmatch(text)
    if match is None:
        raise UsageError(f"{text.strip()[:80]!r} is not a valid matcher; {_instead(text)}")
    name, operator, value = match[1], Operator(match[2]), match[3]
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if operator in (Operator.MATCHES, Operator.MATCHES_NOT):
        try:
            _pattern(value)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
    return Matcher(name=name, operator=operator, value=value)


def _instead(text: str) -> str:
    """What to write; a bare word is most likely the name of a node."""
    forms = "name=value, name!=value, name=~pattern or name!~pattern"
    name = text.strip()[:80]
    return f"write node={name}, or {forms}" if re.fullmatch(r"[\w.-]+", name) else f"write {forms}"


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Incidents of which nobody is notified from `starts` to `ends`, in Unix seconds."""

    id: str
    matchers: tuple[Matcher, ...]
    starts: float
    ends: float
    by: str
    reason: str
    # Whether `by` has proved to be it.
    verified: bool = False

    def mutes(self, labels: Mapping[str, str], now: float) -> bool:
        """Whether an incident with these labels is muted now."""
        if not self.starts <= now < self.ends:
            return False
        patterns = []
        for matcher in self.matchers:
            if matcher.is_pattern:
                patterns.append(matcher)
            elif not matcher.matches(labels):
                return False
        return all(matcher.matches(labels) for matcher in patterns)

    @property
    def named(self) -> str:
        """Who set it, as people read it."""
        return named(self.by, self.verified)


class Maintenance(msgspec.Struct, frozen=True, kw_only=True):
    """An announced window in which nodes are worked on; without nodes all of them."""

    id: str
    # Host ranges as they were written, `n[1-9]`.
    nodes: tuple[str, ...]
    starts: float
    ends: float
    by: str
    reason: str
    # Whether `by` has proved to be it.
    verified: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The nodes one by one."""
        return _names(self.nodes)

    def covers(self, nodes: Iterable[str], now: float) -> bool:
        """Whether all of these nodes are being worked on now."""
        if not self.starts <= now < self.ends:
            return False
        if not self.nodes:
            return True
        concerned = set(nodes)
        return bool(concerned) and concerned <= self.names

    @property
    def named(self) -> str:
        """Who announced it, as people read it."""
        return named(self.by, self.verified)


# A maintenance window reads its nodes at each evaluation; expanding ranges is the expensive
# part.
@lru_cache(maxsize=256)
def _names(ranges: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for text in ranges for name in expand(text))


def named(by: str, verified: bool) -> str:
    """A person as the journal and pages name it: `ana`, or `ana (unverified)`."""
    return by if verified else f"{by or 'somebody'} (unverified)"
