"""Why something is as it is: what is worst about it, the evidence, and what to do."""

import msgspec

from accelwatch.fleet.picture.why.concerns import about
from accelwatch.fleet.picture.why.observed_state import ObservedNode, ObservedState
from accelwatch.fleet.picture.why.sentences import (
    as_of,
    of_everything,
    of_job,
    of_target,
    verdict_text,
)
from accelwatch.fleet.picture.why.subject import Kind, Subject
from accelwatch.fleet.picture.why.troubles import Trouble, troubles
from accelwatch.fleet.picture.why.waiting import (
    job_devices,
    waiting_devices,
)
from accelwatch.schema.display import counted
from accelwatch.schema.health import STATE_REASONS
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
    # Hubs whose nodes and jobs are not in this answer, of several, each with what is wrong with it.
    missing: tuple[str, ...] = ()


def answer(observed: ObservedState, subject: Subject) -> Answer:
    """The answer to the question."""
    wrong = about(troubles(observed), subject)
    chief = wrong[0] if wrong else None
    text = _SENTENCES.get(subject.kind, of_target)(observed, subject, chief)
    others = len(wrong) - 1 if wrong else 0
    if chief is not None and subject.kind is Kind.DEVICE:
        own = next((trouble for trouble in wrong if trouble.silent), None)
        text += as_of(observed, own, chief)
        others -= own is not None and own is not chief
    if chief is not None and chief.silent and subject.kind in (Kind.JOB, Kind.USER):
        others = sum(not trouble.silent for trouble in wrong)
    if others:
        text += f"; {counted(others, 'more thing')} {'is' if others == 1 else 'are'} wrong"
    sentence = text if text.endswith(("?", ".", "!")) else f"{text}."
    node = _node_of(observed, subject)
    differs = "" if node is None else node.odd
    base = Answer(
        subject=subject.name,
        kind=subject.kind,
        wrong=chief is not None,
        sentence=sentence,
        differs="" if differs in sentence else differs,
        record="" if node is None else node.record,
        finding=_finding_text(observed, subject, sentence),
        missing=observed.missing,
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
        waiting=len(waiting_devices(job_devices(observed, subject, chief), chief)),
        others=others,
    )


def _node_of(observed: ObservedState, subject: Subject) -> ObservedNode | None:
    """The node of the question, or the device's."""
    name = subject.name
    if subject.kind is Kind.DEVICE:
        name = subject.devices[0].node
    elif subject.kind is not Kind.NODE:
        return None
    return observed.nodes.get(name)


def _finding_text(observed: ObservedState, subject: Subject, sentence: str) -> str:
    """The detector's finding on the node or device of the question."""
    node = _node_of(observed, subject)
    finding = None if node is None else node.finding
    if finding is None or finding.sentence.removesuffix(".") in sentence:
        return ""
    if subject.kind is Kind.DEVICE and finding.device not in ("", subject.devices[0].id):
        return ""
    return f"{finding.level}: {finding.sentence}"


def _evidence(trouble: Trouble) -> tuple[str, ...]:
    """What the sentence does not say yet; a line that another one contains is left out."""
    stated = {verdict_text(trouble), *STATE_REASONS}
    unstated = [text for text in trouble.evidence if text not in stated]
    apart = [
        text for text in unstated if not any(text != other and text in other for other in unstated)
    ]
    return tuple(apart)[:_MOST_EVIDENCE]


_SENTENCES = {Kind.EVERYTHING: of_everything, Kind.JOB: of_job, Kind.USER: of_job}
