"""What to say of a device in one word, and how bad each such word is. Pure."""

from accelwatch.schema.device import BROKEN, UP, DeviceState
from accelwatch.schema.health import Health

HOT = "hot"
# Worst first: states of a device; `failed`, which only its health can be; and what a fleet says of it,
# `missing`, or, where its node is silent, `unreachable` and `stale`. `hot`, which only
# pictures say, is a device that is well and near a temperature at which it slows itself down.
SEVERITY = {
    "lost": 9,
    "missing": 8,
    "unresponsive": 7,
    "failed": 6,
    "unreachable": 5,
    "stale": 5,
    "degraded": 3,
    HOT: 1,
    "excluded": 0,
    "suspended": 0,
    "ok": 0,
}
WORST_FIRST = tuple(SEVERITY)
# From here a device cannot be counted on.
BAD = 4
# States of documents that people read under a shorter word.
STATE_LABELS = {"unresponsive": "hung", "suspended": "asleep"}
# Reasons for low clocks (labels of `throttle_active`) that are no cause for concern.
CALM_THROTTLES = frozenset({"idle", "clock_setting"})
_UNHEALTHY = frozenset({Health.DEGRADED.value, Health.FAILED.value})


def effective_state(state: str, health: str) -> str:
    """The state of a device, unless it answers and its health is worse."""
    return health if state in UP and health in _UNHEALTHY else state


def state_label(state: str) -> str:
    """A standing as people read it, on every surface that is no document."""
    return STATE_LABELS.get(state, state)


def severity(state: str) -> int:
    """0 for nothing to see; a state that is not known here is as bad as degraded."""
    return SEVERITY.get(state, SEVERITY["degraded"])


def state_severity(state: str) -> str:
    """How bad it is that a device has come into a state, in the words of events."""
    if state in BROKEN:
        return "critical"
    return "warning" if state == DeviceState.DEGRADED else "info"
