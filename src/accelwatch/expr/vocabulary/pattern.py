"""Regular expressions that cannot run long: a scan of the pattern bounds the ways to match it.

Python's engine backtracks, so `(a+)+` on thirty letters runs for minutes. Refused are repeated groups
with a choice inside, back-references and look-around; the number of choices left is bounded.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from accelwatch.expr.vocabulary.kleene import Raw

MAX_PATTERN = 200
# Longer texts are not matched but count as missing; no identity field comes near this.
MAX_SUBJECT = 128

OPEN_ENDED = 25
# A wide or open repetition counts as 25 ways, so a pattern may have three, or 13 times `?`.
MAX_BRANCHES = OPEN_ENDED**3

MAX_GROUPS = 8
MAX_REPEAT = 128

_QUANTIFIER = re.compile(r"(?:[*+?]|\{([0-9]*)(,?)([0-9]*)\})")
_CLASS = re.compile(r"\[\^?\]?(?:[^\[\]\\]|\\.)*\]", re.DOTALL)
_ESCAPES = frozenset("dDwWsSbBAZ")


def compile_pattern(pattern: str, *, ignore_case: bool) -> Callable[[Raw], Raw]:
    """A test whether the pattern is found anywhere in a text; raises ValueError with the reason."""
    if len(pattern) > MAX_PATTERN:
        raise ValueError(f"a pattern has at most {MAX_PATTERN} characters")
    walk = _Walk(pattern)
    if walk.alternatives(0) > MAX_BRANCHES:
        raise ValueError("this pattern could take too long: it has too many *, + or ?")
    try:
        search = re.compile(pattern, re.IGNORECASE if ignore_case else 0).search
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"this pattern cannot be read: {error}") from None

    # Texts such as models and users repeat on thousands of rows; the result depends on the text
    # alone.
    @lru_cache(maxsize=256)
    def is_match(text: str) -> bool:
        return search(text) is not None

    def matches(text: Raw) -> Raw:
        if not isinstance(text, str) or len(text) > MAX_SUBJECT:
            return None
        return is_match(text)

    return matches


class _Walk:
    """One reading of a pattern, which counts the ways in which each part can match."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def alternatives(self, depth: int) -> int:
        """Ways of the alternatives up to the closing bracket or the end."""
        branches = self._sequence(depth)
        while self._peek() == "|":
            self._at += 1
            branches += self._sequence(depth)
        if depth == 0 and self._peek():
            raise ValueError(f"unbalanced bracket at character {self._at + 1} of the pattern")
        return branches

    def _sequence(self, depth: int) -> int:
        branches = 1
        while self._peek() not in ("", "|", ")"):
            inner = self._atom(depth)
            branches = min(branches * self._repeated(inner), MAX_BRANCHES + 1)
        return branches

    def _repeated(self, inner: int) -> int:
        """Ways of an atom with the quantifier that follows it, if one does."""
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            return inner
        low, high = _bounds(match)
        self._at = match.end()
        lazy = self._peek() == "?"
        self._at += lazy
        if _QUANTIFIER.match(self._pattern, self._at):
            raise ValueError("a quantifier follows a quantifier")
        if inner > 1 and high > 1:
            raise ValueError("this pattern could take too long: a repeated group holds a choice")
        return inner * min(high - low + 1, OPEN_ENDED)

    def _atom(self, depth: int) -> int:
        char = self._peek()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "*+?":
            raise ValueError(f"nothing to repeat at character {self._at + 1} of the pattern")
        self._at += 1
        return 1

    def _group(self, depth: int) -> int:
        if depth >= MAX_GROUPS:
            raise ValueError(f"groups in a pattern nest at most {MAX_GROUPS} deep")
        self._at += 1
        if self._peek() == "?":
            if not self._pattern.startswith("?:", self._at):
                raise ValueError("of the groups that begin with (? only (?: is allowed")
            self._at += 2
        branches = self.alternatives(depth + 1)
        if self._peek() != ")":
            raise ValueError("a bracket of the pattern is not closed")
        self._at += 1
        if _QUANTIFIER.match(self._pattern, self._at) and self._peek() == "{":
            raise ValueError("a group cannot be repeated with {}")
        return branches

    def _class(self) -> int:
        match = _CLASS.match(self._pattern, self._at)
        if match is None:
            raise ValueError("a [ of the pattern is not closed, or a class holds a bare [")
        if re.search(r"--|&&|~~|\|\|", match.group()):
            raise ValueError("a class of the pattern holds -- && ~~ or ||")
        self._at = match.end()
        return 1

    def _escape(self) -> int:
        char = self._pattern[self._at + 1 : self._at + 2]
        if not char or (char.isalnum() and char not in _ESCAPES):
            raise ValueError(f"\\{char} is not allowed in a pattern")
        self._at += 2
        return 1

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]


def _bounds(match: re.Match[str]) -> tuple[int, int]:
    """Least and most repetitions of a quantifier, an open end counting as the longest text."""
    quantifier = match.group()
    if quantifier in "*+?":
        return {"*": (0, MAX_SUBJECT), "+": (1, MAX_SUBJECT), "?": (0, 1)}[quantifier]
    if not match.group(1) and not match.group(3):
        raise ValueError("write \\{ for a curly bracket in a pattern")
    low = int(match.group(1) or 0)
    high = low if not match.group(2) else int(match.group(3) or MAX_SUBJECT)
    if high > MAX_REPEAT or low > high:
        raise ValueError(f"a part of a pattern is repeated at most {MAX_REPEAT} times")
    return low, high
