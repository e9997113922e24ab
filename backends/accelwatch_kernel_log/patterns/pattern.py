"""What a row of the pattern tables is, and what one recognises. Pure; never raises on any text."""

import re
from collections.abc import Callable, Iterable

import msgspec

from accelwatch.schema.device import normal_pci_bus_id
from accelwatch.schema.event import Category

# A PCI id as kernel messages print it: the function may be missing, the domain may be long.
BDF = r"(?P<bdf>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)"
# One fault often prints a burst of lines; equal ones within this time are one event.
FOLD_S = 5.0

_MAX_DETAIL = 256

# Code and category.
Verdict = tuple[str, Category]
Decide = Callable[[dict[str, str]], Verdict | None]


class Pattern(msgspec.Struct, frozen=True):
    """One kind of message.

    The expression must match from the beginning of the message. Its group `bdf` (a PCI id) or
    `subject` names what the message is about; all other named groups become detail. `decide`, when
    given, derives code and category from the groups, to which it may add, or says that this is no
    fault after all; a group `fault` that it adds stands for the row's.
    """

    code: str
    category: Category
    regex: re.Pattern[str]
    fold_s: float = FOLD_S
    # Other wordings of one fault share this word and are folded together; empty: the code itself.
    fault: str = ""
    decide: Decide | None = None


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a pattern recognised."""

    code: str
    category: Category
    subject: str
    detail: dict[str, str]
    fold_s: float
    fault: str


def row(
    code: str,
    category: Category,
    regex: str,
    *,
    fold_s: float = FOLD_S,
    fault: str = "",
    decide: Decide | None = None,
) -> Pattern:
    """A row from its expression as text."""
    return Pattern(code, category, re.compile(regex), fold_s, fault, decide)


def _apply(pattern: Pattern, groups: dict[str, str]) -> Match | None:
    code, category = pattern.code, pattern.category
    if pattern.decide is not None:
        verdict = pattern.decide(groups)
        if verdict is None:
            return None
        code, category = verdict
    bdf = groups.pop("bdf", "")
    fault = groups.pop("fault", pattern.fault)
    subject = normal_pci_bus_id(bdf) if bdf else groups.pop("subject", "").strip()
    return Match(
        code=code,
        category=category,
        subject=subject,
        detail={key: value[:_MAX_DETAIL] for key, value in groups.items()},
        fold_s=pattern.fold_s,
        fault=fault or code,
    )


def find(text: str, patterns: Iterable[Pattern]) -> Match | None:
    """What the first fitting row makes of a message; None when the message is no fault we know."""
    for pattern in patterns:
        match = pattern.regex.match(text)
        if match is None:
            continue
        groups = {key: value.strip() for key, value in match.groupdict().items() if value}
        applied = _apply(pattern, {key: value for key, value in groups.items() if value})
        if applied is not None:
            return applied
    return None
