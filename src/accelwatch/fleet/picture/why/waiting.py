"""The devices that are idle because of a trouble, and the jobs that wait for it."""

from collections.abc import Iterable, Sequence

from accelwatch.fleet.picture.model import RecentHistory
from accelwatch.fleet.picture.why.concerns import about
from accelwatch.fleet.picture.why.observed_state import ObservedDevice, ObservedState
from accelwatch.fleet.picture.why.subject import Kind, Subject
from accelwatch.fleet.picture.why.troubles import RUINS_JOBS, Trouble, troubles
from accelwatch.node.usage.shares import IDLE_RATIO
from accelwatch.schema.display import counted, duration


def waits_text(observed: ObservedState, subject: Subject, chief: Trouble) -> str:
    """Which jobs stand still because of it; only what is grave stops one."""
    if chief.weight < RUINS_JOBS:
        return ""
    jobs = _jobs_of(observed, chief)
    idle = waiting_devices(job_devices(observed, subject, chief), chief)
    if not jobs or not idle:
        return ""
    names = ", ".join(sorted(jobs)[:4])
    return (
        f"; job {names} waits for it with {counted(len(idle), 'idle device')}{idle_text(observed)}"
    )


def idle_text(observed: ObservedState) -> str:
    """` for 3 min`; empty where it is not known since when the devices are idle."""
    return (
        f" for {duration(max(observed.time - observed.idle_since, 0.0))}"
        if observed.idle_since
        else ""
    )


def waiting(observed: ObservedState, subject: Subject) -> list[ObservedDevice]:
    """The devices that are idle because of what is worst about it."""
    wrong = about(troubles(observed), subject)
    return waiting_devices(job_devices(observed, subject, wrong[0]), wrong[0]) if wrong else []


def idle_since(history: RecentHistory) -> float:
    """Unix seconds at which the load fell below `IDLE_RATIO`; 0 where it was never seen above it."""
    steps = history.values.get("utilization_ratio", ())
    for behind, load in enumerate(reversed(steps)):
        if load is not None and load >= IDLE_RATIO:
            return history.end - behind * history.step_s
    return 0.0


def _jobs_of(observed: ObservedState, trouble: Trouble) -> set[str]:
    jobs = set(trouble.jobs)
    for device in observed.devices:
        if device.node in trouble.nodes and trouble.device in ("", device.id):
            jobs.update(device.jobs)
    return jobs


def job_devices(
    observed: ObservedState, subject: Subject, chief: Trouble
) -> Sequence[ObservedDevice]:
    """The devices of the jobs that the trouble touches; for a job in question its own."""
    if subject.kind is Kind.JOB:
        return subject.devices
    if chief.weight < RUINS_JOBS:
        return ()
    jobs = _jobs_of(observed, chief)
    return [device for device in observed.devices if not jobs.isdisjoint(device.jobs)]


def waiting_devices(devices: Iterable[ObservedDevice], chief: Trouble) -> list[ObservedDevice]:
    """Those that are idle beside it; none where half of the others or more have work."""
    blamed = {(node, chief.device) for node in chief.nodes}
    others = [device for device in devices if (device.node, device.id) not in blamed]
    measured = [device for device in others if device.load_ratio is not None]
    idle = [device for device in measured if is_idle(device)]
    return idle if 2 * len(idle) > len(measured) else []


def is_idle(device: ObservedDevice) -> bool:
    """Whether its load is known and below `IDLE_RATIO`."""
    return device.load_ratio is not None and device.load_ratio < IDLE_RATIO
