"""The sentence: what is wrong with it, since when, and who waits."""

from collections.abc import Sequence

from accelwatch.fleet.picture.why.observed_state import ObservedDevice, ObservedState
from accelwatch.fleet.picture.why.silence import last_read, of_silent_job
from accelwatch.fleet.picture.why.subject import Kind, Subject
from accelwatch.fleet.picture.why.troubles import NEVER_REPORTED, RUINS_JOBS, Trouble
from accelwatch.fleet.picture.why.waiting import (
    idle_text,
    is_idle,
    waiting_devices,
    waits_text,
)
from accelwatch.schema.display import counted, duration
from accelwatch.schema.health import STATE_REASONS
from accelwatch.schema.status.device_status import state_label


def of_everything(observed: ObservedState, subject: Subject, chief: Trouble | None) -> str:
    """The worst trouble of all nodes, or that there is none."""
    nodes = len(observed.nodes)
    if chief is None:
        scope = f" on {counted(nodes, 'node')}" if nodes > 1 else ""
        if not subject.devices:
            return "there is no device"
        return f"nothing is wrong with {counted(len(subject.devices), 'device')}{scope}"
    return f"{_trouble_text(observed, chief)}{waits_text(observed, subject, chief)}"


def of_target(observed: ObservedState, subject: Subject, chief: Trouble | None) -> str:
    """The worst trouble of a node or device, or how it is."""
    if chief is not None and chief.silent and subject.kind is Kind.DEVICE:
        silent_s = observed.time - chief.since
        return f"{last_read(subject.devices[0], silent_s)}: {_trouble_text(observed, chief)}"
    if chief is not None:
        return f"{_trouble_text(observed, chief)}{waits_text(observed, subject, chief)}"
    if subject.kind is Kind.DEVICE:
        return _of_well_device(subject.devices[0])
    return f"nothing is wrong with {subject.name}: {_status_of(subject.devices)}"


def as_of(observed: ObservedState, own: Trouble | None, chief: Trouble) -> str:
    """Of a device whose node is silent, that what is known of it is old."""
    if own is None or own is chief:
        return ""
    return f"; {_trouble_text(observed, own)}"


def _of_well_device(device: ObservedDevice) -> str:
    name = f"{device.node}/{device.name}"
    if device.state != "ok":
        reason = device.verdict.summary
        return f"{name} is {state_label(device.state)}" + (f": {reason}" if reason else "")
    details = []
    if device.load_ratio is not None:
        details.append(f"load {device.load_ratio:.0%}")
    if device.jobs:
        details.append(f"has job {', '.join(device.jobs)}")
    text = f"nothing is wrong with {name}" + (f": {', '.join(details)}" if details else "")
    if device.slowed_by:
        causes = ", ".join(cause.replace("_", " ") for cause in device.slowed_by)
        text += f"; its clocks are reduced by: {causes}"
    return text


def of_job(observed: ObservedState, subject: Subject, chief: Trouble | None) -> str:
    """Whether the job, or the jobs of a user, run, and what they wait for."""
    name = _owner_name(observed, subject)
    own = subject.devices
    idle = [device for device in own if is_idle(device)]
    if chief is None:
        if own and len(idle) == len(own):
            return (
                f"{name} has {counted(len(own), 'device')}, and all are idle; nothing is wrong with"
                " them: look into the job itself (its input, a barrier, a process that has ended)"
            )
        return f"nothing is wrong with {name}: {_status_of(own)}"
    runs = _runs(name, subject, idle)
    if chief.silent and (text := of_silent_job(observed, name, own, runs)):
        return text
    if chief.sentence and chief.where.partition(":")[0] == f"job {subject.name}":
        return chief.sentence
    waits = waiting_devices(own, chief)
    if chief.weight >= RUINS_JOBS and waits:
        cause = _trouble_text(observed, chief, which=", which")
        cause = f": {cause}" if chief.sentence else f" for {cause}"
        idle_share = (
            f"{len(waits)} of its {counted(len(own), 'device')} are idle{idle_text(observed)}"
        )
        return f"{name} waits{cause}; {idle_share}"
    return f"{runs}, but {_trouble_text(observed, chief)}"


def _runs(name: str, subject: Subject, idle: Sequence[ObservedDevice]) -> str:
    """`job 17 of ada is still running`, or that it stands still; of a user, that the jobs do."""
    stands = bool(subject.devices) and len(idle) == len(subject.devices)
    if subject.kind is Kind.USER:
        return f"jobs of {name} {'stand still' if stands else 'are still running'}"
    return f"{name} {'stands still' if stands else 'is still running'}"


def _owner_name(observed: ObservedState, subject: Subject) -> str:
    if subject.kind is Kind.USER:
        return subject.name
    users = {device.user for device in subject.devices if device.user}
    if not users:
        # Where no agent reports whose it is, a scheduler did.
        alone = (incident for incident in observed.incidents if incident.jobs == (subject.name,))
        users = {user for incident in alone for user in incident.users}
    return f"job {subject.name}" + (f" of {users.pop()}" if len(users) == 1 else "")


def _trouble_text(observed: ObservedState, trouble: Trouble, *, which: str = "") -> str:
    """`n014/nvidia6 has been lost for 18 s: GPU fell off the bus`; `which`: as a relative clause."""
    if trouble.many:
        return trouble.verdict
    if trouble.sentence:
        state = f"; {trouble.where} {_now(trouble.condition)}" if trouble.condition else ""
        return f"{trouble.sentence}{state}"
    lasts = f" for {duration(max(observed.time - trouble.since, 0.0))}" if trouble.since else ""
    stands = (
        f"{which} has been {trouble.condition}{lasts}"
        if lasts
        else f"{which} {_now(trouble.condition)}"
    )
    text = f"{trouble.where}{stands}" if trouble.condition else trouble.where
    if trouble.among:
        text += f", one of {trouble.among} nodes"
    verdict = verdict_text(trouble)
    if not verdict:
        return text
    return f"{text}: {verdict}" if trouble.condition else f"{text}: {verdict}{lasts and ','}{lasts}"


def _now(condition: str) -> str:
    return "has never answered" if condition == NEVER_REPORTED else f"is {condition}"


def verdict_text(trouble: Trouble) -> str:
    """What it amounts to, where that says more than the state does."""
    return "" if trouble.verdict in STATE_REASONS else trouble.verdict


def _status_of(devices: Sequence[ObservedDevice]) -> str:
    loads = [device.load_ratio for device in devices if device.load_ratio is not None]
    text = counted(len(devices), "device")
    return f"{text}, load {sum(loads) / len(loads):.0%}" if loads else text
