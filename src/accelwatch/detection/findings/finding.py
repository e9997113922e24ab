"""A finding: who is in pain, since when, and by which signals."""

from enum import StrEnum

import msgspec


class Level(StrEnum):
    """How urgent a finding is."""

    # Worth a look; wakes nobody.
    WATCH = "watch"
    # Evidence on which a rule may act.
    ALERT = "alert"


class Scope(StrEnum):
    """Whom a finding is about."""

    DEVICE = "device"
    NODE = "node"
    JOB = "job"
    # Several nodes by one cause: fabric, storage, cooling, recorder. Advises nobody's exclusion.
    GROUP = "group"


class Signal(msgspec.Struct, frozen=True, kw_only=True):
    """One signal of a finding, in base units; null for what does not apply."""

    # Series in its catalogue's form, or the code of an event.
    name: str
    value: float | None
    # What peers have: median and quartiles.
    expected: float | None
    low: float | None
    high: float | None
    # What the row itself had of late.
    usual: float | None
    z: float | None
    # Unix seconds.
    since: float
    channel: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What the detector concludes; a finding that goes on is the same by its key."""

    # The same from its beginning to its end.
    key: str
    level: Level
    scope: Scope
    # Empty where they do not apply.
    node: str
    device: str
    job: str
    # All nodes concerned, the best suspect first.
    nodes: tuple[str, ...]
    # The family with the greatest share.
    family: str
    channels: tuple[str, ...]
    # `none`, `restart`, `reset`, `reboot`, `replace`, `exclude`, `wait`.
    advice: str
    score: float
    # Unix seconds: when it began as far as can be dated; was opened; changed last; ended or None.
    onset: float
    opened: float
    updated: float
    cleared: float | None
    # The strongest first, five at most.
    signals: tuple[Signal, ...]
    sentence: str
