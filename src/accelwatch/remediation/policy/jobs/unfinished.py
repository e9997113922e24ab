"""Moves that have ended before their jobs ran elsewhere, and what they had changed by then. Pure.

A move that is refused, given up or not wanted any more may have kept a place, held its job, and changed
where that may run. It is put back with the node, or taken on by the next move of the job.
"""

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Ending, Pursued

replace = msgspec.structs.replace
_GOES_ON = frozenset({Ending.ACHIEVED, Ending.UNKNOWN})


def changed_by(pursued: Pursued) -> Intent | None:
    """A move that will not go on and has changed something, with what it was before; else None."""
    if pursued.intent.kind is not Kind.MOVE_JOB or pursued.ending in _GOES_ON:
        return None
    return replace(pursued.intent, original=dict(pursued.original)) if pursued.original else None


def with_unfinished(remedy: Remedy, move: Intent) -> Remedy:
    """One move a job: what stood there before the first of them counts."""
    whole = taken_on(remedy, move)
    return replace(remedy, unfinished=(*_of_others(remedy, move.job), whole))


def finished(remedy: Remedy, move: Intent) -> Remedy:
    """The job runs elsewhere: what all its moves have changed is the last one's."""
    whole = taken_on(remedy, move)
    left = _of_others(remedy, move.job)
    return replace(remedy, unfinished=left, moved=(*remedy.moved, whole))


def taken_on(remedy: Remedy, move: Intent) -> Intent:
    """A move with what earlier ones of its job have changed; the oldest word counts."""
    earlier = next((one.original for one in remedy.unfinished if one.job == move.job), {})
    return replace(move, original={**move.original, **earlier})


def _of_others(remedy: Remedy, job: JobKey | None) -> tuple[Intent, ...]:
    return tuple(one for one in remedy.unfinished if one.job != job)
