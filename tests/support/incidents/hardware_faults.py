"""Incidents of hardware in a fleet, by node, slot and serial number."""

from typing import Any

import msgspec

from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.lemons.faults import Fault, fault_of
from support.incidents.incident_samples import incident

DAY_S = 86_400.0
NOW = 1_795_317_247.0


def failed(
    number: int,
    days: float = 1.0,
    *,
    node: str = "n1",
    slot: str = "0000:3b:00.0",
    serial: str = "A",
    name: str = "nvidia3",
    now: float = NOW,
    **fields: Any,
) -> Incident:
    """A GPU that has fallen off the bus so many days ago; an empty `name` is the node itself."""
    started = now - days * DAY_S
    made = incident(
        number,
        at=started,
        node=node,
        since=started,
        **{"id": f"i{number}", "updated": started, **fields},
    )
    if "entity" in fields:
        return made
    if not name:
        entity = Entity(scope=Scope.NODE, node=node)
        return msgspec.structs.replace(made, entity=entity, title="Node is silent")
    facts = msgspec.structs.replace(made.facts, device_name=name, serial=serial, slot=slot)
    entity = Entity(scope=Scope.DEVICE, node=node, device=f"nvidia:GPU-{serial}")
    return msgspec.structs.replace(made, entity=entity, facts=facts)


def fault(number: int, days: float = 1.0, **fields: Any) -> Fault:
    """The same as a confirmed fault."""
    made = fault_of(failed(number, days, **fields), {}, ())
    assert made is not None
    return made
