"""What must hold after every step of the state machine, whatever was told and seen in it.

`check` compares what a step has come to with what was known before it, by rules of its own: it asks
none of the guards.
"""

from collections import Counter

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.alerting.rules.document import (
    Confidence,
    Fence,
    JobPolicy,
    Mode,
    QuarantineLevel,
    Severity,
    Trust,
)
from accelwatch.remediation.policy.context.outcome import Loudness, Outcome
from accelwatch.remediation.policy.context.records import RemedyRecord, StateRecord
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.guards.limits.ceiling import NEEDS, Ceiling
from accelwatch.remediation.policy.jobs.chores import MOVED_ON, OWN_END
from accelwatch.remediation.policy.plan.digest import digest_of
from accelwatch.remediation.policy.plan.tests.spare_tests import INCIDENT
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.clocks import DEATH_SETTLES_S, FRESH_S
from accelwatch.remediation.policy.state.model import Remedy, RemedyState
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.step.reservations import INCIDENT as RESERVATION
from accelwatch.remediation.settings import RemedySettings

REMEDIES = frozenset({Kind.RESET_DEVICE, Kind.REBOOT, Kind.POWER_CYCLE})
ON_EVIDENCE = REMEDIES | {
    Kind.QUARANTINE,
    Kind.FENCE,
    Kind.SIGNAL_JOB,
    Kind.DRAW_SPARE,
    Kind.MOVE_JOB,
    Kind.SWAP_IN_JOB,
    Kind.CANCEL_JOB,
}
CHORES = frozenset({Kind.RESTORE_JOB, Kind.RETURN_SPARE, Kind.FOLLOW_JOB, Kind.PROBE})
TABLES = (
    "remedies",
    "overrides",
    "boundaries",
    "vetoes",
    "denied",
    "stop",
    "chores",
    "departed",
    "lingering",
    "forgotten",
    "relapses",
    "budget",
    "breaker",
    "attempts",
    "canary",
    "scores",
    "spares",
    "retries",
    "token",
    "started",
)


WAITS = frozenset(
    {
        *(Stage.QUARANTINING, Stage.QUARANTINED, Stage.FENCING, Stage.DRAINING),
        *(Stage.REMEDIATING, Stage.VERIFYING, Stage.RELEASING, Stage.SERVICE),
    }
)


class BrokenError(AssertionError):
    """An invariant does not hold."""


class Watch:
    """What has been done so far, as the invariants over time need it."""

    def __init__(self, settings: RemedySettings) -> None:
        self.settings = settings
        # What was begun and has not ended, by node; kept by who plays the world.
        self.flying: dict[str, Intent] = {}
        self.quarantines: list[tuple[float, tuple[str, ...]]] = []
        self.moves: list[tuple[float, str]] = []
        self.cancels: list[float] = []
        self.remedies: list[tuple[float, str, str]] = []
        # When a job was seen to have left a node, whoever was killed since then.
        self.left: dict[tuple[str, JobKey], float] = {}
        # Jobs whose users want them begun again when they die of themselves.
        self.opted: set[JobKey] = set()
        # By node: Unix seconds at which a person was called for it last.
        self.called: dict[str, float] = {}
        # Moves that were begun for a node and go on as chores.
        self.handed_on: list[Intent] = []
        # Digests of plans that a person approved.
        self.approved: set[str] = set()
        # The jobs on the node when a person was asked about a plan, by its digest.
        self.shown: dict[str, tuple[JobKey, ...]] = {}
        # When each node was given back by us last, until it is taken out again.
        self.released: dict[str, float] = {}
        # How often in a row each was taken out again within an hour of that.
        self.relapses: dict[str, int] = {}
        # Nodes of which a person wants something in the step that is checked.
        self.commanded: set[str] = set()

    def check(self, before: RemedyState, outcome: Outcome, now: float, restarted: bool) -> None:
        """Raise BrokenError when a step has done what must not be; `began`: an engine began in it."""
        after = outcome.state
        self._departures(before, after, now)
        self._shown(before, after)
        self._given_back(before, after, now)
        _made_of_records(before, outcome.records, after)
        _counted(after)
        _spares(after)
        _lost_marks(before, after, self.commanded)
        _reservations(after)
        self._find_handed_on(after)
        for intent in outcome.pursue:
            chore = intent in after.chores.values()
            if intent.mark.incident == RESERVATION and not restarted:
                need(not _moves(after, intent.job), "a reservation is given back under a move")
            own = intent.mark.incident == OWN_END
            need(not own or intent.job in self.opted, "nobody wanted the job begun again")
            if chore and self._is_chore(after, intent, now, restarted):
                continue
            if restarted and self.flying.get(intent.node) == intent:
                continue
            if intent.mark.incident == INCIDENT:
                if not restarted:
                    _spare_test(after, intent)
                continue
            self._check_started(after, intent, now, outcome)
        if after.stop is not None:
            _stopped(after)
        self._nothing_waits_in_silence(after, outcome, now)

    def _is_chore(self, state: RemedyState, intent: Intent, now: float, restarted: bool) -> bool:
        """Whether it is no node's, and is as it may be; after a start it goes on."""
        if intent.kind in CHORES or intent in self.handed_on:
            return True
        if intent.kind is Kind.DRAW_SPARE and not restarted:
            need(state.stop is None, "a spare is drawn after STOP")
            _free_spare(state, intent)
        if intent.kind is Kind.MOVE_JOB and not restarted:
            self._goes_on(state, intent, now)
        return intent.kind in (Kind.DRAW_SPARE, Kind.MOVE_JOB)

    def _find_handed_on(self, state: RemedyState) -> None:
        """A move goes on as a chore only off a node that no rule wants out."""
        for node, intent in list(self.flying.items()):
            if intent not in state.chores.values():
                continue
            need(intent.kind is Kind.MOVE_JOB, f"{intent.kind} goes on by itself")
            own = state.remedies.get(node)
            bad = own is not None and own.stage is not Stage.VERIFYING
            need(not bad, "the move of a job of a bad node goes on by itself")
            self.handed_on.append(self.flying.pop(node))

    def _nothing_waits_in_silence(self, state: RemedyState, outcome: Outcome, now: float) -> None:
        """Of whatever waits for longer than two hours besides its passive time a person knows."""
        called = {note.node for note in outcome.notes if note.loudness is Loudness.ALERT}
        self.called.update(dict.fromkeys(called, now))
        silent = any(one.unavailable for one in state.world.schedulers.values())
        if state.stop is not None or silent:
            return
        for node, remedy in state.remedies.items():
            at_work = remedy.stage in WAITS and not (
                remedy.approval.manual or remedy.repair.ticketed
            )
            if not at_work or node in state.vetoes or remedy.repair.relapses:
                continue
            policy = remedy.policy
            passive_s = 1800.0 if policy is None else max(1800.0, 3 * policy.passive_s)
            known = self.called.get(node, 0.0) >= remedy.clocks.since or bool(remedy.clocks.overdue)
            text = (
                f"{node} waits in {remedy.stage} since {now - remedy.clocks.since:.0f} s in silence"
            )
            need(known or now - remedy.clocks.since <= 7200.0 + passive_s, text)

    def _shown(self, before: RemedyState, after: RemedyState) -> None:
        for node, remedy in after.remedies.items():
            known = before.remedies.get(node)
            if remedy.approval.asked and (
                known is None or known.approval.asked != remedy.approval.asked
            ):
                self.show(after, remedy, remedy.approval.asked)

    def show(self, state: RemedyState, remedy: Remedy, digest: str) -> None:
        """A person is shown a plan for a node."""
        self.shown[digest] = _jobs_on(state, remedy)

    def _departures(self, before: RemedyState, after: RemedyState, now: float) -> None:
        """Nobody forgets who has left a node lately."""
        for name, seen in before.world.scheduler_nodes.items():
            shown = after.world.scheduler_nodes.get(name)
            if shown is None or shown is seen:
                continue
            for job in seen.jobs:
                if job not in shown.jobs:
                    # It left after the poll before; the one that showed it may have come late.
                    self.left[name, job] = before.world.schedulers[before.world.shown_by[name]].time
        self.left = {key: at for key, at in self.left.items() if now - at <= DEATH_SETTLES_S}
        known = {(node, one.job) for one in after.departed.values() for node in one.nodes}
        need(known.issuperset(self.left), "a job that has left its node is forgotten")

    def in_hand(self, node: str) -> None:
        """A person has dealt with a node, or its hardware is another: what was before counts no more."""
        self.released.pop(node, None)
        self.relapses.pop(node, None)

    def _given_back(self, before: RemedyState, after: RemedyState, now: float) -> None:
        for node, was in before.remedies.items():
            if was.hold is None or Stage.RELEASING not in (was.stage, was.came_from):
                continue
            remedy = after.remedies.get(node)
            stage = Stage.HEALTHY if remedy is None else remedy.stage
            held = remedy is not None and remedy.hold is not None
            if not held and stage in (Stage.HEALTHY, Stage.PROBATION) and not was.approval.forced:
                self.released[node] = now

    def _check_started(
        self, state: RemedyState, intent: Intent, now: float, outcome: Outcome
    ) -> None:
        remedy = state.remedies.get(intent.node)
        need(remedy is not None and remedy.pursuing == intent, f"{intent.kind} is nobody's")
        assert remedy is not None
        recorded = any(
            isinstance(record, RemedyRecord)
            and record.remedy is not None
            and record.remedy.pursuing == intent
            for record in outcome.records
        )
        need(recorded, f"{intent.kind} of {intent.node} is not written down before it is done")
        other = self.flying.get(intent.node)
        need(other is None, f"{intent.kind} while {other} is on its way")
        self.flying[intent.node] = intent
        self._allowed(state, remedy, intent, now)
        if intent.kind is Kind.QUARANTINE:
            if remedy.hold is None:
                self._quarantine(state, remedy, now)
            else:
                self._widening(state, remedy, intent, now)
        elif intent.kind in REMEDIES:
            self._remedy(state, remedy, now)
        elif intent.kind is Kind.RELEASE:
            check_release(state, remedy, now)
            lately = 0 if remedy.approval.forced else self.relapses.get(remedy.node, 0)
            need(lately < 3, "given back by itself after three relapses in a row")
        elif intent.kind is Kind.DRAW_SPARE:
            _free_spare(state, intent)
        elif intent.kind is Kind.MOVE_JOB:
            self._move(state, remedy, intent, now)
        elif intent.kind is Kind.CANCEL_JOB:
            self._cancel(remedy, intent, now)

    def _allowed(self, state: RemedyState, remedy: Remedy, intent: Intent, now: float) -> None:
        """People, ceilings, identity, and whether enough is seen."""
        world, kind = state.world, intent.kind
        seen = world.scheduler_nodes.get(intent.node)
        scheduler = world.schedulers.get(world.shown_by.get(intent.node, ""))
        need(scheduler is not None and not scheduler.unavailable, f"{kind} of a deaf scheduler")
        need(scheduler is not None and now - scheduler.time <= FRESH_S, f"{kind} on an old look")
        if kind is Kind.RELEASE:
            return
        need(state.stop is None, f"{kind} after STOP")
        need(remedy.node not in state.vetoes, f"{kind} of a held node")
        need(world.guard.is_warmed_up and not world.guard.why, f"{kind} in the dark")
        status = world.node_statuses.get(remedy.node)
        need(seen is not None and status is not None, f"{kind} of who is not known")
        assert seen is not None
        assert status is not None
        need(status.boot_id == seen.boot_id, f"{kind} of a machine that may be another")
        need(seen.hold_state is not HoldState.FOREIGN, f"{kind} of a node of somebody else")
        if kind in ON_EVIDENCE:
            _read_lately(state, remedy, intent, now)
            if kind is not Kind.QUARANTINE:
                self._led(state, remedy)
        if not remedy.approval.manual:
            height = NEEDS[kind].height
            need(Ceiling(status.ceiling).height >= height, f"{kind} above the profile's ceiling")
            need(
                Ceiling(self.settings.ceiling).height >= height, f"{kind} above the site's ceiling"
            )

    def _led(self, state: RemedyState, remedy: Remedy) -> None:
        """A policy that has taken the place of the first is that of an open case that may act."""
        if not remedy.led_by:
            need(remedy.first_policy is None, "nobody knows whose policy it is")
            return
        case = next(
            (one for one in _counting(state, remedy) if one.incident == remedy.led_by), None
        )
        need(case is not None and remedy.first_policy is not None, "the worse fault is over")
        assert case is not None
        wish = case.policy if case.wanted is None else case.wanted
        auto = wish.mode is Mode.AUTO
        sure = Confidence.HIGH is wish.confidence or Confidence.LOW is wish.act_on
        need(auto and sure, "a worse fault whose rule may not act by itself")
        need(not (case.muted or case.blind or case.orphaned), "a worse fault that counts not now")
        need(not case.group, "a worse fault that befalls many")
        need(
            remedy.policy is not None
            and (remedy.policy.when, remedy.policy.job) == (wish.when, wish.job),
            "another policy than that of the worse fault",
        )

    def _quarantine(self, state: RemedyState, remedy: Remedy, now: float) -> None:
        self._budget(state, remedy, now)
        if remedy.approval.manual:
            return
        released = self.released.pop(remedy.node, None)
        if released is not None:
            lately = now - released < 3600
            self.relapses[remedy.node] = self.relapses.get(remedy.node, 0) + 1 if lately else 0
        case = next((one for one in remedy.cases if one.incident == remedy.incident), None)
        need(case is not None, "a quarantine without a reason")
        assert case is not None
        ctx = StepContext(state, self.settings, now)
        digest = digest_of(ctx, remedy, case.policy, case.incident)
        approved = digest != "" and digest in self.approved
        if case.policy.mode is Mode.APPROVE:
            same = self.shown.get(digest) == _jobs_on(state, remedy)
            need(same, "a quarantine for which the jobs are others than a person was shown")
        override, boundary = (
            state.overrides.get(remedy.node),
            state.boundaries.get(remedy.node),
        )
        # Of a mark that its scheduler has lost a person decides on what was known when it was set.
        again = remedy.mark_lost and approved
        need(not case.blind or again, "a quarantine on Unknown")
        need(not case.muted, "a quarantine in spite of a silence")
        need(not case.orphaned or again, "a quarantine for a rule that is gone")
        need(case.policy.mode in (Mode.AUTO, Mode.APPROVE), "a quarantine by a rule that observes")
        need(case.policy.mode is Mode.AUTO or approved, "a quarantine that nobody approved")
        sure = Confidence.HIGH is case.policy.confidence or Confidence.LOW is case.policy.act_on
        need(sure or approved, "a quarantine by a rule that is not sure, without approval")
        need(not case.group or approved, "a quarantine for what befalls many")
        need(
            case.trusted or case.policy.trust is Trust.ANY or approved,
            "a quarantine on what anybody may have sent",
        )
        need(
            again or case.standing or now - case.evidence_at <= self.settings.event_max_age_s,
            "a quarantine for an old event",
        )
        need(
            override is None or (case.evidence_at > override.at and now >= override.until),
            "a quarantine that a person has undone",
        )
        need(boundary is None or case.evidence_at > boundary.at, "a quarantine of what is mended")

    def _widening(self, state: RemedyState, remedy: Remedy, intent: Intent, now: float) -> None:
        """More of a node is taken out than some devices: for a person, or a rule that may act now."""
        hold = remedy.hold
        assert hold is not None
        need(hold.level is QuarantineLevel.DEVICE, "a node is taken out that is out")
        if remedy.approval.manual:
            need(not intent.devices, "a person wants the node out, not a device")
            return
        wishes = [
            (one, one.policy if one.wanted is None else one.wanted)
            for one in _counting(state, remedy)
            if not (one.muted or one.blind or one.orphaned or one.group)
        ]
        now_so = [
            (one, wish)
            for one, wish in wishes
            if wish.mode is Mode.AUTO
            and (one.standing or now - one.evidence_at <= self.settings.event_max_age_s)
            and (one.trusted or wish.trust is Trust.ANY)
        ]
        whole = any(wish.level is QuarantineLevel.NODE for _, wish in now_so)
        devices = {
            one.device for one, wish in now_so if wish.level is QuarantineLevel.DEVICE
        } - set(hold.devices)
        need(whole if not intent.devices else bool(devices), "more is taken out without a reason")

    def _budget(self, state: RemedyState, remedy: Remedy, now: float) -> None:
        """How many and how fast, counted anew from the remedies and what is seen."""
        budget = self.settings.budget
        own = {one.node for one in state.remedies.values() if one.counts}
        own |= {node for node, one in state.lingering.items() if one.kind is Kind.QUARANTINE}
        groups = _groups(state, remedy.node)
        sizes: Counter[str] = Counter()
        held: Counter[str] = Counter()
        out: Counter[str] = Counter()
        for name, seen in state.world.scheduler_nodes.items():
            for group in _groups(state, name):
                sizes[group] += 1
                held[group] += name in own
                out[group] += name in own or seen.hold_state is not HoldState.OPEN
        for group in groups:
            bound = max(1, min(int(budget.share * sizes[group] + 1e-9), budget.most))
            need(held[group] <= bound, f"{held[group]} of {group} are ours, {bound} may be")
        for pool in groups[:-1]:
            allowed = int((1 - budget.min_available) * sizes[pool] + 1e-9)
            allowed = max(allowed, 1) if sizes[pool] <= budget.small_pool else allowed
            was_out = state.world.scheduler_nodes[remedy.node].hold_state is not HoldState.OPEN
            need(
                was_out or out[pool] <= allowed, f"{out[pool]} of {pool} are out, {allowed} may be"
            )
        if remedy.mark_lost:
            return  # it was counted when it was taken out first
        recent = [at for at, pools in self.quarantines if now - at < 3600 and pools == groups[:-1]]
        need(len(recent) < budget.per_hour, "more quarantines in an hour than may be")
        near = [at for at in recent if now - at < budget.spacing_s]
        need(not near, "two quarantines close to each other")
        self.quarantines.append((now, groups[:-1]))

    def _remedy(self, state: RemedyState, remedy: Remedy, now: float) -> None:
        need(remedy.hold is not None, "a remedy on a node that is not out")
        need(not remedy.approval.manual, "a remedy on a node that a person has in hand")
        seen = state.world.scheduler_nodes[remedy.target]
        of_devices = remedy.hold is not None and remedy.hold.level is QuarantineLevel.DEVICE
        jobs = seen.device_jobs if of_devices else seen.jobs
        need(jobs == (), "a remedy under a running job")
        of_node = remedy.pursued_kind is not Kind.RESET_DEVICE
        need(not (of_devices and of_node), "a reboot under jobs on other devices")
        need(bool(_counting(state, remedy) or remedy.repair.unfit), "a remedy of what has cleared")
        lead = _counting(state, remedy)
        boot = state.world.node_statuses[remedy.node].boot_id
        now_so = [one for one in lead if one.standing or one.boot_id in ("", boot)]
        need(bool(now_so or remedy.repair.unfit), "a remedy for what happened in another boot")
        need(
            not lead or not all(one.blind for one in lead) or bool(remedy.repair.unfit),
            "on Unknown",
        )
        rack = _groups(state, remedy.node)[-1]
        beside = [
            node
            for node, one in self.flying.items()
            if one.kind in REMEDIES and node != remedy.node and _groups(state, node)[-1] == rack
        ]
        need(not beside, f"remedies of {remedy.node} and {beside} at once")
        of_incident = [one for one in self.remedies if one[2] == remedy.incident]
        need(len(of_incident) < self.settings.budget.attempts, "more attempts than may be")
        week = [at for at, node, _ in self.remedies if node == remedy.node and now - at < 604800]
        need(len(week) < self.settings.budget.remedies_per_week, "more remedies than may be")
        self.remedies.append((now, remedy.node, remedy.incident))

    def _move(self, state: RemedyState, remedy: Remedy, intent: Intent, now: float) -> None:
        policy = remedy.policy
        need(policy is not None and intent.job is not None, "a move of nothing")
        assert policy is not None
        need(intent.job not in remedy.jobs.handled, "a job is moved twice")
        need(not intent.revive or intent.job in remedy.jobs.lost, "nobody saw the job die")
        self._counted_move(intent, now)
        need(intent.node in intent.bad_nodes, "a job may start where it was")
        seen, status = (
            state.world.scheduler_nodes[remedy.target],
            state.world.node_statuses.get(remedy.node),
        )
        answers_now = status is not None and not status.down and now - status.time <= FRESH_S
        answers = seen.answering is not False or answers_now
        if policy.fence is Fence.REQUIRE and not answers:
            need(remedy.jobs.fenced, "a second copy of a job beside one that may still run")

    def _cancel(self, remedy: Remedy, intent: Intent, now: float) -> None:
        need(remedy.hold is not None, "a job is cancelled on a node that is not out")
        wanted = remedy.policy is not None and remedy.policy.job is JobPolicy.CANCEL
        need(wanted and not remedy.approval.manual, "a job is cancelled that no rule wants to be")
        need(intent.job is not None and intent.job not in remedy.jobs.handled, "cancelled twice")
        self.cancels = [at for at in self.cancels if now - at < 3600]
        most = self.settings.budget.cancels_per_hour
        need(len(self.cancels) < most, "more jobs are cancelled than may be")
        self.cancels.append(now)

    def _counted_move(self, intent: Intent, now: float) -> None:
        limits, job = self.settings.resume, str(intent.job)
        lately = [at for at, key in self.moves if key == job and now - at < limits.within_s]
        need(len(lately) < limits.most, "a job is restarted more often than may be")
        self.moves.append((now, job))

    def not_moved(self, intent: Intent) -> None:
        """A move was refused because its job had died by itself: it is taken back."""
        job = str(intent.job)
        for at in range(len(self.moves) - 1, -1, -1):
            if self.moves[at][1] == job:
                del self.moves[at]
                return

    def _goes_on(self, state: RemedyState, intent: Intent, now: float) -> None:
        """A job is moved that is no node's any more: it has died, or its move was begun before."""
        is_handed_on = any(
            key.startswith(MOVED_ON) and one == intent for key, one in state.chores.items()
        )
        if intent.revive and not is_handed_on:
            self._revival(state, intent, now)
            return
        started = any(job == str(intent.job) for _, job in self.moves)
        need(started, "a job waits on that nobody has begun to move")

    def _revival(self, state: RemedyState, intent: Intent, now: float) -> None:
        """A job that has died is restarted: only with something else than the last time."""
        self._counted_move(intent, now)
        history = state.retries.jobs[f"{intent.job.cluster}/{intent.job}" if intent.job else ""]
        run = history.run
        need(run is not None and run.dead, "a job is restarted that nobody saw die")
        assert run is not None
        going = [one.pursuing for one in state.remedies.values() if one.pursuing is not None]
        going += [*state.chores.values(), *state.lingering.values()]
        beside = [one for one in going if one.kind is Kind.MOVE_JOB and one.job == intent.job]
        need(beside == [intent], "a job is restarted beside a move of it")
        need(intent in state.chores.values(), "a revival is not written down before it is done")
        need(state.stop is None, "a revival after STOP")
        need(run.node not in state.vetoes, "a revival for a held node")
        need(state.world.guard.is_warmed_up and not state.world.guard.why, "a revival in the dark")
        height = NEEDS[intent.kind].height
        need(Ceiling(self.settings.ceiling).height >= height, "a revival above the site's ceiling")
        held = {one.target for one in state.remedies.values() if one.counts and one.target}
        need(held <= set(intent.avoided), "a revival onto a node that we hold")
        last = history.deaths[-1]
        other = not set(run.seen.nodes).isdisjoint(intent.avoided) or bool(run.group)
        passed = bool(last.blamed) and set(last.blamed) <= set(history.passed)
        starts_from = intent.checkpoint or run.seen.checkpoint
        same = not passed and starts_from == last.tried.checkpoint
        # Of one that has died of itself the first run is no retry; that a bad node's job was moved
        # before its first death does not count.
        once = len(history.resumed) == 1 or len(history.deaths) == 1
        first = intent.mark.incident == OWN_END and once
        need(other or first or not same, "the same is tried once more")
        need(not (intent.checkpoint and last.device_fault), "an older checkpoint for a bad device")
        alike = history.deaths[-self.settings.resume.same_step :]
        steps = {death.newest if death.step is None else str(death.step) for death in alike}
        own = len(alike) == self.settings.resume.same_step and len(steps) == 1 and "" not in steps
        need(not own or any(one.device_fault for one in alike), "a job is restarted in vain")


def need(holds: bool, text: str) -> None:
    """Raise BrokenError unless it holds."""
    if not holds:
        raise BrokenError(text)


def _read_lately(state: RemedyState, remedy: Remedy, intent: Intent, now: float) -> None:
    """What rests on a device needs a reading that is not old, but for what a silence itself proves."""
    seen, status = state.world.scheduler_nodes[intent.node], state.world.node_statuses[remedy.node]
    if remedy.approval.manual or remedy.repair.unfit or remedy.jobs.fenced:
        return
    # A job that was found dead since the last poll runs there no more, whatever that poll shows.
    if intent.kind is Kind.MOVE_JOB and (intent.revive or intent.job not in seen.jobs):
        return
    given_up = status.down or now - status.time > FRESH_S
    if seen.answering is False and given_up:
        return
    if any(case.silence for case in remedy.cases):
        return
    if remedy.mark_lost and remedy.approval.approved and intent.kind is Kind.QUARANTINE:
        return
    need(not status.late and now - status.time <= FRESH_S, f"{intent.kind} on an old reading")


def _jobs_on(state: RemedyState, remedy: Remedy) -> tuple[JobKey, ...]:
    seen = state.world.scheduler_nodes.get(remedy.scheduler_name)
    return () if seen is None else tuple(sorted(seen.jobs))


def _made_of_records(
    before: RemedyState, records: tuple[StateRecord, ...], after: RemedyState
) -> None:
    made = before
    for record in records:
        made = replay(made, record)
    for table in TABLES:
        need(getattr(made, table) == getattr(after, table), f"{table} is not made of its records")


def _counted(state: RemedyState) -> None:
    own = {one.node for one in state.remedies.values() if one.counts}
    own |= {node for node, one in state.lingering.items() if one.kind is Kind.QUARANTINE}
    need(set(state.budget.own) == own, f"the budget counts {set(state.budget.own) ^ own} wrongly")


def _lost_marks(before: RemedyState, after: RemedyState, commanded: set[str]) -> None:
    """What a scheduler has forgotten counts as taken out, and nobody takes it for a person's wish."""
    for node, remedy in after.remedies.items():
        need(not (remedy.mark_lost and remedy.hold is not None), f"{node}: a mark lost and there")
        need(not remedy.mark_lost or node in after.budget.own, f"{node} was out and counts no more")
        known = before.remedies.get(node)
        if remedy.stage is not Stage.OVERRIDDEN or known is None or known.hold is None:
            continue
        if known.approval.forced or node in commanded or known.pursuing is not None:
            continue  # who wanted it back, or refused to go on, has said why
        seen = after.world.scheduler_nodes.get(known.target)
        action = after.world.shown_by.get(known.target, "")
        scheduler = after.world.schedulers.get(action)
        boots = {known.hold.controller_boot, "" if scheduler is None else scheduler.controller_boot}
        news = seen is not before.world.scheduler_nodes.get(known.target)
        forgotten = (
            seen is not None and seen.hold_state is HoldState.OPEN and seen.annotation is None
        )
        need(
            not (news and forgotten and len(boots - {""}) > 1),
            f"{node}: what its scheduler has forgotten is taken for a wish",
        )


def _spares(state: RemedyState) -> None:
    """Who is reserved or in use stands in for one node, which knows him; nobody stands in for two."""
    drawn = [one.jobs.spare for one in state.remedies.values() if one.jobs.spare]
    need(len(drawn) == len(set(drawn)), f"{drawn}: a spare stands in for two nodes")
    busy = {
        name
        for name, spare in state.spares.spares.items()
        if spare.standing in (SpareStatus.RESERVED, SpareStatus.IN_USE)
    }
    need(busy == set(drawn), f"{busy ^ set(drawn)} are drawn for nobody")
    out = {name for name in busy if name in state.remedies and state.remedies[name].counts}
    need(not out, f"{out} are out themselves and stand in for others")


def _reservations(state: RemedyState) -> None:
    """Whoever made it: it is being given back, or its job is moved, or a try has failed just now."""
    for action, kept in state.world.reservations.items():
        scheduler = state.world.schedulers.get(action)
        if scheduler is None or scheduler.unavailable:
            continue
        for one in kept:
            started = [
                intent.job
                for intent in state.chores.values()
                if intent.mark.incident == RESERVATION
            ]
            tried = state.world.not_before.get(one.name, float("-inf")) >= scheduler.time
            drains = any(one.stage is Stage.DRAINING for one in state.remedies.values())
            known = one.job in started or tried or drains or _moves(state, one.job)
            need(known, f"nobody gives {one.name} back")


def _moves(state: RemedyState, job: JobKey | None) -> bool:
    going = [one.pursuing for one in state.remedies.values() if one.pursuing is not None]
    going += [*state.chores.values(), *state.lingering.values()]
    return any(one.kind in (Kind.MOVE_JOB, Kind.DRAW_SPARE) and one.job == job for one in going)


def _free_spare(state: RemedyState, intent: Intent) -> None:
    """Only a spare that is open, and has nothing wrong that is more than told, is drawn."""
    spare = state.world.scheduler_nodes.get(intent.spare)
    need(spare is not None and spare.hold_state is HoldState.OPEN, "a spare that is not free")
    remedy = state.remedies.get(intent.spare)
    # What a rule without an action finds is told to people and makes no spare unusable.
    started = remedy is not None and remedy.stage not in (Stage.SUSPECT, Stage.SUPPRESSED)
    need(not started and not _keeps_out(state, remedy), "a spare that something is wrong with")


def _spare_test(state: RemedyState, intent: Intent) -> None:
    """Only who is idle, well and nobody else's is tested, one after another."""
    seen = state.world.scheduler_nodes.get(intent.node)
    need(
        seen is not None and seen.hold_state is HoldState.OPEN, "a test of a spare that is not free"
    )
    need(seen is not None and not seen.jobs, "a test of a spare under a job")
    remedy = state.remedies.get(intent.node)
    need(not _keeps_out(state, remedy), "a test of a spare that something is wrong with")
    need(state.stop is None, "a test of a spare after STOP")
    need(intent in state.chores.values(), "a test is not written down before it is done")
    runs = [one for one in state.spares.spares.values() if one.standing is SpareStatus.TESTING]
    need(len(runs) == 1, "spares are tested at once")


def _keeps_out(state: RemedyState, remedy: Remedy | None) -> bool:
    """Whether a node is out, or something keeps work away from it."""
    if remedy is None:
        return False
    return remedy.counts or remedy.approval.manual or any(map(_bars, _counting(state, remedy)))


def _bars(case: Case) -> bool:
    """Whether a case keeps work away: what is only told does not."""
    return case.policy.level is not None or case.severity is Severity.CRITICAL


def _stopped(state: RemedyState) -> None:
    for remedy in state.remedies.values():
        # What only looks at a job goes on.
        harmless = remedy.pursued_kind in (None, Kind.RELEASE, Kind.FOLLOW_JOB)
        harmless = harmless or remedy.stage is Stage.UNKNOWN
        need(
            harmless or remedy.cancelling or remedy.stage is Stage.SERVICE,
            f"{remedy.pursued_kind} of {remedy.node} goes on after STOP",
        )


def check_release(state: RemedyState, remedy: Remedy, now: float) -> None:
    """Raise BrokenError unless a node may be given back."""
    if remedy.approval.forced:
        return
    need(not remedy.approval.manual, "released, though a person took it out")
    # What a rule without an action finds is told to people and keeps no mended node out, unless it is
    # critical ("Only rules with an action act" in docs/remediation.md).
    need(not any(map(_bars, _counting(state, remedy))), "released while something is wrong")
    good, known = state.world.good.get(remedy.node), remedy.repair.verification
    status = state.world.node_statuses.get(remedy.node)
    need(good is not None and now - good.until <= FRESH_S, "released without fresh data")
    need(status is not None and status.healthy is not False, "released while it is seen to be bad")
    assert good is not None
    need(known is None or known.generation == good.generation, "released as another machine")
    if known is not None and not remedy.approval.vouched and remedy.policy is not None:
        lasted = good.until - max(good.since, known.since)
        need(lasted >= remedy.policy.passive_s, "released before its passive time was over")
        missing = set(remedy.policy.tests) - set(known.passed)
        need(not missing, f"released without {missing}")


def _counting(state: RemedyState, remedy: Remedy) -> list[Case]:
    override, boundary = state.overrides.get(remedy.node), state.boundaries.get(remedy.node)
    return [
        case
        for case in remedy.cases
        if (override is None or case.evidence_at > override.at)
        and (boundary is None or case.evidence_at > boundary.at)
    ]


def _groups(state: RemedyState, node: str) -> tuple[str, ...]:
    """Pools, then the rack."""
    seen, status = state.world.scheduler_nodes.get(node), state.world.node_statuses.get(node)
    pools = tuple(f"pool={pool}" for pool in (() if seen is None else seen.pools))
    return (*(pools or ("pool=",)), f"rack={'' if status is None else status.rack}")
