"""Which of the troubles concern the subject of the question."""

from collections.abc import Iterable

from accelwatch.fleet.picture.why.subject import Kind, Subject
from accelwatch.fleet.picture.why.troubles import Trouble


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
