"""The call that a step makes: the intent that it is for, and the ids that a script knows it by."""

import hashlib

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobObservation
from accelwatch.action.step import Step
from accelwatch_script import evaluation
from accelwatch_script.call import Call, of_intent


def intent_of(step: Step) -> tuple[Intent, JobObservation | None]:
    """What a step is for, and its job as it was seen. Raises KeyError, msgspec.DecodeError."""
    job = step.arguments.get(evaluation.JOB)
    return (
        msgspec.json.decode(step.arguments[evaluation.INTENT], type=Intent),
        msgspec.json.decode(job, type=JobObservation) if job else None,
    )


def call_of_step(
    intent: Intent, last: JobObservation | None, step: Step, operation: str, attempt: int
) -> Call:
    """The call of a step, of an operation by its id; its deadline is the caller's to fill in."""
    return msgspec.structs.replace(
        of_intent(intent, last, step.arguments.get(evaluation.CHECKPOINT, ""), 0.0),
        operation_id=_operation_id(intent, step),
        attempt=attempt,
        attempt_id=operation,
        precondition=step.precondition,
    )


def _operation_id(intent: Intent, step: Step) -> str:
    """The same for each attempt at a step; the journal counts each of them as an operation."""
    content = step.arguments[evaluation.INTENT].encode() + msgspec.json.encode(step.precondition)
    return f"{intent.mark.incident}-{key_of(content)[:16]}"


def key_of(intent: bytes) -> str:
    """What calls for the same intent have in common."""
    return hashlib.sha256(intent).hexdigest()
