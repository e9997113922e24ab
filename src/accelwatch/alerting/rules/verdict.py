"""What a rule says of whom: entities, evidence, and changes of a verdict."""

import msgspec

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.timing import Transition
from accelwatch.schema.event import ErrorEvent
from accelwatch.schema.provenance import Provenance


class Entity(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """Whom a rule is judged for; what does not apply is empty."""

    scope: Scope
    node: str = ""
    device: str = ""
    """The device's id."""
    job: str = ""
    rack: str = ""
    group: str = ""
    """Of an incident that many are part of: what they have in common (`rack=r7`)."""

    def __str__(self) -> str:
        texts = (self.group, self.rack and f"rack {self.rack}", self.job and f"job {self.job}")
        return " ".join(text for text in (*texts, self.node, self.device) if text)


class Evidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that a verdict rests on."""

    signal: str
    """A series (`power_watts`), a part of a rule, or the code of an event."""
    text: str
    """A line for people."""
    value: float | str | None = None
    expected: float | str | None = None
    z: float | None = None
    since: float | None = None
    """Unix seconds."""
    source: str = ""
    trusted: bool = True
    """False for what user space may have forged."""
    event: ErrorEvent | None = None
    """The event, if it is one: what rests on it must not end because nobody tells it again."""


class Justification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a rule that fires rests on."""

    evidence: tuple[Evidence, ...] = ()
    provenance: Provenance = Provenance.UNKNOWN


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A rule that has begun or ceased to fire, or to see, on an entity."""

    rule: str
    entity: Entity
    transition: Transition
    time: float
    """Unix seconds of the tick."""
    since: float
    """Unix seconds at which the condition began to hold."""
    evidence: tuple[Evidence, ...] = ()
    provenance: Provenance = Provenance.UNKNOWN
    """The class of what a rule that fires rests on."""
