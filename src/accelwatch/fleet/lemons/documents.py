"""`/v1/lemons` as the API answers it; times are RFC 3339, what does not apply is empty."""

from enum import StrEnum

import msgspec

# Over which time faults are counted.
PERIOD_DAYS = 28
# Faults from which on it is a repeat offender.
LEAST_FAULTS = 2


class Blamed(StrEnum):
    """What the faults follow; the values are part of the API."""

    # The board, in whichever slot.
    DEVICE = "device"
    # The slot, whichever board is in it.
    SLOT = "slot"
    # Always that board in that slot: the two cannot be distinguished yet.
    DEVICE_OR_SLOT = "device or slot"
    # Several devices of the node, or the node itself.
    NODE = "node"


class FaultNote(msgspec.Struct, frozen=True, kw_only=True):
    """One confirmed fault."""

    # When it began.
    time: str
    incident: str
    rule: str
    title: str
    severity: str
    node: str
    # Name of the device; empty for a fault of the node.
    device: str
    serial: str
    # PCI address of the device.
    slot: str
    # What it counts before it fades.
    weight: float


class Lemon(msgspec.Struct, frozen=True, kw_only=True):
    """A device, a slot or a node that failed again and again."""

    blamed: Blamed
    # The node that has failed, or in which the device has failed last.
    node: str
    # Name of the device; empty for a node.
    device: str
    model: str
    serial: str
    slot: str
    # The sum of the weights of the faults, each of which falls by a factor of e in 14 days.
    score: float
    faults: int
    first: str
    last: str
    # In words, why the device, the slot or the node is blamed.
    reason: str
    # The faults, the latest first.
    evidence: tuple[FaultNote, ...]
    # The identities that have these faults: `serial:NUMBER`, `slot:NODE/ADDRESS`, `node:NODE`.
    keys: tuple[str, ...]

    @property
    def subject(self) -> str:
        """`n012/gpu3`, or `n012`."""
        return f"{self.node}/{self.device}" if self.device else self.node


class LemonsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Repeat offenders, the worst first."""

    time: str
    # How far back faults are counted.
    days: int
    # How many rules are in force; 0: no incident is ever opened here, so no fault is ever counted.
    rules: int
    # Confirmed faults of that time, also of those that failed only once.
    faults: int
    # Why the list may be incomplete.
    problems: tuple[str, ...] = ()
    lemons: tuple[Lemon, ...] = ()


class LemonNote(msgspec.Struct, frozen=True, kw_only=True):
    """The worst repeat offender that is in a node now, beside other facts of the node."""

    blamed: Blamed
    # Name of the device when it failed last; empty for a node.
    device: str
    faults: int
    score: float
    last: str

    @property
    def text(self) -> str:
        """`3x gpu2`, `4x node`."""
        return f"{self.faults}x {self.device or 'node'}"

    @property
    def sentence(self) -> str:
        """`gpu2: 3 confirmed faults in 28 days, the last on 2026-11-20`."""
        count = f"{self.faults} confirmed faults in {PERIOD_DAYS} days"
        return f"{self.device or 'node'}: {count}, the last on {self.last[:10]}"
