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
    Ignored(_WITH_REMEDY, (T.FIRED,), "the case is kept, and looked at in the next tick"),
    Ignored((S.HEALTHY,), (T.TICK, T.DUE), "there is no remedy that could wait for anything"),
    Ignored((S.UNKNOWN,), (T.TICK,), "only what is observed and people lead on"),
    Ignored((S.OVERRIDDEN,), (T.TICK,), "the node is left alone until the clock has run out"),
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
        "the stage has no clock by which it ends",
    ),
    Ignored((S.HEALTHY,), (T.OVERDUE,), "nothing is waited for"),
    Ignored(
        (S.UNREACHABLE, S.AWAITING_APPROVAL, S.PROBATION),
        (T.OVERDUE,),
        "the stage ends by its own clock; who did not answer in time is notified then",
    ),
    Ignored(
        (S.FAILED, S.UNKNOWN),
        (T.OVERDUE,),
        "a person was notified when it came there, and what is tried again ends here once more",
    ),
    Ignored(
        (S.SUPPRESSED, S.OWNED_BY_OTHER, S.OVERRIDDEN),
        (T.OVERDUE,),
        "a person wanted it so, until a moment that he named or until he ends it",
    ),
    Ignored(
        (*_NOTHING_STARTED, S.PROBATION, S.FAILED, S.OVERRIDDEN),
        (*ENDINGS, T.UNCERTAIN),
        "nothing is on its way there; an end that comes late is taken up as such",
    ),
    Ignored(
        (S.OWNED_BY_OTHER,),
        ENDINGS,
        "the end of what was cancelled before: it is over, and its mark, if any, is kept",
    ),
    Ignored(
        (S.QUARANTINED,),
        (T.ACHIEVED, T.REFUSED, T.GAVE_UP, T.CANCELLED),
        "the end of what was cancelled before: it is over",
    ),
    Ignored((S.UNKNOWN,), (T.UNCERTAIN,), "it is as unknown as before"),
    Ignored(
        (*_NOTHING_STARTED, S.PROBATION, S.OVERRIDDEN),
        (T.OBSERVED_OPEN,),
        "it takes work, as it should for all that was done by us",
    ),
    Ignored(
        (S.HEALTHY, S.OVERRIDDEN), (T.OBSERVED_FOREIGN, T.OBSERVED_DOWN), "it is not our business"
    ),
    Ignored(
        (S.OWNED_BY_OTHER,),
        (T.OBSERVED_FOREIGN, T.OBSERVED_DOWN),
        "another person or tool still holds it",
    ),
    Ignored((*QUARANTINED_STAGES, S.RELEASING), (T.OBSERVED_OURS,), "our mark is where it belongs"),
    Ignored(
        (S.QUARANTINING, S.UNKNOWN),
        (T.OBSERVED_OPEN, T.OBSERVED_OURS, T.OBSERVED_FOREIGN, T.OBSERVED_DOWN),
        "who carries it out looks himself, and says what it has come to",
    ),
    Ignored(
        (*QUARANTINED_STAGES, S.RELEASING, S.FAILED),
        (T.OBSERVED_DOWN,),
        "out of the pool all the same; what is next looks at the node itself",
    ),
    Ignored(
        tuple(S), (T.OBSERVED_MISSING,), "identity is not proven: nothing is done to such a node"
    ),
    Ignored(
        (*_NOTHING_STARTED, S.OWNED_BY_OTHER, S.PROBATION, S.OVERRIDDEN, S.FAILED),
        (T.SWAPPED,),
        "it is not out by us; its rules clear by themselves if that has mended it",
    ),
    Ignored(
        (S.FENCING, S.DRAINING, S.REMEDIATING, S.QUARANTINING, S.UNKNOWN),
        (T.SWAPPED,),
        "what is on its way ends first; it is verified after that",
    ),
    Ignored(
        (S.VERIFYING, S.RELEASING),
        (T.SWAPPED,),
        "the verification is of another generation and starts again",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SUSPECT, S.AWAITING_APPROVAL)),
        (T.APPROVE,),
        "nothing waits for an approval there",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SUSPECT, S.AWAITING_APPROVAL, S.UNREACHABLE)),
        (T.DENY,),
        "it is done already, or there is nothing to do; release it instead",
    ),
    Ignored(
        (S.OWNED_BY_OTHER,), (T.QUARANTINE,), "another person or tool holds it: it is out already"
    ),
    Ignored((S.HEALTHY,), (T.RELEASE, T.FORCE_RELEASE, T.FORGET), "we do not hold it"),
    Ignored(
        (S.OWNED_BY_OTHER,),
        (T.RELEASE, T.FORCE_RELEASE),
        "accelwatch does not hold it: its holder has to release it, or forget it here",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SERVICE, S.FAILED)),
        (T.RECOVERED,),
        "what was seen before counts no more, and the next tick goes by the rest",
    ),
    Ignored(
        tuple(stage for stage in S if stage not in (S.SERVICE, S.FAILED, S.UNKNOWN)),
        (T.RETRY,),
        "nothing has failed that could be tried again",
    ),
)
