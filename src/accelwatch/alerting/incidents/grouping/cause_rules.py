"""Whether an incident is a part of a cause, and how long anything can be."""

from collections.abc import Sequence

from accelwatch.alerting.incidents.grouping.cause import Cause
from accelwatch.alerting.incidents.grouping.levels import ALERT, level_of
from accelwatch.alerting.incidents.grouping.location import jobs_of, nodes_of
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Advice, Scope, Severity

# What follows within this time on the same node, or on the job that runs there, is the same.
TOGETHER_S = 900.0
# What comes back so soon after it was over is the same again.
AGAIN_S = 1800.0
# What a device needs that is broken itself; a node that waits with others may have to be booted.
_REPAIRS = frozenset({Advice.RESET, Advice.REPLACE})


def is_near(incident: Incident, cause: Cause, now: float) -> bool:
    """Whether what begins now began together with a cause, or right after it was over.

    Who waited with others and then has an alert of another kind is not there again.
    """
    again = cause.closed is not None and now - cause.closed < AGAIN_S
    return now - cause.grew <= TOGETHER_S or (again and not _has_other_reason(incident, cause))


def adds_nothing(incident: Incident, cause: Cause) -> bool:
    """Whether what goes on explains an incident, however late it comes.

    An alert about another device is news, and so is one about a whole job that went on until now.
    """
    entity = incident.entity
    other = entity.scope is Scope.JOB or entity.device not in ("", cause.device)
    alone = other and level_of(incident) == ALERT
    return cause.closed is None and not alone and not _has_other_reason(incident, cause)


def _has_other_reason(incident: Incident, cause: Cause) -> bool:
    """Whether an alert is of another kind than what many nodes suffer: a storage that stalls, or a room
    that is warm for hours, explains no congestion, hang or lost node that begins long after it; nor does
    what one of its nodes had explain what another has.
    """
    return cause.group and level_of(incident) == ALERT and incident.family not in cause.shared


def _is_to_be_repaired(incident: Incident, cause: Cause) -> bool:
    """Whether an alert advises the repair of a device, which nothing that many share explains."""
    return incident.advice in _REPAIRS and _has_other_reason(incident, cause)


def is_over(cause: Cause, now: float) -> bool:
    """Whether nothing can be added to a cause any more."""
    return cause.closed is not None and now - cause.closed >= AGAIN_S


def belongs(incident: Incident, suspects: Sequence[str], cause: Cause) -> bool:
    """Whether an incident is a part of a cause."""
    entity, nodes = incident.entity, set(nodes_of(incident))
    if incident.severity is Severity.INFO and jobs_of(incident) & cause.jobs:
        return True  # what a job that ends leaves on its other nodes
    if entity.group:
        return bool(nodes & cause.nodes) and (cause.group or nodes <= cause.nodes)
    if entity.scope is Scope.JOB:
        named = not suspects or bool(set(suspects) & cause.nodes)
        return entity.job in cause.jobs or (named and bool(nodes & cause.nodes))
    if entity.node not in cause.nodes or _is_to_be_repaired(incident, cause):
        return False
    if level_of(incident) != ALERT:
        return True
    if not cause.located:
        return False  # it says where, which nobody knew
    other = bool(entity.device and cause.device and entity.device != cause.device)
    return cause.level == ALERT or not other
