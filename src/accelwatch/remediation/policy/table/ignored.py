"""What the table of the state machine leaves alone, and why: nothing is ignored for want of a row."""

from typing import NamedTuple

from accelwatch.remediation.policy.state.stage import Stage as S  # noqa: N817 - a table is read by its columns
from accelwatch.remediation.policy.state.stage import Trigger as T  # noqa: N817 - likewise
from accelwatch.remediation.policy.table.machine import ENDINGS, QUARANTINED_STAGES


class Ignored(NamedTuple):
    """Triggers that change nothing in these stages."""

    stages: tuple[S, ...]
    triggers: tuple[T, ...]
    why: str


_NOTHING_STARTED = (S.HEALTHY, S.SUSPECT, S.SUPPRESSED, S.AWAITING_APPROVAL, S.UNREACHABLE)
_WITH_REMEDY = tuple(stage for stage in S if stage is not S.HEALTHY)
_IN_FLIGHT = (S.QUARANTINING, S.FENCING, S.REMEDIATING, S.RELEASING)

IGNORED: tuple[Ignored, ...] = (
    Ignored(_WITH_REMEDY, (T.FIRED,), "the case is stored and evaluated in the next tick"),
    Ignored((S.HEALTHY,), (T.TICK, T.DUE), "no remedy is waiting"),
    Ignored((S.UNKNOWN,), (T.TICK,), "only an observation or a person ends this stage"),
    Ignored((S.OVERRIDDEN,), (T.TICK,), "the node is left alone until its time is over"),
    Ignored(
        (
            S.SUPPRESSED,
            S.OWNED_BY_OTHER,
            S.QUARANTINED,
            S.DRAINING,
            S.VERIFYING,
            S.SERVICE,
            S.UNKNOWN,
            *_IN_FLIGHT,
        ),
        (T.DUE,),
        "the stage has no time limit",
    ),
    Ignored((S.HEALTHY,), (T.OVERDUE,), "nothing is pending"),
    Ignored(
        (S.UNREACHABLE, S.AWAITING_APPROVAL, S.PROBATION),
        (T.OVERDUE,),
        "the stage ends by its own time limit, which sends the notification",
    ),
    Ignored(
        (S.FAILED, S.UNKNOWN),
        (T.OVERDUE,),
        "a person was notified on entry, and a retry that fails ends here again",
    ),
    Ignored(
        (S.SUPPRESSED, S.OWNED_BY_OTHER, S.OVERRIDDEN),
        (T.OVERDUE,),
        "requested by a person or tool, until the requested time or until they end it",
    ),
    Ignored(
        (*_NOTHING_STARTED, S.PROBATION, S.FAILED, S.OVERRIDDEN),
        (*ENDINGS, T.UNCERTAIN),
        "no operation is in progress; a late result is handled separately",
    ),
    Ignored(
        (S.OWNED_BY_OTHER,),
        ENDINGS,
        "result of a cancelled operation; its mark, if any, stays",
    ),
    Ignored(
        (S.QUARANTINED,),
        (T.ACHIEVED, T.REFUSED, T.GAVE_UP, T.CANCELLED),
        "result of a cancelled operation",
    ),
    Ignored((S.UNKNOWN,), (T.UNCERTAIN,), "still unknown"),
    Ignored(
        (*_NOTHING_STARTED, S.PROBATION, S.OVERRIDDEN),
        (T.OBSERVED_OPEN,),
        "the node accepts work, as expected",
    ),
    Ignored(
        (S.HEALTHY, S.OVERRIDDEN),
        (T.OBSERVED_FOREIGN, T.OBSERVED_DOWN),
        "the node is not managed by accelwatch",
    ),
    Ignored(
        (S.OWNED_BY_OTHER,),
        (T.OBSERVED_FOREIGN, T.OBSERVED_DOWN),
        "another person or tool still holds it",
    ),
    Ignored((*QUARANTINED_STAGES, S.RELEASING), (T.OBSERVED_OURS,), "our mark is expected"),
    Ignored(
        (S.QUARANTINING, S.UNKNOWN),
        (T.OBSERVED_OPEN, T.OBSERVED_OURS, T.OBSERVED_FOREIGN, T.OBSERVED_DOWN),
        "the running operation observes the node itself and reports the result",
    ),
    Ignored(
        (*QUARANTINED_STAGES, S.RELEASING, S.FAILED),
        (T.OBSERVED_DOWN,),
        "the node is out of the pool in any case; the next step checks it",
    ),
    Ignored(tuple(S), (T.OBSERVED_MISSING,), "identity is not proven: no action on such a node"),
    Ignored(
        (*_NOTHING_STARTED, S.OWNED_BY_OTHER, S.PROBATION, S.OVERRIDDEN, S.FAILED),
        (T.SWAPPED,),
        "not quarantined by accelwatch; its rules clear if the new hardware works",
    ),
    Ignored(
        (S.FENCING, S.DRAINING, S.REMEDIATING, S.QUARANTINING, S.UNKNOWN),
        (T.SWAPPED,),
        "the running operation finishes first; then the node is verified",
    ),
    Ignored(
        (S.VERIFYING, S.RELEASING),
        (T.SWAPPED,),
        "the verification is of another generation and starts again",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SUSPECT, S.AWAITING_APPROVAL)),
        (T.APPROVE,),
        "no approval is pending",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SUSPECT, S.AWAITING_APPROVAL, S.UNREACHABLE)),
        (T.DENY,),
        "already done, or nothing to do; release it instead",
    ),
    Ignored(
        (S.OWNED_BY_OTHER,), (T.QUARANTINE,), "another person or tool holds it: it is out already"
    ),
    Ignored((S.HEALTHY,), (T.RELEASE, T.FORCE_RELEASE, T.FORGET), "accelwatch does not hold it"),
    Ignored(
        (S.OWNED_BY_OTHER,),
        (T.RELEASE, T.FORCE_RELEASE),
        "accelwatch does not hold it: its holder has to release it, or forget it here",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SERVICE, S.FAILED)),
        (T.RECOVERED,),
        "earlier observations no longer count; the next tick uses newer ones",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SERVICE, S.FAILED, S.UNKNOWN)),
        (T.RETRY,),
        "no failed step to retry",
    ),
)
