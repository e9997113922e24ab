"""The table of the state machine: in which stage what leads where, under which conditions.

Rows of one stage and trigger are tried in their order; the first whose conditions all hold counts. A
stage and trigger without a row have to stand in `IGNORED` with the reason: a test sees to it that
nothing is forgotten, and that every intent is begun by a row that asks whether it may be.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.state.stage import Stage as S  # noqa: N817 - a table is read by its columns
from accelwatch.remediation.policy.state.stage import Trigger as T  # noqa: N817 - likewise


class Row(NamedTuple):
    """One way from a stage to another."""

    stage: S
    trigger: T
    conditions: tuple[str, ...] = ()
    """Names in `conditions.CONDITIONS`; all must hold."""
    target: S | None = None
    """None: it stays where it is, and its clock goes on."""
    intent_kind: Kind | None = None
    """The intent that is begun."""
    does: tuple[str, ...] = ()
    """Names in `effects.EFFECTS`, in their order."""
    as_before: bool = False
    """The trigger is judged as in the stage in which the doubt began."""


Stages = S | tuple[S, ...]


def _row(
    stages: Stages,
    trigger: T,
    conditions: str,
    target: S | None = None,
    *,
    intent_kind: Kind | None = None,
    does: str = "",
    as_before: bool = False,
) -> tuple[Row, ...]:
    """The same row for each of the stages; conditions and effects are words in one text."""
    names, effects = tuple(conditions.split()), tuple(does.split())
    each = (stages,) if isinstance(stages, S) else stages
    return tuple(
        Row(stage, trigger, names, target, intent_kind, effects, as_before) for stage in each
    )


BEFORE = (S.SUSPECT, S.AWAITING_APPROVAL, S.UNREACHABLE, S.SUPPRESSED)
"""Something is wrong, and nothing was done."""
QUARANTINED_STAGES = (S.QUARANTINED, S.FENCING, S.DRAINING, S.REMEDIATING, S.VERIFYING, S.SERVICE)
"""The node is out by us."""
ACTING = (*QUARANTINED_STAGES, S.QUARANTINING, S.RELEASING)
"""What is wanted of the world may be on its way."""
ENDINGS = (T.ACHIEVED, T.FOREIGN, T.UNDONE, T.REFUSED, T.GAVE_UP, T.CANCELLED)
"""Ends of an intent of which is known what has become of it."""

_START = (
    *_row(S.HEALTHY, T.FIRED, "suspicious", S.SUSPECT),
    *_row(
        (S.HEALTHY, *BEFORE, S.OVERRIDDEN, S.PROBATION), T.QUARANTINE, "", S.SUSPECT, does="by_hand"
    ),
    *_row(S.HEALTHY, T.OBSERVED_OURS, "not_forgotten", S.UNKNOWN, does="adopt"),
    *_row(BEFORE, T.TICK, "quiet", S.HEALTHY),
    *_row(S.SUPPRESSED, T.TICK, "heeded", S.SUSPECT),
    *_row((S.SUSPECT, S.AWAITING_APPROVAL, S.UNREACHABLE), T.TICK, "suppressed", S.SUPPRESSED),
    *_row(
        S.SUSPECT,
        T.TICK,
        "by_person idle may_take_out",
        S.QUARANTINING,
        intent_kind=Kind.QUARANTINE,
    ),
    *_row(S.SUSPECT, T.TICK, "not_answering may_quarantine", S.UNREACHABLE),
    *_row(
        S.SUSPECT,
        T.TICK,
        "idle may_quarantine",
        S.QUARANTINING,
        intent_kind=Kind.QUARANTINE,
        does="count_relapse",
    ),
    *_row(S.SUSPECT, T.TICK, "askable", S.AWAITING_APPROVAL, does="ask"),
    *_row(S.SUSPECT, T.TICK, "blind no_clock", does="watch_blind"),
    *_row(S.SUSPECT, T.TICK, "seeing clock_runs", does="stop_clock"),
    *_row(S.SUSPECT, T.DUE, "", does="tell_blind"),
    *_row(S.UNREACHABLE, T.TICK, "answering", S.SUSPECT),
    *_row(
        S.UNREACHABLE,
        T.DUE,
        "idle may_quarantine",
        S.QUARANTINING,
        intent_kind=Kind.QUARANTINE,
        does="count_relapse",
    ),
    *_row(S.UNREACHABLE, T.DUE, "", S.SUSPECT),
)
_APPROVAL = (
    *_row(
        S.AWAITING_APPROVAL,
        T.TICK,
        "idle may_quarantine",
        S.QUARANTINING,
        intent_kind=Kind.QUARANTINE,
        does="count_relapse",
    ),
    *_row(S.AWAITING_APPROVAL, T.TICK, "not_askable", S.SUSPECT),
    *_row(S.AWAITING_APPROVAL, T.TICK, "plan_changed", does="ask"),
    *_row(S.AWAITING_APPROVAL, T.DUE, "", S.SUSPECT, does="expire"),
    *_row((S.AWAITING_APPROVAL, S.SUSPECT), T.APPROVE, "plan_is_this", S.SUSPECT, does="approve"),
    *_row((S.AWAITING_APPROVAL, S.SUSPECT, S.UNREACHABLE), T.DENY, "", S.SUPPRESSED, does="deny"),
)
_QUARANTINING = (
    *_row(S.QUARANTINING, T.ACHIEVED, "", S.QUARANTINED, does="take_mark"),
    *_row(S.QUARANTINING, T.CANCELLED, "ours_seen", S.QUARANTINED, does="take_mark"),
    *_row(S.QUARANTINING, T.CANCELLED, "", S.SUSPECT),
    *_row(S.QUARANTINING, T.TICK, "idle", S.SUSPECT),
    *_row(S.QUARANTINING, T.TICK, "revoked", does="cancel"),
    *_row(BEFORE, T.OBSERVED_OURS, "not_forgotten", S.QUARANTINED, does="take_mark"),
    *_row(BEFORE, T.OBSERVED_OURS, "", S.OWNED_BY_OTHER),
)
_OTHERS = (
    *_row(BEFORE, T.OBSERVED_FOREIGN, "", S.OWNED_BY_OTHER),
    *_row(BEFORE, T.OBSERVED_DOWN, "", S.OWNED_BY_OTHER),
    *_row(ACTING, T.FOREIGN, "", S.OWNED_BY_OTHER, does="hand_over"),
    *_row(QUARANTINED_STAGES, T.OBSERVED_FOREIGN, "", S.OWNED_BY_OTHER, does="cancel hand_over"),
    *_row(S.RELEASING, T.OBSERVED_FOREIGN, "idle", S.OWNED_BY_OTHER, does="hand_over"),
    *_row(S.FAILED, T.OBSERVED_FOREIGN, "", S.OWNED_BY_OTHER, does="hand_over"),
    *_row(S.OWNED_BY_OTHER, T.OBSERVED_OPEN, "idle suspicious", S.SUSPECT),
    *_row(S.OWNED_BY_OTHER, T.OBSERVED_OPEN, "idle", S.HEALTHY),
    *_row(S.OWNED_BY_OTHER, T.OBSERVED_OURS, "not_forgotten", S.QUARANTINED, does="take_mark"),
    *_row(S.OWNED_BY_OTHER, T.TICK, "quiet idle", S.HEALTHY),
)
_OVERRIDES = (
    *_row(ACTING, T.UNDONE, "", S.OVERRIDDEN, does="override"),
    *_row(QUARANTINED_STAGES, T.OBSERVED_OPEN, "idle state_lost", S.SUSPECT, does="reopen"),
    *_row(S.RELEASING, T.OBSERVED_OPEN, "idle state_lost not_forced", S.PROBATION, does="let_go"),
    *_row(
        (*QUARANTINED_STAGES, S.RELEASING), T.OBSERVED_OPEN, "idle", S.OVERRIDDEN, does="override"
    ),
    *_row(S.FAILED, T.OBSERVED_OPEN, "holding state_lost", S.SUSPECT, does="reopen"),
    *_row(S.FAILED, T.OBSERVED_OPEN, "holding", S.OVERRIDDEN, does="override"),
    *_row((*BEFORE, S.OVERRIDDEN), T.RELEASE, "", S.OVERRIDDEN, does="override"),
    *_row((*BEFORE, S.OVERRIDDEN), T.FORCE_RELEASE, "", S.OVERRIDDEN, does="override"),
    *_row(S.OVERRIDDEN, T.DUE, "suspicious", S.SUSPECT),
    *_row(S.OVERRIDDEN, T.DUE, "", S.HEALTHY),
    *_row(S.OVERRIDDEN, T.OBSERVED_OURS, "", S.RELEASING, does="take_mark take_back"),
)
_NEXT = (
    *_row((S.QUARANTINED, S.DRAINING), T.TICK, "idle judged_otherwise", does="judge_anew"),
    *_row(S.QUARANTINED, T.TICK, "idle well", S.VERIFYING, does="begin_verifying"),
    *_row(
        S.QUARANTINED,
        T.TICK,
        "idle must_fence may_fence",
        S.FENCING,
        intent_kind=Kind.FENCE,
        does="strand",
    ),
    *_row(S.QUARANTINED, T.TICK, "idle jobs_wait", S.DRAINING),
    *_row(S.QUARANTINED, T.TICK, "idle jobs_gone stays_out", S.SERVICE, does="keep_out"),
    *_row(S.QUARANTINED, T.TICK, "idle jobs_gone past_repair", S.SERVICE),
    *_row(S.QUARANTINED, T.TICK, "idle rung_impossible", does="skip_rung"),
    *_row(
        S.QUARANTINED,
        T.TICK,
        "idle next_is_reset empty may_reset",
        S.REMEDIATING,
        intent_kind=Kind.RESET_DEVICE,
        does="attempt",
    ),
    *_row(
        S.QUARANTINED,
        T.TICK,
        "idle next_is_reboot empty may_reboot",
        S.REMEDIATING,
        intent_kind=Kind.REBOOT,
        does="attempt",
    ),
    *_row(
        S.QUARANTINED,
        T.TICK,
        "idle next_is_power_cycle empty may_power_cycle",
        S.REMEDIATING,
        intent_kind=Kind.POWER_CYCLE,
        does="attempt",
    ),
    *_row(S.QUARANTINED, T.TICK, "idle jobs_gone next_is_service", S.SERVICE),
)
_FENCING = (
    *_row(S.FENCING, T.ACHIEVED, "", S.DRAINING, does="fenced"),
    *_row(S.FENCING, T.CANCELLED, "", S.QUARANTINED),
    *_row(S.FENCING, T.TICK, "idle", S.QUARANTINED),
    *_row((S.FENCING, S.REMEDIATING, S.DRAINING), T.TICK, "revoked", does="cancel"),
)
_DRAINING = (
    *_row(S.DRAINING, T.TICK, "idle well", S.VERIFYING, does="begin_verifying"),
    *_row(
        S.DRAINING,
        T.TICK,
        "busy well move_has_left",
        S.VERIFYING,
        does="hand_on begin_verifying",
    ),
    *_row(S.DRAINING, T.TICK, "idle jobs_gone", S.QUARANTINED),
    *_row(S.DRAINING, T.TICK, "idle must_fence", S.QUARANTINED),
    *_row(S.DRAINING, T.TICK, "idle look_next may_look", intent_kind=Kind.FOLLOW_JOB),
    *_row(S.DRAINING, T.TICK, "idle swap_next may_swap", intent_kind=Kind.SWAP_IN_JOB),
    *_row(S.DRAINING, T.TICK, "idle signal_next may_signal", intent_kind=Kind.SIGNAL_JOB),
    *_row(S.DRAINING, T.TICK, "busy spare_for_move may_draw", does="cancel"),
    *_row(S.DRAINING, T.TICK, "idle spare_next no_spare may_move", does="no_spare"),
    *_row(
        S.DRAINING,
        T.TICK,
        "idle spare_next spare_found may_draw",
        intent_kind=Kind.DRAW_SPARE,
        does="reserve_spare",
    ),
    *_row(
        S.DRAINING,
        T.TICK,
        "idle move_next may_move",
        intent_kind=Kind.MOVE_JOB,
        does="count_resume",
    ),
    *_row(
        S.DRAINING,
        T.TICK,
        "idle cancel_next may_cancel",
        intent_kind=Kind.CANCEL_JOB,
        does="count_cancel",
    ),
    *_row(S.DRAINING, T.ACHIEVED, "moved_back", does="moved_back"),
    *_row(S.DRAINING, T.ACHIEVED, "", does="job_done"),
    *_row(S.DRAINING, T.REFUSED, "died", does="job_lost"),
    *_row(S.DRAINING, T.REFUSED, "of_look", does="look_over"),
    *_row(S.DRAINING, T.GAVE_UP, "of_look", does="look_over"),
    *_row(S.DRAINING, T.REFUSED, "of_swap", does="move_instead"),
    *_row(S.DRAINING, T.GAVE_UP, "of_swap", does="move_instead"),
    *_row(S.DRAINING, T.REFUSED, "", does="count_refusal leave_job"),
    *_row(S.DRAINING, T.GAVE_UP, "of_spare", does="leave_job"),
    *_row(S.DRAINING, T.GAVE_UP, "job_waits", does="wait_on"),
    *_row(S.DRAINING, T.CANCELLED, "of_spare", does="put_spare_back"),
    *_row(S.DRAINING, T.CANCELLED, "of_move", does="move_again"),
    *_row(S.DRAINING, T.CANCELLED, ""),
)
_REMEDIATING = (
    *_row(S.REMEDIATING, T.TICK, "busy well", does="cancel"),
    *_row(S.REMEDIATING, T.TICK, "idle", S.QUARANTINED),
    *_row(S.REMEDIATING, T.ACHIEVED, "", S.VERIFYING, does="mended begin_verifying"),
    *_row(S.REMEDIATING, T.REFUSED, "", S.QUARANTINED, does="count_refusal next_rung"),
    *_row(S.REMEDIATING, T.GAVE_UP, "", S.QUARANTINED, does="rung_failed count_failure"),
    *_row(S.REMEDIATING, T.CANCELLED, "", S.QUARANTINED),
)
_VERIFYING = (
    *_row(S.VERIFYING, T.TICK, "idle stays_out", S.SERVICE, does="keep_out"),
    *_row(S.VERIFYING, T.TICK, "idle wrong_again", S.QUARANTINED),
    *_row(S.VERIFYING, T.TICK, "idle still_wrong", S.QUARANTINED),
    *_row(S.VERIFYING, T.TICK, "idle seen_bad", S.QUARANTINED, does="seen_bad"),
    *_row(S.VERIFYING, T.TICK, "busy wrong_again", does="cancel"),
    *_row(S.VERIFYING, T.TICK, "revoked", does="cancel"),
    *_row(S.VERIFYING, T.TICK, "idle other_generation", does="begin_verifying"),
    *_row(S.VERIFYING, T.TICK, "idle passive_done test_next may_test", intent_kind=Kind.TEST),
    *_row(S.VERIFYING, T.TICK, "idle passive_done tests_done", S.RELEASING, does="tell_verified"),
    *_row(S.VERIFYING, T.ACHIEVED, "", does="test_passed"),
    *_row(S.VERIFYING, T.REFUSED, "", S.QUARANTINED, does="unfit"),
    *_row(S.VERIFYING, T.GAVE_UP, "", S.QUARANTINED, does="unfit"),
    *_row(S.VERIFYING, T.CANCELLED, ""),
)
_RELEASING = (
    *_row(S.RELEASING, T.TICK, "busy by_person", does="cancel"),
    *_row(S.RELEASING, T.TICK, "busy wrong not_forced", does="cancel"),
    *_row(S.RELEASING, T.TICK, "idle wrong not_forced holding", S.QUARANTINED),
    *_row(S.RELEASING, T.TICK, "idle wrong not_forced", S.SUSPECT),
    *_row(
        S.RELEASING, T.TICK, "idle other_generation not_forced", S.VERIFYING, does="begin_verifying"
    ),
    *_row(
        S.RELEASING,
        T.TICK,
        "idle may_release",
        intent_kind=Kind.RELEASE,
        does="count_release put_lists_back",
    ),
    *_row(S.RELEASING, T.ACHIEVED, "by_person", S.SUSPECT, does="let_go"),
    *_row(S.RELEASING, T.ACHIEVED, "forced", S.OVERRIDDEN, does="let_go override"),
    *_row(S.RELEASING, T.ACHIEVED, "probation", S.PROBATION, does="let_go"),
    *_row(S.RELEASING, T.ACHIEVED, "suspicious", S.SUSPECT, does="let_go"),
    *_row(S.RELEASING, T.ACHIEVED, "", S.HEALTHY, does="let_go"),
    *_row(S.RELEASING, T.CANCELLED, "open_seen", S.PROBATION, does="let_go"),
    *_row(S.RELEASING, T.CANCELLED, "forced"),
    *_row(S.RELEASING, T.CANCELLED, "holding", S.QUARANTINED),
    *_row(S.RELEASING, T.CANCELLED, "", S.SUSPECT),
    *_row(S.PROBATION, T.TICK, "wrong", S.SUSPECT, does="relapse"),
    *_row(S.PROBATION, T.DUE, "suspicious", S.SUSPECT),
    *_row(S.PROBATION, T.DUE, "", S.HEALTHY),
    *_row(S.PROBATION, T.OBSERVED_OURS, "", S.QUARANTINED, does="take_mark"),
    *_row(S.PROBATION, T.OBSERVED_FOREIGN, "suspicious", S.SUSPECT),
    *_row(S.PROBATION, T.OBSERVED_FOREIGN, "", S.HEALTHY),
    *_row(S.PROBATION, T.OBSERVED_DOWN, "suspicious", S.SUSPECT),
    *_row(S.PROBATION, T.OBSERVED_DOWN, "", S.HEALTHY),
    *_row(S.PROBATION, T.RELEASE, "suspicious", S.SUSPECT),
    *_row(S.PROBATION, T.RELEASE, "", S.HEALTHY),
    *_row(S.PROBATION, T.FORCE_RELEASE, "suspicious", S.SUSPECT),
    *_row(S.PROBATION, T.FORCE_RELEASE, "", S.HEALTHY),
)
_SERVICE = (
    *_row(S.SERVICE, T.TICK, "idle not_ticketed may_service", intent_kind=Kind.SERVICE),
    *_row(S.SERVICE, T.ACHIEVED, "", does="ticketed"),
    *_row(S.SERVICE, T.REFUSED, "", does="ticket_failed"),
    *_row(S.SERVICE, T.GAVE_UP, "", does="ticket_failed"),
    *_row(S.SERVICE, T.UNCERTAIN, "", does="ticket_failed"),
    *_row(S.SERVICE, T.CANCELLED, ""),
    *_row(S.SERVICE, T.RETRY, "", S.VERIFYING, does="cancel trust_anew fit begin_verifying"),
    *_row(S.SERVICE, T.RECOVERED, "", S.VERIFYING, does="cancel trust_anew fit begin_verifying"),
    *_row(
        (S.SERVICE, S.QUARANTINED),
        T.SWAPPED,
        "not_by_person",
        S.VERIFYING,
        does="cancel trust_anew swap fit begin_verifying",
    ),
)
_FAILED = (
    *_row(
        (S.QUARANTINING, S.FENCING, S.RELEASING),
        T.REFUSED,
        "",
        S.FAILED,
        does="count_failure fail",
    ),
    *_row(
        (S.QUARANTINING, S.FENCING, S.RELEASING, S.DRAINING),
        T.GAVE_UP,
        "",
        S.FAILED,
        does="count_failure fail",
    ),
    *_row(S.FAILED, T.TICK, "well holding goes_on_suspect", S.VERIFYING, does="begin_verifying"),
    *_row(
        S.FAILED, T.TICK, "well holding goes_on_quarantined", S.VERIFYING, does="begin_verifying"
    ),
    *_row(S.FAILED, T.TICK, "quiet not_holding", S.HEALTHY),
    *_row(S.FAILED, T.TICK, "well not_holding", S.SUSPECT),
    *_row(S.FAILED, T.DUE, "tries_left goes_on_suspect", S.SUSPECT),
    *_row(S.FAILED, T.DUE, "tries_left goes_on_quarantined", S.QUARANTINED),
    *_row(S.FAILED, T.DUE, "tries_left goes_on_releasing", S.RELEASING),
    *_row(S.FAILED, T.RETRY, "goes_on_suspect", S.SUSPECT, does="try_anew"),
    *_row(S.FAILED, T.RETRY, "goes_on_quarantined", S.QUARANTINED, does="try_anew"),
    *_row(S.FAILED, T.RETRY, "goes_on_releasing", S.RELEASING, does="try_anew"),
    *_row(S.FAILED, T.RECOVERED, "holding", S.VERIFYING, does="trust_anew fit begin_verifying"),
    *_row(S.FAILED, T.OBSERVED_OURS, "not_holding", S.QUARANTINED, does="take_mark"),
    *_row(S.FAILED, T.RELEASE, "nothing_open not_holding suspicious", S.SUSPECT),
    *_row(S.FAILED, T.RELEASE, "nothing_open not_holding", S.HEALTHY),
)
_UNKNOWN = (
    *_row(
        tuple(stage for stage in ACTING if stage is not S.SERVICE),
        T.UNCERTAIN,
        "",
        S.UNKNOWN,
        does="doubt",
    ),
    *_row(S.OWNED_BY_OTHER, T.UNCERTAIN, "", S.UNKNOWN, does="doubt"),
    *(row for trigger in ENDINGS for row in _row(S.UNKNOWN, trigger, "", as_before=True)),
    *_row(S.UNKNOWN, T.RETRY, "goes_on_releasing", S.RELEASING, does="drop"),
    *_row(S.UNKNOWN, T.RETRY, "holding", S.QUARANTINED, does="drop"),
    *_row(S.UNKNOWN, T.RETRY, "", S.SUSPECT, does="drop"),
)
_PEOPLE = (
    *_row(
        (S.FENCING, S.DRAINING, S.REMEDIATING),
        T.QUARANTINE,
        "",
        S.QUARANTINED,
        does="cancel by_hand",
    ),
    *_row((S.VERIFYING, S.RELEASING), T.QUARANTINE, "idle holding", S.QUARANTINED, does="by_hand"),
    *_row(
        (S.QUARANTINING, S.QUARANTINED, S.SERVICE, S.VERIFYING, S.RELEASING, S.FAILED, S.UNKNOWN),
        T.QUARANTINE,
        "",
        does="by_hand",
    ),
    *_row(S.QUARANTINING, T.RELEASE, "", S.RELEASING, does="cancel trust_anew force"),
    *_row(
        QUARANTINED_STAGES,
        T.RELEASE,
        "nothing_open",
        S.VERIFYING,
        does="cancel vouch trust_anew fit begin_verifying",
    ),
    *_row(
        (S.FAILED, S.UNKNOWN),
        T.RELEASE,
        "nothing_open holding",
        S.VERIFYING,
        does="drop vouch trust_anew fit begin_verifying",
    ),
    *_row(S.RELEASING, T.RELEASE, "", does="vouch"),
    *_row(
        (*QUARANTINED_STAGES, S.QUARANTINING),
        T.FORCE_RELEASE,
        "",
        S.RELEASING,
        does="cancel trust_anew force",
    ),
    *_row((S.FAILED, S.UNKNOWN), T.FORCE_RELEASE, "", S.RELEASING, does="drop trust_anew force"),
    *_row(S.RELEASING, T.FORCE_RELEASE, "", does="force"),
    *_row(
        tuple(stage for stage in S if stage is not S.HEALTHY),
        T.FORGET,
        "",
        S.HEALTHY,
        does="forget",
    ),
)

WAITING = (
    *(S.SUSPECT, S.QUARANTINING, S.QUARANTINED, S.FENCING, S.DRAINING),
    *(S.REMEDIATING, S.VERIFYING, S.RELEASING, S.SERVICE),
)
"""In these something is waited for that may never come: each has a deadline (`deadlines.py`)."""
_OVERDUE = _row(WAITING, T.OVERDUE, "", does="notify_overdue")

TABLE: tuple[Row, ...] = (
    *_START,
    *_APPROVAL,
    *_QUARANTINING,
    *_OTHERS,
    *_OVERRIDES,
    *_NEXT,
    *_FENCING,
    *_DRAINING,
    *_REMEDIATING,
    *_VERIFYING,
    *_RELEASING,
    *_SERVICE,
    *_FAILED,
    *_UNKNOWN,
    *_PEOPLE,
    *_OVERDUE,
)


def _by_stage_and_trigger(rows: tuple[Row, ...]) -> Mapping[tuple[S, T], tuple[Row, ...]]:
    rows_by_key: dict[tuple[S, T], tuple[Row, ...]] = {}
    for row in rows:
        key = (row.stage, row.trigger)
        rows_by_key[key] = (*rows_by_key.get(key, ()), row)
    return MappingProxyType(rows_by_key)


ROWS = _by_stage_and_trigger(TABLE)
"""The rows of a stage and trigger, in the order in which they are tried."""
