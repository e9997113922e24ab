"""What is said of a rule on an entity: every part of it with what it is now."""

import msgspec


class ExplanationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a rule's condition; those that it consists of follow with a greater depth."""

    key: str
    """`select`, `when`, `confirm` or `clear`."""
    depth: int
    text: str
    value: float | str | bool | None
    """In base units; null where there is none."""
    truth: str
    """`true`, `false`, `unknown`; empty for what is no condition."""
    reason: str
    """Why it is unknown or missing."""
    shown: str = ""
    """The value of a number with its unit, for people; empty of what has none, and from older hubs."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule on an entity, now."""

    rule: str
    entity: str
    phase: str
    """`pending`, `firing`, `clearing`, or `idle`."""
    phase_s: float | None = msgspec.field(name="held_s")
    """How long it has held or been over, while it is pending or clearing; else null."""
    mode: str = ""
    confidence: str = ""
    """How sure the rule is: `high` or `low`; empty from older hubs, like the others."""
    act_on: str = ""
    """How sure it must be to act without a person's approval."""
    components: tuple[ExplanationRow, ...] = msgspec.field(name="parts")
