"""The condition `AcceleratorHealthy` of a node, by its open incidents. Pure."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from accelwatch.alerting.delivery.formatting.text import fitted
from accelwatch_kubernetes_status.incidents import OpenIncident

# Ours alone: no other type of condition is ever written.
CONDITION_TYPE = "AcceleratorHealthy"
NO_INCIDENT = "NoOpenIncident"
# The API accepts 32,768 characters; `kubectl describe node` shows them in one line.
_MOST_MESSAGE = 512
# Characters of a reason, as of metav1.Condition.
_MOST_REASON = 128
_TOKEN = re.compile(r"[A-Za-z0-9]+")


class ConditionStatus(StrEnum):
    """What Kubernetes has for the status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition in the status of a node (core/v1); moments as the API writes them."""

    type: str = CONDITION_TYPE
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None


def camel_case(rule: str) -> str:
    """`nvidia.xid_79` as a reason: `NvidiaXid79`."""
    tokens = "".join(token[0].upper() + token[1:] for token in _TOKEN.findall(rule))
    name = tokens if tokens[:1].isalpha() else f"Rule{tokens}"
    return name[:_MOST_REASON]


def condition_of(
    incidents: Mapping[str, OpenIncident], before: NodeCondition | None, now: float
) -> NodeCondition:
    """What the condition has to say now; `now` in Unix seconds.

    The transition is the moment at which the status changed: who waits for a node to stay as it is must
    not start over because a second incident has come or the worst one has another title.
    """
    status, reason, message = _verdict(incidents)
    timestamp = timestamp_text(now)
    is_same = before is not None and before.status == status and before.last_transition_time
    return NodeCondition(
        status=status.value,
        reason=reason,
        message=message,
        last_transition_time=(
            before.last_transition_time if before is not None and is_same else timestamp
        ),
        last_heartbeat_time=timestamp,
    )


def _verdict(incidents: Mapping[str, OpenIncident]) -> tuple[ConditionStatus, str, str]:
    if not incidents:
        return ConditionStatus.TRUE, NO_INCIDENT, "accelwatch has no open incident of this node"
    key, worst = max(incidents.items(), key=lambda item: (item[1].weight, item[0]))
    status = ConditionStatus.UNKNOWN if worst.unknown else ConditionStatus.FALSE
    more = f"; {len(incidents) - 1} more open" if len(incidents) > 1 else ""
    text = fitted(worst.title, _MOST_MESSAGE - len(key) - len(more) - 16)
    return status, camel_case(worst.rule), f"{text} (incident {key}){more}"


def timestamp_text(unix_s: float) -> str:
    """Unix seconds as the API keeps moments: whole seconds, in UTC."""
    return datetime.fromtimestamp(int(unix_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
