"""The explanation of a rule on an entity: every part of it with its present value."""

import msgspec


class ExplanationRow(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a rule's condition; those that it consists of follow with a greater depth."""

    # `select`, `when`, `confirm` or `clear`.
    key: str
    depth: int
    text: str
    # In base units; null where there is none.
    value: float | str | bool | None
    # `true`, `false`, `unknown`; empty for what is no condition.
    truth: str
    # Why it is unknown or missing.
    reason: str
    # The value of a number with its unit, for people; empty of what has none, and from older hubs.
    shown: str = ""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule on an entity, now."""

    rule: str
    entity: str
    # `pending`, `firing`, `clearing`, or `idle`.
    phase: str
    # How long it has held or been over, while it is pending or clearing; else null.
    phase_s: float | None = msgspec.field(name="held_s")
    mode: str = ""
    # How sure the rule is: `high` or `low`; empty from older hubs, like the others.
    confidence: str = ""
    # How sure it must be to act without a person's approval.
    act_on: str = ""
    components: tuple[ExplanationRow, ...] = msgspec.field(name="parts")
