"""Conditions of a Job, each by its type (pure). `now` is a time as the API writes it."""

from typing import Any

Object = dict[str, Any]


def add_condition(
    conditions: Object, now: str, kind: str, reason: str, message: str, *, status: str = "True"
) -> None:
    """Add a condition that is not there yet."""
    if kind not in conditions:
        condition = {"type": kind, "status": status, "reason": reason, "message": message}
        conditions[kind] = condition | {"lastProbeTime": now, "lastTransitionTime": now}


def suspend_or_start(job: Object, status: Object, conditions: Object, now: str) -> None:
    """The condition of a Job that is suspended or was, and since when it runs."""
    before = conditions.get("Suspended", {}).get("status")
    if job["spec"].get("suspend"):
        status.pop("startTime", None)
        if before != "True":
            conditions.pop("Suspended", None)
            add_condition(conditions, now, "Suspended", "JobSuspended", "Job suspended")
        return
    status.setdefault("startTime", now)
    if before == "True":
        del conditions["Suspended"]
        add_condition(conditions, now, "Suspended", "JobResumed", "Job resumed", status="False")
