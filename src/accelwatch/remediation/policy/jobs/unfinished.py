"""Moves that have ended before their jobs ran elsewhere, and what they had changed by then. Pure.

A move that is refused, has failed or is not wanted any more may have reserved a node, held its job, and
changed where that may run. The release of the node restores it, or the next move of the job adopts it.
"""

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.pursued import Pursued, PursuitResult

replace = msgspec.structs.replace
_GOES_ON = frozenset({PursuitResult.ACHIEVED, PursuitResult.UNKNOWN})


def changed_by(pursued: Pursued) -> Intent | None:
    """A move that will not go on and has changed something, with what it was before; else None."""
    if pursued.intent.kind is not Kind.MOVE_JOB or pursued.result in _GOES_ON:
        return None
    return replace(pursued.intent, original=dict(pursued.original)) if pursued.original else None


def with_unfinished(remedy: Remedy, move: Intent) -> Remedy:
    """One move a job: what stood there before the first of them counts."""
    merged = with_earlier_changes(remedy, move)
    return replace(
        remedy, jobs=replace(remedy.jobs, unfinished=(*_of_others(remedy, move.job), merged))
    )


def finished(remedy: Remedy, move: Intent) -> Remedy:
    """The job runs elsewhere: what all its moves have changed is the last one's."""
    merged = with_earlier_changes(remedy, move)
    left = _of_others(remedy, move.job)
    return replace(
        remedy, jobs=replace(remedy.jobs, unfinished=left, moved=(*remedy.jobs.moved, merged))
    )


def with_earlier_changes(remedy: Remedy, move: Intent) -> Intent:
    """A move with what earlier ones of its job have changed; the oldest word counts."""
    earlier = next(
        (
            other_move.original
            for other_move in remedy.jobs.unfinished
            if other_move.job == move.job
        ),
        {},
    )
    return replace(move, original={**move.original, **earlier})


def _of_others(remedy: Remedy, job: JobKey | None) -> tuple[Intent, ...]:
    return tuple(other_move for other_move in remedy.jobs.unfinished if other_move.job != job)
