"""How long the end of an incident waits until people are notified of it: it may come back. Pure.

What flaps would ring twice each time. So an incident has to stay over for its rule's whole cool-down,
after which it cannot come back; for less where a site says so, until it has come back once. And while
something is still done about it by itself, its end waits for that, so that one message says both.
"""

from accelwatch.alerting.incidents.model.incident import Incident, TimelineKind

# After which it is looked again whether what is done about an incident has come to its end.
WORK_AGAIN_S = 5.0
# For longer than that the end does not wait for what is done.
MOST_WORK_S = 4 * 3600.0


def resolve_wait_s(
    incident: Incident, now: float, *, resolve_after_s: float, cooldown_s: float, working: bool
) -> float:
    """Seconds until people are notified that an incident is over; 0 for at once.

    `working` says whether something is still done about it that comes to an end by itself.
    """
    if incident.closed is None or incident.members or incident.entity.group:
        return 0.0
    closings = (entry for entry in reversed(incident.timeline) if entry.kind is TimelineKind.CLOSED)
    last = next(closings, None)
    if last is not None and last.actor:
        return 0.0  # a person has closed it
    over_s = now - incident.closed
    calm_s = cooldown_s if incident.reopened else min(resolve_after_s, cooldown_s)
    wait_s = max(calm_s - max(over_s, 0.0), 0.0)
    if working and over_s < MOST_WORK_S:
        return max(wait_s, WORK_AGAIN_S)
    return wait_s
