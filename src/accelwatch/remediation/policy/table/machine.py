"""The table of the state machine: in which stage what leads where, under which conditions.

Rows of one stage and trigger are tried in their order; the first whose conditions all hold counts. A
stage and trigger without a row have to stand in `IGNORED` with the reason: a test sees to it that
nothing is forgotten, and that every intent starts in a row that checks whether it may.
"""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.conditions.jobs import (
    cancel_next,
    check_next,
    died,
    drained,
    empty,
    has_spare,
    job_waits,
    jobs_wait,
    move_has_left,
    move_next,
    moved_back,
    must_fence,
    no_spare,
    of_check,
    of_move,
    of_spare,
    of_swap,
    signal_next,
    spare_for_move,
    spare_next,
    swap_next,
)
from accelwatch.remediation.policy.conditions.node import (
    answering,
    blind,
    by_person,
    forced,
    is_not_quarantined,
    is_quarantined,
    is_releasable,
    needs_quarantine,
    not_answering,
    not_by_person,
    not_forced,
    not_forgotten,
    not_suppressed,
    nothing_open,
    open_observed,
    ours_observed,
    probation,
    quiet,
    seeing,
    state_lost,
    suppressed,
    suspicious,
)
from accelwatch.remediation.policy.conditions.permission import (
    askable,
    may_cancel,
    may_check,
    may_cordon,
    may_draw,
    may_fence,
    may_move,
    may_power_cycle,
    may_quarantine,
    may_reboot,
    may_release,
    may_reset,
    may_service,
    may_signal,
    may_swap,
    may_test,
    not_askable,
    plan_changed,
    plan_is_this,
)
from accelwatch.remediation.policy.conditions.progress import (
    busy,
    clock_runs,
    evaluated_otherwise,
    exceeds_quarantine,
    goes_on_quarantined,
    goes_on_releasing,
    goes_on_suspect,
    idle,
    no_clock,
    not_ticketed,
    revoked,
    stays_out,
    tries_left,
)
from accelwatch.remediation.policy.conditions.repair import (
    failed_test,
    fell_short,
    next_is_power_cycle,
    next_is_reboot,
    next_is_reset,
    next_is_service,
    observed_bad,
    other_generation,
    other_peer,
    passive_checks_passed,
    past_repair,
    peer_is_busy,
    step_impossible,
    still_wrong,
    test_next,
    tests_passed,
    wrong_again,
)
from accelwatch.remediation.policy.conditions.transition import Effect
from accelwatch.remediation.policy.effects import (
    approvals,
    deadlines,
    escalation_steps,
    handed_on,
    job_moves,
    lost_jobs,
    node_quarantine,
    overrides,
    reevaluation,
    relapsing,
    repairs,
    restored_jobs,
    verification,
)
from accelwatch.remediation.policy.state.stage import Stage as S  # noqa: N817 - a table is read by its columns
from accelwatch.remediation.policy.state.stage import Trigger as T  # noqa: N817 - likewise
from accelwatch.remediation.policy.table.row import TransitionRow, row

# Something is wrong, and nothing was done.
BEFORE = (S.SUSPECT, S.AWAITING_APPROVAL, S.UNREACHABLE, S.SUPPRESSED)
# The node is out by us.
QUARANTINED_STAGES = (S.QUARANTINED, S.FENCING, S.DRAINING, S.REMEDIATING, S.VERIFYING, S.SERVICE)
# What is wanted of the world may be on its way.
ACTING = (*QUARANTINED_STAGES, S.QUARANTINING, S.RELEASING)
# Ends of an intent of which is known what has become of it.
ENDINGS = (T.ACHIEVED, T.FOREIGN, T.UNDONE, T.REFUSED, T.GAVE_UP, T.CANCELLED)

# A person has checked the node, or it has other hardware: earlier observations do not count.
VERIFY_AGAIN: tuple[Effect, ...] = (
    relapsing.reset_relapses,
    repairs.fit,
    verification.start_verifying,
)

# A row has one line or two: its conditions, and below them its effects.
# fmt: off
_START = (
    *row(S.HEALTHY, T.FIRED, suspicious, to=S.SUSPECT),
    *row((S.HEALTHY, *BEFORE, S.OVERRIDDEN, S.PROBATION), T.QUARANTINE,
         to=S.SUSPECT, does=(approvals.by_hand,)),
    *row(S.HEALTHY, T.OBSERVED_OURS, not_forgotten, to=S.UNKNOWN, does=(node_quarantine.adopt,)),
    *row(BEFORE, T.TICK, quiet, to=S.HEALTHY),
    *row(S.SUPPRESSED, T.TICK, not_suppressed, to=S.SUSPECT),
    *row((S.SUSPECT, S.AWAITING_APPROVAL, S.UNREACHABLE), T.TICK, suppressed, to=S.SUPPRESSED),
    *row(S.SUSPECT, T.TICK, by_person, idle, may_cordon,
         to=S.QUARANTINING, intent=Kind.QUARANTINE),
    *row(S.SUSPECT, T.TICK, not_answering, may_quarantine, to=S.UNREACHABLE),
    *row(S.SUSPECT, T.TICK, idle, may_quarantine,
         to=S.QUARANTINING, intent=Kind.QUARANTINE, does=(relapsing.count_relapse,)),
    *row(S.SUSPECT, T.TICK, askable, to=S.AWAITING_APPROVAL, does=(approvals.request_approval,)),
    *row(S.SUSPECT, T.TICK, blind, no_clock, does=(approvals.watch_blind,)),
    *row(S.SUSPECT, T.TICK, seeing, clock_runs, does=(approvals.stop_clock,)),
    *row(S.SUSPECT, T.DUE, does=(approvals.notify_blind,)),
    *row(S.UNREACHABLE, T.TICK, answering, to=S.SUSPECT),
    *row(S.UNREACHABLE, T.DUE, idle, may_quarantine,
         to=S.QUARANTINING, intent=Kind.QUARANTINE, does=(relapsing.count_relapse,)),
    *row(S.UNREACHABLE, T.DUE, to=S.SUSPECT),
)
# A question stands until it is answered, until its clock runs out, or until it is about another plan.
_APPROVAL = (
    *row(S.AWAITING_APPROVAL, T.TICK, idle, may_quarantine,
         to=S.QUARANTINING, intent=Kind.QUARANTINE, does=(relapsing.count_relapse,)),
    *row(S.AWAITING_APPROVAL, T.TICK, not_askable, to=S.SUSPECT),
    *row(S.AWAITING_APPROVAL, T.TICK, plan_changed, does=(approvals.request_approval,)),
    *row(S.AWAITING_APPROVAL, T.DUE, to=S.SUSPECT, does=(approvals.expire,)),
    *row((S.AWAITING_APPROVAL, S.SUSPECT), T.APPROVE, plan_is_this,
         to=S.SUSPECT, does=(approvals.approve,)),
    *row((S.AWAITING_APPROVAL, S.SUSPECT, S.UNREACHABLE), T.DENY,
         to=S.SUPPRESSED, does=(approvals.deny,)),
)
# A drain that was cancelled may have happened all the same: what was seen last decides.
_QUARANTINING = (
    *row(S.QUARANTINING, T.ACHIEVED, to=S.QUARANTINED, does=(node_quarantine.record_quarantine,)),
    *row(S.QUARANTINING, T.CANCELLED, ours_observed,
         to=S.QUARANTINED, does=(node_quarantine.record_quarantine,)),
    *row(S.QUARANTINING, T.CANCELLED, is_quarantined, to=S.QUARANTINED),
    *row(S.QUARANTINING, T.CANCELLED, to=S.SUSPECT),
    *row(S.QUARANTINING, T.TICK, idle, is_quarantined, to=S.QUARANTINED),
    *row(S.QUARANTINING, T.TICK, idle, to=S.SUSPECT),
    *row(S.QUARANTINING, T.TICK, revoked, does=(node_quarantine.cancel,)),
    *row(BEFORE, T.OBSERVED_OURS, not_forgotten,
         to=S.QUARANTINED, does=(node_quarantine.record_quarantine,)),
    *row(BEFORE, T.OBSERVED_OURS, to=S.OWNED_BY_OTHER),
)
# Another person or tool holds the node: nothing is touched, also where our mark is still on it.
_OTHERS = (
    *row(BEFORE, T.OBSERVED_FOREIGN, to=S.OWNED_BY_OTHER),
    *row(BEFORE, T.OBSERVED_DOWN, to=S.OWNED_BY_OTHER),
    *row(ACTING, T.FOREIGN, to=S.OWNED_BY_OTHER, does=(overrides.hand_over,)),
    *row(QUARANTINED_STAGES, T.OBSERVED_FOREIGN,
         to=S.OWNED_BY_OTHER, does=(node_quarantine.cancel, overrides.hand_over)),
    *row(S.RELEASING, T.OBSERVED_FOREIGN, idle,
         to=S.OWNED_BY_OTHER, does=(overrides.hand_over,)),
    *row(S.FAILED, T.OBSERVED_FOREIGN, to=S.OWNED_BY_OTHER, does=(overrides.hand_over,)),
    *row(S.OWNED_BY_OTHER, T.OBSERVED_OPEN, idle, suspicious, to=S.SUSPECT),
    *row(S.OWNED_BY_OTHER, T.OBSERVED_OPEN, idle, to=S.HEALTHY),
    *row(S.OWNED_BY_OTHER, T.OBSERVED_OURS, not_forgotten,
         to=S.QUARANTINED, does=(node_quarantine.record_quarantine,)),
    *row(S.OWNED_BY_OTHER, T.TICK, quiet, idle, to=S.HEALTHY),
)
# Observed open without our doing: check whether the scheduler has lost its state before a person is
# blamed, for a person's override keeps the node in the pool for hours.
_OVERRIDES = (
    *row(ACTING, T.UNDONE, to=S.OVERRIDDEN, does=(overrides.override,)),
    *row(QUARANTINED_STAGES, T.OBSERVED_OPEN, idle, state_lost,
         to=S.SUSPECT, does=(overrides.reopen,)),
    *row(S.RELEASING, T.OBSERVED_OPEN, idle, state_lost, not_forced,
         to=S.PROBATION, does=(node_quarantine.confirm_release,)),
    *row((*QUARANTINED_STAGES, S.RELEASING), T.OBSERVED_OPEN, idle,
         to=S.OVERRIDDEN, does=(overrides.override,)),
    *row(S.FAILED, T.OBSERVED_OPEN, is_quarantined, state_lost,
         to=S.SUSPECT, does=(overrides.reopen,)),
    *row(S.FAILED, T.OBSERVED_OPEN, is_quarantined, to=S.OVERRIDDEN, does=(overrides.override,)),
    *row((*BEFORE, S.OVERRIDDEN), T.RELEASE, to=S.OVERRIDDEN, does=(overrides.override,)),
    *row((*BEFORE, S.OVERRIDDEN), T.FORCE_RELEASE,
         to=S.OVERRIDDEN, does=(overrides.override,)),
    *row(S.OVERRIDDEN, T.DUE, suspicious, to=S.SUSPECT),
    *row(S.OVERRIDDEN, T.DUE, to=S.HEALTHY),
    *row(S.OVERRIDDEN, T.OBSERVED_OURS,
         to=S.RELEASING,
         does=(node_quarantine.record_quarantine, overrides.revert_late_quarantine)),
)
# What is next for a node that is out: well before fenced, fenced before emptied, emptied before
# repaired. Each row that starts an intent requires `idle` first: one intent on a node at a time.
_NEXT = (
    *row((S.QUARANTINED, S.DRAINING), T.TICK, idle, evaluated_otherwise,
         does=(reevaluation.reevaluate,)),
    *row(S.QUARANTINED, T.TICK, idle, is_releasable, to=S.VERIFYING,
         does=(verification.start_verifying,)),
    *row((S.QUARANTINED, S.DRAINING, S.SERVICE), T.TICK, idle, exceeds_quarantine, may_quarantine,
         to=S.QUARANTINING, intent=Kind.QUARANTINE),
    *row(S.QUARANTINED, T.TICK, idle, must_fence, may_fence,
         to=S.FENCING, intent=Kind.FENCE, does=(job_moves.strand,)),
    *row(S.QUARANTINED, T.TICK, idle, jobs_wait, to=S.DRAINING),
    *row(S.QUARANTINED, T.TICK, idle, drained, stays_out,
         to=S.SERVICE, does=(relapsing.notify_stays_out,)),
    *row(S.QUARANTINED, T.TICK, idle, drained, past_repair, to=S.SERVICE),
    *row(S.QUARANTINED, T.TICK, idle, step_impossible, does=(escalation_steps.skip_step,)),
    *row(S.QUARANTINED, T.TICK, idle, next_is_reset, empty, may_reset,
         to=S.REMEDIATING, intent=Kind.RESET_DEVICE, does=(repairs.attempt,)),
    *row(S.QUARANTINED, T.TICK, idle, next_is_reboot, empty, may_reboot,
         to=S.REMEDIATING, intent=Kind.REBOOT, does=(repairs.attempt,)),
    *row(S.QUARANTINED, T.TICK, idle, next_is_power_cycle, empty, may_power_cycle,
         to=S.REMEDIATING, intent=Kind.POWER_CYCLE, does=(repairs.attempt,)),
    *row(S.QUARANTINED, T.TICK, idle, drained, next_is_service, to=S.SERVICE),
)
_FENCING = (
    *row(S.FENCING, T.ACHIEVED, to=S.DRAINING, does=(job_moves.fenced,)),
    *row(S.FENCING, T.CANCELLED, to=S.QUARANTINED),
    *row(S.FENCING, T.TICK, idle, to=S.QUARANTINED),
    *row((S.FENCING, S.REMEDIATING, S.DRAINING), T.TICK, revoked, does=(node_quarantine.cancel,)),
)
# A job is checked, then kept on the node by its launcher, then warned, and only then moved or ended.
_DRAINING = (
    *row(S.DRAINING, T.TICK, idle, is_releasable, to=S.VERIFYING, does=(verification.start_verifying,)),
    *row(S.DRAINING, T.TICK, busy, is_releasable, move_has_left,
         to=S.VERIFYING, does=(handed_on.hand_on, verification.start_verifying)),
    *row(S.DRAINING, T.TICK, idle, drained, to=S.QUARANTINED),
    *row(S.DRAINING, T.TICK, idle, must_fence, to=S.QUARANTINED),
    *row(S.DRAINING, T.TICK, idle, check_next, may_check, intent=Kind.FOLLOW_JOB),
    *row(S.DRAINING, T.TICK, idle, swap_next, may_swap, intent=Kind.SWAP_IN_JOB),
    *row(S.DRAINING, T.TICK, idle, signal_next, may_signal, intent=Kind.SIGNAL_JOB),
    *row(S.DRAINING, T.TICK, busy, spare_for_move, may_draw, does=(node_quarantine.cancel,)),
    *row(S.DRAINING, T.TICK, idle, spare_next, no_spare, may_move, does=(job_moves.no_spare,)),
    *row(S.DRAINING, T.TICK, idle, spare_next, has_spare, may_draw,
         intent=Kind.DRAW_SPARE, does=(job_moves.reserve_spare,)),
    *row(S.DRAINING, T.TICK, idle, move_next, may_move,
         intent=Kind.MOVE_JOB, does=(job_moves.resume_counted,)),
    *row(S.DRAINING, T.TICK, idle, cancel_next, may_cancel,
         intent=Kind.CANCEL_JOB, does=(job_moves.count_cancel,)),
    *row(S.DRAINING, T.ACHIEVED, moved_back, does=(job_moves.moved_back,)),
    *row(S.DRAINING, T.ACHIEVED, does=(job_moves.record_job_result,)),
    *row(S.DRAINING, T.REFUSED, died, does=(lost_jobs.job_lost,)),
    *row(S.DRAINING, T.REFUSED, of_check, does=(lost_jobs.leave_unknown_job,)),
    *row(S.DRAINING, T.GAVE_UP, of_check, does=(lost_jobs.leave_unknown_job,)),
    *row(S.DRAINING, T.REFUSED, of_swap, does=(job_moves.move_instead,)),
    *row(S.DRAINING, T.GAVE_UP, of_swap, does=(job_moves.move_instead,)),
    *row(S.DRAINING, T.REFUSED, does=(repairs.count_refusal, job_moves.leave_job)),
    *row(S.DRAINING, T.GAVE_UP, of_spare, does=(job_moves.leave_job,)),
    *row(S.DRAINING, T.GAVE_UP, job_waits, does=(handed_on.wait_on,)),
    *row(S.DRAINING, T.CANCELLED, of_spare, does=(job_moves.drop_spare_draw,)),
    *row(S.DRAINING, T.CANCELLED, of_move, does=(job_moves.move_again,)),
    *row(S.DRAINING, T.CANCELLED),
)
_REMEDIATING = (
    *row(S.REMEDIATING, T.TICK, busy, is_releasable, does=(node_quarantine.cancel,)),
    *row(S.REMEDIATING, T.TICK, idle, to=S.QUARANTINED),
    *row(S.REMEDIATING, T.ACHIEVED,
         to=S.VERIFYING, does=(repairs.record_repair, verification.start_verifying)),
    *row(S.REMEDIATING, T.REFUSED,
         to=S.QUARANTINED, does=(repairs.count_refusal, escalation_steps.escalate)),
    *row(S.REMEDIATING, T.GAVE_UP,
         to=S.QUARANTINED, does=(escalation_steps.fail_step, repairs.count_failure)),
    *row(S.REMEDIATING, T.CANCELLED, to=S.QUARANTINED),
)
# Whatever is wrong comes before what is well: a test that passes says nothing of a rule that fires.
_VERIFYING = (
    *row(S.VERIFYING, T.TICK, idle, stays_out, to=S.SERVICE, does=(relapsing.notify_stays_out,)),
    *row(S.VERIFYING, T.TICK, idle, wrong_again, to=S.QUARANTINED),
    *row(S.VERIFYING, T.TICK, idle, still_wrong, to=S.QUARANTINED),
    *row(S.VERIFYING, T.TICK, idle, observed_bad,
         to=S.QUARANTINED, does=(verification.record_unhealthy,)),
    *row(S.VERIFYING, T.TICK, busy, wrong_again, does=(node_quarantine.cancel,)),
    *row(S.VERIFYING, T.TICK, revoked, does=(node_quarantine.cancel,)),
    *row(S.VERIFYING, T.TICK, idle, other_generation, does=(verification.start_verifying,)),
    *row(S.VERIFYING, T.TICK, idle, passive_checks_passed, test_next, may_test, intent=Kind.TEST),
    *row(S.VERIFYING, T.TICK, idle, passive_checks_passed, tests_passed,
         to=S.RELEASING, does=(verification.notify_verified,)),
    *row(S.VERIFYING, T.ACHIEVED, fell_short, other_peer, does=(verification.doubt_peer,)),
    *row(S.VERIFYING, T.ACHIEVED, fell_short, to=S.QUARANTINED, does=(verification.unfit,)),
    *row(S.VERIFYING, T.ACHIEVED, does=(verification.test_passed,)),
    *row(S.VERIFYING, T.REFUSED, peer_is_busy),
    *row(S.VERIFYING, T.REFUSED, failed_test, other_peer, does=(verification.doubt_peer,)),
    *row(S.VERIFYING, T.REFUSED, to=S.QUARANTINED, does=(verification.unfit,)),
    *row(S.VERIFYING, T.GAVE_UP, to=S.QUARANTINED, does=(verification.unfit,)),
    *row(S.VERIFYING, T.CANCELLED),
)
# Until our mark is off, a fault quarantines the node again; only a person's force overrides that.
_RELEASING = (
    *row(S.RELEASING, T.TICK, busy, by_person, does=(node_quarantine.cancel,)),
    *row(S.RELEASING, T.TICK, busy, needs_quarantine, not_forced, does=(node_quarantine.cancel,)),
    *row(S.RELEASING, T.TICK, idle, needs_quarantine, not_forced, is_quarantined, to=S.QUARANTINED),
    *row(S.RELEASING, T.TICK, idle, needs_quarantine, not_forced, to=S.SUSPECT),
    *row(S.RELEASING, T.TICK, idle, other_generation, not_forced,
         to=S.VERIFYING, does=(verification.start_verifying,)),
    *row(S.RELEASING, T.TICK, idle, may_release,
         intent=Kind.RELEASE, does=(repairs.count_release, restored_jobs.restore_jobs)),
    *row(S.RELEASING, T.ACHIEVED, by_person,
         to=S.SUSPECT, does=(node_quarantine.confirm_release,)),
    *row(S.RELEASING, T.ACHIEVED, forced,
         to=S.OVERRIDDEN, does=(node_quarantine.confirm_release, overrides.override)),
    *row(S.RELEASING, T.ACHIEVED, probation,
         to=S.PROBATION, does=(node_quarantine.confirm_release,)),
    *row(S.RELEASING, T.ACHIEVED, suspicious,
         to=S.SUSPECT, does=(node_quarantine.confirm_release,)),
    *row(S.RELEASING, T.ACHIEVED, to=S.HEALTHY, does=(node_quarantine.confirm_release,)),
    *row(S.RELEASING, T.CANCELLED, open_observed,
         to=S.PROBATION, does=(node_quarantine.confirm_release,)),
    *row(S.RELEASING, T.CANCELLED, forced),
    *row(S.RELEASING, T.CANCELLED, is_quarantined, to=S.QUARANTINED),
    *row(S.RELEASING, T.CANCELLED, to=S.SUSPECT),
    *row(S.PROBATION, T.TICK, needs_quarantine, to=S.SUSPECT, does=(node_quarantine.relapse,)),
    *row(S.PROBATION, T.DUE, suspicious, to=S.SUSPECT),
    *row(S.PROBATION, T.DUE, to=S.HEALTHY),
    *row(S.PROBATION, T.OBSERVED_OURS,
         to=S.QUARANTINED, does=(node_quarantine.record_quarantine,)),
    *row(S.PROBATION, T.OBSERVED_FOREIGN, suspicious, to=S.SUSPECT),
    *row(S.PROBATION, T.OBSERVED_FOREIGN, to=S.HEALTHY),
    *row(S.PROBATION, T.OBSERVED_DOWN, suspicious, to=S.SUSPECT),
    *row(S.PROBATION, T.OBSERVED_DOWN, to=S.HEALTHY),
    *row(S.PROBATION, T.RELEASE, suspicious, to=S.SUSPECT),
    *row(S.PROBATION, T.RELEASE, to=S.HEALTHY),
    *row(S.PROBATION, T.FORCE_RELEASE, suspicious, to=S.SUSPECT),
    *row(S.PROBATION, T.FORCE_RELEASE, to=S.HEALTHY),
)
_SERVICE = (
    *row(S.SERVICE, T.TICK, idle, not_ticketed, may_service, intent=Kind.SERVICE),
    *row(S.SERVICE, T.ACHIEVED, does=(repairs.ticketed,)),
    *row(S.SERVICE, T.REFUSED, does=(repairs.ticket_failed,)),
    *row(S.SERVICE, T.GAVE_UP, does=(repairs.ticket_failed,)),
    *row(S.SERVICE, T.UNCERTAIN, does=(repairs.ticket_failed,)),
    *row(S.SERVICE, T.CANCELLED),
    *row(S.SERVICE, T.RETRY,
         to=S.VERIFYING, does=(node_quarantine.cancel, *VERIFY_AGAIN)),
    *row(S.SERVICE, T.RECOVERED,
         to=S.VERIFYING, does=(node_quarantine.cancel, *VERIFY_AGAIN)),
    *row((S.SERVICE, S.QUARANTINED), T.SWAPPED, not_by_person,
         to=S.VERIFYING, does=(node_quarantine.cancel, repairs.swap, *VERIFY_AGAIN)),
)
# Where it goes on is where it failed (`goes_on_...`), not where the node is by now.
_FAILED = (
    *row((S.QUARANTINING, S.FENCING, S.RELEASING), T.REFUSED,
         to=S.FAILED, does=(repairs.count_failure, repairs.fail)),
    *row((S.QUARANTINING, S.FENCING, S.RELEASING, S.DRAINING), T.GAVE_UP,
         to=S.FAILED, does=(repairs.count_failure, repairs.fail)),
    *row(S.FAILED, T.TICK, is_releasable, is_quarantined, goes_on_suspect,
         to=S.VERIFYING, does=(verification.start_verifying,)),
    *row(S.FAILED, T.TICK, is_releasable, is_quarantined, goes_on_quarantined,
         to=S.VERIFYING, does=(verification.start_verifying,)),
    *row(S.FAILED, T.TICK, quiet, is_not_quarantined, to=S.HEALTHY),
    *row(S.FAILED, T.TICK, is_releasable, is_not_quarantined, to=S.SUSPECT),
    *row(S.FAILED, T.DUE, tries_left, goes_on_suspect, to=S.SUSPECT),
    *row(S.FAILED, T.DUE, tries_left, goes_on_quarantined, to=S.QUARANTINED),
    *row(S.FAILED, T.DUE, tries_left, goes_on_releasing, to=S.RELEASING),
    *row(S.FAILED, T.RETRY, goes_on_suspect, to=S.SUSPECT, does=(approvals.reset_failures,)),
    *row(S.FAILED, T.RETRY, goes_on_quarantined,
         to=S.QUARANTINED, does=(approvals.reset_failures,)),
    *row(S.FAILED, T.RETRY, goes_on_releasing, to=S.RELEASING, does=(approvals.reset_failures,)),
    *row(S.FAILED, T.RECOVERED, is_quarantined, to=S.VERIFYING, does=VERIFY_AGAIN),
    *row(S.FAILED, T.OBSERVED_OURS, is_not_quarantined,
         to=S.QUARANTINED, does=(node_quarantine.record_quarantine,)),
    *row(S.FAILED, T.RELEASE, nothing_open, is_not_quarantined, suspicious, to=S.SUSPECT),
    *row(S.FAILED, T.RELEASE, nothing_open, is_not_quarantined, to=S.HEALTHY),
)
# No tick leads out of a doubt: doing the next thing might do the same thing twice.
_UNKNOWN = (
    *row(tuple(stage for stage in ACTING if stage is not S.SERVICE), T.UNCERTAIN,
         to=S.UNKNOWN, does=(repairs.doubt,)),
    *row(S.OWNED_BY_OTHER, T.UNCERTAIN, to=S.UNKNOWN, does=(repairs.doubt,)),
    *(doubted for trigger in ENDINGS for doubted in row(S.UNKNOWN, trigger, as_before=True)),
    *row(S.UNKNOWN, T.RETRY, goes_on_releasing, to=S.RELEASING, does=(node_quarantine.drop,)),
    *row(S.UNKNOWN, T.RETRY, is_quarantined, to=S.QUARANTINED, does=(node_quarantine.drop,)),
    *row(S.UNKNOWN, T.RETRY, to=S.SUSPECT, does=(node_quarantine.drop,)),
)
# A person's commands: a running intent is cancelled before anything else starts.
_PEOPLE = (
    *row((S.FENCING, S.DRAINING, S.REMEDIATING), T.QUARANTINE,
         to=S.QUARANTINED, does=(node_quarantine.cancel, approvals.by_hand)),
    *row((S.VERIFYING, S.RELEASING), T.QUARANTINE, idle, is_quarantined,
         to=S.QUARANTINED, does=(approvals.by_hand,)),
    *row((S.QUARANTINING, S.QUARANTINED, S.SERVICE, S.VERIFYING, S.RELEASING, S.FAILED, S.UNKNOWN),
         T.QUARANTINE,
         does=(approvals.by_hand,)),
    *row(S.QUARANTINING, T.RELEASE,
         to=S.RELEASING, does=(node_quarantine.cancel, relapsing.reset_relapses, approvals.force)),
    *row(QUARANTINED_STAGES, T.RELEASE, nothing_open,
         to=S.VERIFYING, does=(node_quarantine.cancel, approvals.vouch, *VERIFY_AGAIN)),
    *row((S.FAILED, S.UNKNOWN), T.RELEASE, nothing_open, is_quarantined,
         to=S.VERIFYING, does=(node_quarantine.drop, approvals.vouch, *VERIFY_AGAIN)),
    *row(S.RELEASING, T.RELEASE, does=(approvals.vouch,)),
    *row((*QUARANTINED_STAGES, S.QUARANTINING), T.FORCE_RELEASE,
         to=S.RELEASING, does=(node_quarantine.cancel, relapsing.reset_relapses, approvals.force)),
    *row((S.FAILED, S.UNKNOWN), T.FORCE_RELEASE,
         to=S.RELEASING, does=(node_quarantine.drop, relapsing.reset_relapses, approvals.force)),
    *row(S.RELEASING, T.FORCE_RELEASE, does=(approvals.force,)),
    *row(tuple(stage for stage in S if stage is not S.HEALTHY), T.FORGET,
         to=S.HEALTHY, does=(overrides.forget,)),
)
# fmt: on

# In these something is waited for that may never come: each has a deadline (`deadlines.py`).
WAITING = (
    *(S.SUSPECT, S.QUARANTINING, S.QUARANTINED, S.FENCING, S.DRAINING),
    *(S.REMEDIATING, S.VERIFYING, S.RELEASING, S.SERVICE),
)
_OVERDUE = row(WAITING, T.OVERDUE, does=(deadlines.notify_overdue,))

TABLE: tuple[TransitionRow, ...] = (
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


def _by_stage_and_trigger(
    table: tuple[TransitionRow, ...],
) -> Mapping[tuple[S, T], tuple[TransitionRow, ...]]:
    rows: dict[tuple[S, T], tuple[TransitionRow, ...]] = {}
    for candidate in table:
        key = (candidate.stage, candidate.trigger)
        rows[key] = (*rows.get(key, ()), candidate)
    return MappingProxyType(rows)


# The rows of a stage and trigger, in the order in which they are tried.
ROWS = _by_stage_and_trigger(TABLE)
