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
    # The device's id.
    device: str = ""
    job: str = ""
    rack: str = ""
    # Of an incident that many are part of: what they have in common (`rack=r7`).
    group: str = ""

    def __str__(self) -> str:
        texts = (self.group, self.rack and f"rack {self.rack}", self.job and f"job {self.job}")
        return " ".join(text for text in (*texts, self.node, self.device) if text)


class Evidence(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that a verdict rests on."""

    # A series (`power_watts`), a part of a rule, or the code of an event.
    signal: str
    # A line for people.
    text: str
    value: float | str | None = None
    expected: float | str | None = None
    z: float | None = None
    # Unix seconds.
    since: float | None = None
    source: str = ""
    # False for what user space may have forged.
    trusted: bool = True
    # The event, if it is one: an incident on an event must not end because nobody reports it again.
    event: ErrorEvent | None = None


class Justification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a rule that fires rests on."""

    evidence: tuple[Evidence, ...] = ()
    provenance: Provenance = Provenance.UNKNOWN


class VerdictChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A rule that starts or stops firing, or loses or regains its data, on an entity."""

    rule: str
    entity: Entity
    transition: Transition
    # Unix seconds of the tick.
    time: float
    # Unix seconds at which the condition began to hold.
    since: float
    evidence: tuple[Evidence, ...] = ()
    # The class of what a rule that fires rests on.
    provenance: Provenance = Provenance.UNKNOWN
