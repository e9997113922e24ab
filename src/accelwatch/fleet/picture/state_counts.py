"""How many devices have each standing, from counts by state and by health. Pure."""

from collections import Counter
from collections.abc import Mapping

from accelwatch.schema.status.device_status import BAD, HOT, severity


def state_counts(
    devices: Mapping[str, int], health: Mapping[str, int], hot: int = 0
) -> dict[str, int]:
    """Devices by state: of those that answer, the ones whose health is not fine are counted apart.

    `hot` are of those that are fine, where it is known of all of them.
    A device that does not answer has failed by its health too, and counts by its state alone.
    """
    counts = Counter(devices)
    answering = counts["ok"] + counts["degraded"]
    silent = counts["lost"] + counts["unresponsive"]
    failed = min(max(health.get("failed", 0) - silent, 0), answering)
    degraded = max(health.get("degraded", 0), counts["degraded"] - failed)
    degraded = min(degraded, answering - failed)
    hot = min(hot, answering - failed - degraded)
    fine = answering - failed - degraded - hot
    healthy = {"ok": fine, HOT: hot, "degraded": degraded, "failed": failed}
    return {**counts, **healthy}


def bad_of(counts: Mapping[str, int]) -> int:
    """Devices that cannot be counted on, of those counted by standing."""
    return sum(count for state, count in counts.items() if severity(state) >= BAD)
