"""How bad each state of a node or device is. Pure."""

from accelwatch.fleet.wire import DeviceNow
from accelwatch.schema.device import UP
from accelwatch.schema.health import Health

NODE_SEVERITY = {"down": 10, "stale": 5, "never": 4, "slow": 2, "up": 0}
DEVICE_SEVERITY = {
    "lost": 9,
    "missing": 8,
    "unresponsive": 7,
    "failed": 6,
    "unreachable": 5,
    "stale": 5,
    "degraded": 3,
    "ok": 0,
    "suspended": 0,
    "excluded": 0,
}
"""By standing: the state, or the health of a device whose state is fine."""
BAD = 4
"""From here a device cannot be counted on."""
_JUDGED = frozenset({Health.DEGRADED.value, Health.FAILED.value})


def standing(now: DeviceNow) -> str:
    """What to say of a device: its state, unless it answers and its health is worse."""
    if now.state in UP and now.health in _JUDGED:
        return now.health
    return now.state


def device_severity(word: str) -> int:
    """0 for nothing to see; a state that is not known here is as bad as degraded."""
    return DEVICE_SEVERITY.get(word, DEVICE_SEVERITY["degraded"])
