"""What was written about a device under an old name of its vendor, as it is called now.

The entries stay as they were written, and so does their chain; only what is made of them is changed.
"""

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Matcher, Silence
from accelwatch.schema.renamed import RENAMED, current_id, current_vendor


def incident_of(body: bytes) -> Incident:
    """An incident of the journal. Raises msgspec.MsgspecError."""
    incident = msgspec.json.decode(body, type=Incident)
    entity, facts = incident.entity, incident.facts
    device = current_id(entity.device)
    if device == entity.device and facts.vendor not in RENAMED:
        return incident
    replace = msgspec.structs.replace
    return replace(
        incident,
        entity=replace(entity, device=device),
        facts=replace(facts, vendor=current_vendor(facts.vendor)),
    )


def with_current_vendors(silence: Silence) -> Silence:
    """The silence, which may name a vendor as it was called before; a pattern stays as it is."""
    return msgspec.structs.replace(silence, matchers=tuple(map(_current, silence.matchers)))


def _current(matcher: Matcher) -> Matcher:
    if matcher.name != "vendor" or matcher.is_pattern:
        return matcher
    return msgspec.structs.replace(matcher, value=current_vendor(matcher.value))
