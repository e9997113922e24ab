"""The status of a row of the detector as people and programs read it; numbers in base units."""

import msgspec


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """The score that evidence needs, and how long it has to last."""

    score: float
    lasted_s: float


class EvidenceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel reports in one family of signals."""

    channel: str
    # `decisive`, `statistical` or `confirming`.
    weight: str
    score: float
    lasted_s: float
    # The signal that is farthest off, or the event or rule; empty where neither is named.
    cause: str
    # Id of the device that it is from, where it counts for the node; else empty.
    device: str


class FamilyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A family of signals."""

    family: str
    # The greatest of its evidence; 0 without any.
    score: float
    lasted_s: float
    # The largest of its signals by size, with its sign; null where none is known.
    z: float | None
    # What budget and past incidents make of the thresholds: 1 is the usual.
    factor: float
    # What statistical evidence needs for a watch, to agree with another family, and for an alert alone.
    watch: Threshold
    agree: Threshold
    alert: Threshold
    # What it is enough for now: `alert`, `watch`, `agrees`, `confirms`; empty for nothing.
    enough_for: str
    evidence: tuple[EvidenceStatus, ...]


class SignalStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A signal; null for what is not known."""

    name: str
    family: str
    value: float | None
    # What peers have: median and quartiles.
    expected: float | None
    low: float | None
    high: float | None
    # What the row itself had of late in this phase.
    usual: float | None
    # Null without peers, and while the group is on hold.
    z: float | None


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True):
    """With whom a row is compared."""

    job: str
    # As the label says; `inferred 1`, ... where power and traffic show it; empty without stages.
    stage: str
    model: str
    # Members, this one among them, and their nodes.
    members: int
    nodes: int
    comparable: bool
    # Why it is not; empty if it is.
    reason: str


class RowStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A node, a device, or a job."""

    # `node`, `device` or `job`.
    subject: str
    # Empty of a job.
    node: str = ""
    # Id of the device; empty of a node and a job.
    device: str = ""
    # What people call it: `n12`, `nvidia3`, `4711`.
    name: str
    # `none`, `watch` or `alert`.
    level: str
    # A level ends when the score has been below this for five minutes; null without a level.
    ends_below: float | None
    # Null of a job, which is compared with nobody.
    group: GroupStatus | None = None
    # Its group changes what it does: numbers count for nothing.
    on_hold: bool = False
    # Until that is over; null where it is not known.
    hold_left_s: float | None = None
    maintenance: bool = False
    # Null for one that was never read.
    sample_age_s: float | None = None
    # Without a sample for so long that nothing is known of it now.
    silent: bool = False
    # `idle`, `light` or `busy`; empty of a job.
    phase: str = ""
    # How long its own past was learned from, by phase.
    learned_s: dict[str, float] = {}
    families: tuple[FamilyStatus, ...]
    # Those that report nothing of it.
    quiet_channels: tuple[str, ...]
    # Those with the largest z, the largest first; without any, those that are farthest from usual.
    signals: tuple[SignalStatus, ...] = ()
