"""The sentence: what is wrong with what was asked about, since when, who waits for it, what to do."""

from collections.abc import Iterable, Sequence

import msgspec

from accelwatch.exposition.display import counted, duration
from accelwatch.fleet.picture.model import Past
from accelwatch.fleet.picture.why.scene import ObservedDevice, ObservedNode, Scene
from accelwatch.fleet.picture.why.silence import last_read, of_silent_job
from accelwatch.fleet.picture.why.subject import Kind, Subject
from accelwatch.fleet.picture.why.troubles import NEVER_REPORTED, RUINS_JOBS, Trouble, troubles
from accelwatch.node.usage.shares import IDLE_RATIO
from accelwatch.schema.health import STATE_REASONS
from accelwatch.schema.status.device_status import state_label
from accelwatch.schema.timestamps import timestamp_or_none

_MOST_EVIDENCE = 8


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Why it is as it is; the form of `accelwatch why --json`."""

    subject: str
    kind: str
    # Whether anything is wrong with it.
    wrong: bool
    sentence: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    # What the hub does about it now.
    step: str = ""
    # What is to blame: a device, a node, or a job itself.
    where: str = ""
    # RFC 3339.
    since: str | None = None
    incident: str = ""
    # Devices that are idle because of it.
    waiting: int = 0
    # How many more things are wrong with it.
    others: int = 0
    # In what its node differs from the many alike, where the sentence does not say so.
    differs: str = ""
    # How often the worst of its node's hardware has failed lately.
    record: str = ""
    # What the detector has found of its node, where the sentence does not say so: `watch: ...`.
    finding: str = ""


def answer(scene: Scene, subject: Subject) -> Answer:
    """What there is to say."""
    wrong = about(troubles(scene), subject)
    chief = wrong[0] if wrong else None
    text = _SENTENCES.get(subject.kind, _of_target)(scene, subject, chief)
    others = len(wrong) - 1 if wrong else 0
    if chief is not None and subject.kind is Kind.DEVICE:
        own = next((trouble for trouble in wrong if trouble.silent), None)
        text += _as_of(scene, own, chief)
        others -= own is not None and own is not chief
    if chief is not None and chief.silent and subject.kind in (Kind.JOB, Kind.USER):
        others = sum(not trouble.silent for trouble in wrong)
    if others:
        text += f"; {counted(others, 'more thing')} {'is' if others == 1 else 'are'} wrong"
    sentence = text if text.endswith(("?", ".", "!")) else f"{text}."
    node = _node_of(scene, subject)
    differs = "" if node is None else node.odd
    base = Answer(
        subject=subject.name,
        kind=subject.kind,
        wrong=chief is not None,
        sentence=sentence,
        differs="" if differs in sentence else differs,
        record="" if node is None else node.record,
        finding=_finding_text(scene, subject, sentence),
    )
    if chief is None:
        return base
    return msgspec.structs.replace(
        base,
        evidence=_evidence(chief),
        remedy=chief.remedy,
        step=chief.step,
        where=chief.where,
        since=timestamp_or_none(chief.since),
        incident=chief.incident,
        waiting=len(_waiting(_fellows(scene, subject, chief), chief)),
        others=others,
    )


def _node_of(scene: Scene, subject: Subject) -> ObservedNode | None:
    """The node that was asked about, or the device's."""
    name = subject.name
    if subject.kind is Kind.DEVICE:
        name = subject.devices[0].node
    elif subject.kind is not Kind.NODE:
        return None
    return scene.nodes.get(name)


def _finding_text(scene: Scene, subject: Subject, sentence: str) -> str:
    """What the detector has found of the node or device that was asked about."""
    node = _node_of(scene, subject)
    finding = None if node is None else node.finding
    if finding is None or finding.sentence.removesuffix(".") in sentence:
        return ""
    if subject.kind is Kind.DEVICE and finding.device not in ("", subject.devices[0].id):
        return ""
    return f"{finding.level}: {finding.sentence}"


def about(candidates: Iterable[Trouble], subject: Subject) -> list[Trouble]:
    """Those that concern it, in their order."""
    if subject.kind is Kind.EVERYTHING:
        return [trouble for trouble in candidates if trouble.leads]
    candidates = [trouble for trouble in candidates if not trouble.many]
    ids = {(device.node, device.id) for device in subject.devices}
    nodes = {device.node for device in subject.devices}
    if subject.kind is Kind.NODE:
        return [
            trouble
            for trouble in candidates
            if subject.name in trouble.nodes and (trouble.leads or trouble.silent)
        ]
    concerned = [trouble for trouble in candidates if _concerns(trouble, subject, ids, nodes)]
    if subject.kind is Kind.DEVICE:
        # What is known of it comes before that its node does not answer now.
        concerned.sort(key=lambda trouble: trouble.silent)
    return concerned


def _concerns(
    trouble: Trouble, subject: Subject, ids: set[tuple[str, str]], nodes: set[str]
) -> bool:
    if trouble.device:
        if any((node, trouble.device) in ids for node in trouble.nodes):
            return True
        return subject.kind is Kind.JOB and subject.name in trouble.jobs
    if subject.kind is Kind.JOB and subject.name in trouble.jobs:
        return True
    # A job's own incident names all its nodes, and is nobody else's.
    return not trouble.jobs and not nodes.isdisjoint(trouble.nodes)


def _of_everything(scene: Scene, subject: Subject, chief: Trouble | None) -> str:
    nodes = len(scene.nodes)
    if chief is None:
        scope = f" on {counted(nodes, 'node')}" if nodes > 1 else ""
        if not subject.devices:
            return "there is no device"
        return f"nothing is wrong with {counted(len(subject.devices), 'device')}{scope}"
    return f"{_trouble_text(scene, chief)}{_waits(scene, subject, chief)}"


def _of_target(scene: Scene, subject: Subject, chief: Trouble | None) -> str:
    if chief is not None and chief.silent and subject.kind is Kind.DEVICE:
        silent_s = scene.time - chief.since
        return f"{last_read(subject.devices[0], silent_s)}: {_trouble_text(scene, chief)}"
    if chief is not None:
        return f"{_trouble_text(scene, chief)}{_waits(scene, subject, chief)}"
    if subject.kind is Kind.DEVICE:
        return _of_well_device(subject.devices[0])
    return f"nothing is wrong with {subject.name}: {_status_of(subject.devices)}"


def _as_of(scene: Scene, own: Trouble | None, chief: Trouble) -> str:
    """Of a device whose node is silent, that what is known of it is old."""
    if own is None or own is chief:
        return ""
    return f"; {_trouble_text(scene, own)}"


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


def _of_job(scene: Scene, subject: Subject, chief: Trouble | None) -> str:
    name = _owner_name(scene, subject)
    own = subject.devices
    idle = [device for device in own if _is_idle(device)]
    if chief is None:
        if own and len(idle) == len(own):
            return (
                f"{name} has {counted(len(own), 'device')}, and all are idle; nothing is wrong with"
                " them: look into the job itself (its input, a barrier, a process that has ended)"
            )
        return f"nothing is wrong with {name}: {_status_of(own)}"
    runs = _runs(name, subject, idle)
    if chief.silent and (text := of_silent_job(scene, name, own, runs)):
        return text
    if chief.sentence and chief.where.partition(":")[0] == f"job {subject.name}":
        return chief.sentence
    waits = _waiting(own, chief)
    if chief.weight >= RUINS_JOBS and waits:
        cause = _trouble_text(scene, chief, which=", which")
        cause = f": {cause}" if chief.sentence else f" for {cause}"
        rest = f"{len(waits)} of its {counted(len(own), 'device')} are idle{_for(scene)}"
        return f"{name} waits{cause}; {rest}"
    return f"{runs}, but {_trouble_text(scene, chief)}"


def _runs(name: str, subject: Subject, idle: Sequence[ObservedDevice]) -> str:
    """`job 17 of ada is still running`, or that it stands still; of a user, that the jobs do."""
    stands = bool(subject.devices) and len(idle) == len(subject.devices)
    if subject.kind is Kind.USER:
        return f"jobs of {name} {'stand still' if stands else 'are still running'}"
    return f"{name} {'stands still' if stands else 'is still running'}"


def _owner_name(scene: Scene, subject: Subject) -> str:
    if subject.kind is Kind.USER:
        return subject.name
    users = {device.user for device in subject.devices if device.user}
    if not users:
        # Where no agent tells whose it is, a scheduler did.
        alone = (incident for incident in scene.incidents if incident.jobs == (subject.name,))
        users = {user for incident in alone for user in incident.users}
    return f"job {subject.name}" + (f" of {users.pop()}" if len(users) == 1 else "")


def _trouble_text(scene: Scene, trouble: Trouble, *, which: str = "") -> str:
    """`n014/nvidia6 has been lost for 18 s: GPU fell off the bus`; `which`: as a relative clause."""
    if trouble.many:
        return trouble.verdict
    if trouble.sentence:
        state = f"; {trouble.where} {_now(trouble.condition)}" if trouble.condition else ""
        return f"{trouble.sentence}{state}"
    lasts = f" for {duration(max(scene.time - trouble.since, 0.0))}" if trouble.since else ""
    stands = (
        f"{which} has been {trouble.condition}{lasts}"
        if lasts
        else f"{which} {_now(trouble.condition)}"
    )
    text = f"{trouble.where}{stands}" if trouble.condition else trouble.where
    if trouble.among:
        text += f", one of {trouble.among} nodes"
    verdict = _verdict(trouble)
    if not verdict:
        return text
    return f"{text}: {verdict}" if trouble.condition else f"{text}: {verdict}{lasts and ','}{lasts}"


def _now(condition: str) -> str:
    return "has never answered" if condition == NEVER_REPORTED else f"is {condition}"


def _verdict(trouble: Trouble) -> str:
    """What it amounts to, where that says more than the state does."""
    return "" if trouble.verdict in STATE_REASONS else trouble.verdict


def _evidence(trouble: Trouble) -> tuple[str, ...]:
    """What the sentence does not say yet; a line that another one contains is left out."""
    stated = {_verdict(trouble), *STATE_REASONS}
    unstated = [text for text in trouble.evidence if text not in stated]
    apart = [
        text for text in unstated if not any(text != other and text in other for other in unstated)
    ]
    return tuple(apart)[:_MOST_EVIDENCE]


def _waits(scene: Scene, subject: Subject, chief: Trouble) -> str:
    """Which jobs stand still because of it; only what is grave stops one."""
    if chief.weight < RUINS_JOBS:
        return ""
    jobs = _jobs_of(scene, chief)
    idle = _waiting(_fellows(scene, subject, chief), chief)
    if not jobs or not idle:
        return ""
    names = ", ".join(sorted(jobs)[:4])
    return f"; job {names} waits for it with {counted(len(idle), 'idle device')}{_for(scene)}"


def _for(scene: Scene) -> str:
    return f" for {duration(max(scene.time - scene.idle_since, 0.0))}" if scene.idle_since else ""


def waiting(scene: Scene, subject: Subject) -> list[ObservedDevice]:
    """The devices that are idle because of what is worst about it."""
    wrong = about(troubles(scene), subject)
    return _waiting(_fellows(scene, subject, wrong[0]), wrong[0]) if wrong else []


def idle_since(past: Past) -> float:
    """Unix seconds at which the load fell below `IDLE_RATIO`; 0 where it was never seen above it."""
    steps = past.values.get("utilization_ratio", ())
    for behind, load in enumerate(reversed(steps)):
        if load is not None and load >= IDLE_RATIO:
            return past.end - behind * past.step_s
    return 0.0


def _jobs_of(scene: Scene, trouble: Trouble) -> set[str]:
    jobs = set(trouble.jobs)
    for device in scene.devices:
        if device.node in trouble.nodes and trouble.device in ("", device.id):
            jobs.update(device.jobs)
    return jobs


def _fellows(scene: Scene, subject: Subject, chief: Trouble) -> Sequence[ObservedDevice]:
    """The devices of the jobs that the trouble touches; of a job that was asked about its own."""
    if subject.kind is Kind.JOB:
        return subject.devices
    if chief.weight < RUINS_JOBS:
        return ()
    jobs = _jobs_of(scene, chief)
    return [device for device in scene.devices if not jobs.isdisjoint(device.jobs)]


def _waiting(devices: Iterable[ObservedDevice], chief: Trouble) -> list[ObservedDevice]:
    """Those that are idle beside it; none where half of the others or more have work."""
    blamed = {(node, chief.device) for node in chief.nodes}
    others = [device for device in devices if (device.node, device.id) not in blamed]
    measured = [device for device in others if device.load_ratio is not None]
    idle = [device for device in measured if _is_idle(device)]
    return idle if 2 * len(idle) > len(measured) else []


def _is_idle(device: ObservedDevice) -> bool:
    return device.load_ratio is not None and device.load_ratio < IDLE_RATIO


def _status_of(devices: Sequence[ObservedDevice]) -> str:
    loads = [device.load_ratio for device in devices if device.load_ratio is not None]
    text = counted(len(devices), "device")
    return f"{text}, load {sum(loads) / len(loads):.0%}" if loads else text


_SENTENCES = {Kind.EVERYTHING: _of_everything, Kind.JOB: _of_job, Kind.USER: _of_job}
