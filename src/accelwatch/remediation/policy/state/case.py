"""What the state machine knows of an incident, and what the incident's rule lets it do.

A policy is kept with the remedy once an intent starts: a rule that is changed or removed after that
does not change it. Until then what the rules want now counts.
"""

import msgspec

from accelwatch.alerting.rules.document import (
    Confidence,
    Fence,
    JobPolicy,
    Mode,
    QuarantineLevel,
    Severity,
    Trust,
    When,
)
from accelwatch.alerting.rules.rule import Canary, Deadlines


class Limit(msgspec.Struct, frozen=True):
    """One rung of the ladder of remedies, and how often it may be tried."""

    # `reset`, `reboot`, `power_cycle` or `service`.
    name: str
    most: int = 1


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule wants done."""

    rule: str
    digest: str = ""
    mode: Mode = Mode.OBSERVE
    # How sure the rule is; if less sure than `act_on` requires, `auto` is `approve`.
    confidence: Confidence = Confidence.HIGH
    act_on: Confidence = Confidence.HIGH
    trust: Trust = Trust.AUTHENTICATED
    canary: Canary | None = None
    # None: nothing is quarantined.
    level: QuarantineLevel | None = None
    when: When = When.AFTER_JOB
    job: JobPolicy = JobPolicy.NOTHING
    signal: str = ""
    grace_s: float = 0.0
    draw_spare: bool = False
    fence: Fence = Fence.REQUIRE
    ladder: tuple[Limit, ...] = ()
    passive_s: float = 0.0
    # Names of the active tests, in their order.
    tests: tuple[str, ...] = ()
    probation_s: float = 0.0
    deadlines: Deadlines = Deadlines()

    @property
    def is_sure(self) -> bool:
        """Whether the rule is sure enough to act without a person's approval."""
        return self.confidence.suffices(self.act_on)

    @property
    def reach(self) -> int:
        """How far the rule goes without a person; greater goes further."""
        mode = Mode.APPROVE if self.mode is Mode.AUTO and not self.is_sure else self.mode
        return mode.reach


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """An incident as far as it is about one node."""

    incident: str
    policy: Policy
    # What its rules want by now, where another policy has started an intent.
    wanted: Policy | None = None
    open: bool = True
    # Unix seconds at which what is wrong began.
    since: float
    # Unix seconds at which a rule began to fire or an event happened, the newest.
    evidence_at: float
    severity: Severity = Severity.WARNING
    confidence: Confidence = Confidence.HIGH
    # Whether something is so now, rather than that only an event has happened.
    standing: bool = True
    # Whether all of its evidence came by an authenticated way.
    trusted: bool = True
    # Whether the rule says that the node's silence itself is the evidence.
    silence: bool = False
    # Whether it is unknown now if it is over.
    blind: bool = False
    # By which silence or maintenance; empty when by none.
    muted: str = ""
    # The incident of many nodes that it is part of.
    group: str = ""
    # Whether its rule is gone.
    orphaned: bool = False
    # Uuid, serial or PCI address.
    device: str = ""
    serial: str = ""
    # PCI address of the device.
    slot: str = ""
    # The boot in which its evidence was seen.
    boot_id: str = ""
    title: str = ""
