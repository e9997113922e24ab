"""Seeded histories of a small fleet: faults, people, crashes, gaps of data, in any order.

`make walk HISTORIES=100000` walks many; a history that breaks an invariant is reported with its seed, is
walked first the next time, and `--seed N` prints its every move.
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import (
    HoldState,
    JobObservation,
    JobState,
    Observed,
    ReservationObservation,
)
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import (
    Confidence,
    Fence,
    JobPolicy,
    Mode,
    QuarantineLevel,
    Severity,
    Trust,
    When,
)
from accelwatch.alerting.rules.timing import silence_s
from accelwatch.remediation.policy.conditions.permission import plan_of
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.guards.data_guard import FleetCoverage
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import (
    CaseChanged,
    Change,
    Command,
    Started,
    Verb,
    WorldObservation,
)
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.state.pursued import Poll, Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.step.step import step
from accelwatch.remediation.settings import Budget, DataGuard, RemedySettings, SpareSettings
from support.remediation.invariants import BrokenError, Watch
from support.remediation.small_fleet import (
    ACTION,
    POLICY,
    START,
    Node,
    silent_status,
    taken_out,
)

KEPT = Path("build/walker-seeds.txt")
NODES = 32
STEPS = 16
SETTINGS = RemedySettings(
    ceiling="resume",
    budget=Budget(share=0.25, most=4, min_available=0.7, per_hour=4, spacing_s=20.0),
    spares=SpareSettings(nodes=("n[28-31]",), alike=(), test="quick", test_max_age_s=14_400.0),
    data_guard=DataGuard(startup_grace_s=30.0, calm_s=10.0, clock_jump_s=3600.0),
)
_replace = msgspec.structs.replace
_AUTO = _replace(POLICY, passive_s=30.0)
_DEVICE = _replace(_AUTO, level=QuarantineLevel.DEVICE, ladder=(Limit("reset"), Limit("service")))
DEVICES = ("GPU-0", "GPU-1", "")
POLICIES = (
    _AUTO,
    _replace(_AUTO, rule="b", job=JobPolicy.REQUEUE, signal="USR1", grace_s=5.0, draw_spare=True),
    _replace(
        _AUTO, rule="c", job=JobPolicy.REQUEUE, fence=Fence.JOB, tests=("quick",), draw_spare=True
    ),
    _replace(_AUTO, rule="d", ladder=(Limit("reset"), Limit("reboot"), Limit("power_cycle"))),
    _replace(_AUTO, rule="e", mode=Mode.APPROVE),
    _replace(_AUTO, rule="i", probation_s=600.0, ladder=(), passive_s=0.0),
    _replace(_AUTO, rule="f", mode=Mode.OBSERVE),
    _replace(_AUTO, rule="g", when=When.AFTER_JOB, trust=Trust.ANY, ladder=()),
    Policy(rule="h", mode=Mode.AUTO),
    _replace(_AUTO, rule="k", job=JobPolicy.IN_JOB, draw_spare=True),
    _replace(_AUTO, rule="j", job=JobPolicy.CANCEL, signal="USR1", grace_s=5.0),
    _replace(_AUTO, rule="l", confidence=Confidence.LOW),
    _replace(_AUTO, rule="m", confidence=Confidence.LOW, act_on=Confidence.LOW),
    _replace(_DEVICE, rule="n", when=When.AFTER_JOB),
    _replace(_DEVICE, rule="o", job=JobPolicy.REQUEUE),
    _replace(_DEVICE, rule="p", mode=Mode.APPROVE),
)
WAITS = (0.0, 1.0, 5.0, 20.0, 20.0, 40.0, 40.0, 130.0, 700.0, 2000.0, 15_000.0)
# After which the hub says that a node is down.
DOWN_S = 30.0
CALM_WAITS = (1.0, 5.0, 20.0, 20.0, 20.0, 40.0, 40.0, 40.0, 130.0, 700.0)
ENDINGS = (
    (PursuitResult.ACHIEVED, None),
    (PursuitResult.ACHIEVED, None),
    (PursuitResult.ACHIEVED, None),
    (PursuitResult.ACHIEVED, None),
    (PursuitResult.FAILED, None),
    (PursuitResult.UNKNOWN, None),
    (PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE),
    (PursuitResult.REFUSED, RefusalKind.OVERRIDDEN),
)


_RUNS = {False: JobState.RUNNING, True: JobState.WAITING}


class History:
    """One history."""

    def __init__(self, seed: int | random.Random, verbose: bool = False) -> None:
        self.rng = seed if isinstance(seed, random.Random) else random.Random(seed)
        self.verbose = verbose
        self.now = START
        self.nodes = [
            Node(f"n{at:02d}", f"r{at // 8}", serial=f"board-{at}") for at in range(NODES)
        ]
        self.by_name = {node.name: node for node in self.nodes}
        self.favourites = self.rng.sample(self.nodes, 4)
        self.cases: dict[str, dict[str, Case]] = {}
        self.number = 0
        self.unavailable = ""
        # How often the scheduler's controller was started.
        self.boots = 1
        self.state = RemedyState()
        # What the journal alone would give.
        self.kept = RemedyState()
        self.watch = Watch(SETTINGS)
        self.chores: list[Intent] = []
        # By job: what was reserved for it, whatever is known of that.
        self.reserved: dict[str, ReservationObservation] = {}
        self.doubtful: list[Intent] = []
        self.late: list[WorldObservation] = []
        self.changes: list[Change] = []
        self.received: list[WorldObservation] = []
        self.has_started = False
        # Stages, and kinds of what was begun.
        self.visited: set[Stage | Kind] = set()
        calm = self.rng.random() < 0.6
        self.moves = (
            (22, self.fault),
            (14, self.clear),
            (44 if calm else 20, self.progress),
            (6, self.more_evidence),
            (1 if calm else 6, self.blind),
            (0 if calm else 5, self.group),
            (1 if calm else 4, self.mute),
            (1 if calm else 3, self.orphan),
            (3 if calm else 4, self.agent),
            (1.5 if calm else 2, self.scheduler),
            (1 if calm else 8, self.admin),
            (4 if calm else 18, self.person),
            (4, self.approve),
            (2, self.swap),
            (3, self.job),
            (0.5 if calm else 3, self.profile),
            (2, self.crash),
            (1 if calm else 3, self.hang),
            (4, self.hang_under_a_job),
            (5, self.late_poll),
            (1 if calm else 3, self.controller),
        )
        weights = [weight for weight, _ in self.moves]
        self.plan = self.rng.choices([move for _, move in self.moves], weights, k=3 * STEPS)
        self.waits = CALM_WAITS if calm else WAITS

    def run(self, *, leave: bool = True) -> None:
        """Walk, and at the end have a person leave everything. Raises BrokenError."""
        self.start()
        for at in range(STEPS):
            for move in self.plan[3 * at : 3 * at + self.rng.randint(1, 3)]:
                move()
            self.now += self.rng.choice(self.waits)
            self.look(self.rng.random())
            self.step()
        if leave:
            self.ways_out()

    def start(self) -> None:
        self.changes.append(Started(token=1, at=self.now))
        self.has_started = True
        self.step()
        self.look(0.0, everybody=True)
        self.step()
        self.now += 31
        self.look(0.0, everybody=True)
        self.step()

    def step(self) -> None:
        """Hand over what has gathered, in any order."""
        self.rng.shuffle(self.received)
        changes, received, has_started = self.changes, self.received, self.has_started
        self.changes, self.received, self.has_started = [], [], False
        before = self.state
        self.watch.commanded = {one.node for one in changes if isinstance(one, Command)}
        outcome = step(before, changes, received, self.now, SETTINGS)
        self.state = outcome.state
        if self.verbose:
            print(
                f"{self.now:.0f}", *changes, *(one for one in received if isinstance(one, Pursued))
            )
            print("   ->", *outcome.pursue, *(f"cancel {one}" for one in outcome.cancel))
            for record in outcome.records:
                print("     ", record)
        for record in outcome.records:
            self.kept = replay(self.kept, record)
        self.watch.check(before, outcome, self.now, has_started)
        self.visited.update(one.stage for one in self.state.remedies.values())
        self.visited.update(intent.kind for intent in outcome.pursue)
        for intent in (*outcome.pursue, *self.watch.handed_on):
            if intent in self.state.chores.values() and intent not in self.chores:
                self.chores.append(intent)

    def look(self, luck: float, *, everybody: bool = False) -> None:
        """What is seen before a step: not always anything, not always of all."""
        if luck < 0.1 and not everybody:
            return
        silent = sum(not node.agent for node in self.nodes)
        self.received.append(
            FleetCoverage(
                time=self.now, monotonic=self.now, late_s=0.0, agents=NODES, silent=silent
            )
        )
        some = self.nodes if everybody else self.favourites
        self.received += [node.status(self.now) for node in some if node.agent]
        known = self.state.world.node_statuses
        for node in some:
            if not node.agent and node.name in known:
                last = known[node.name]
                age_s = self.now - last.time
                if age_s > silence_s(last.interval_s):
                    late = _replace(last, late=True)
                    self.received.append(silent_status(late) if age_s > DOWN_S else late)
        if luck < 0.7:
            self.received.append(self.poll())

    def poll(self) -> Poll:
        if self.unavailable:
            return Poll(action=ACTION, time=self.now, unavailable=self.unavailable)
        nodes = tuple(node.seen() for node in self.nodes)
        kept = tuple(self.reserved.values())
        boot = str(self.boots)
        return Poll(
            action=ACTION,
            time=self.now,
            nodes=nodes,
            reservations=kept,
            quarantines_devices=True,
            controller_boot=boot,
        )

    def any_node(self) -> Node:
        if self.rng.random() < 0.93:
            return self.rng.choice(self.favourites)
        return self.rng.choice(self.nodes)

    def report(self, node: Node, case: Case) -> None:
        cases = self.cases.setdefault(node.name, {})
        if case.open:
            cases[case.incident] = case
        else:
            cases.pop(case.incident, None)
        if node.agent:
            node.healthy = self.looks_well(node)
        self.changes.append(CaseChanged(node=node.name, case=case))

    def looks_well(self, node: Node) -> bool:
        """As a hub sees it: no rule with an action fires."""
        cases = self.cases.get(node.name, {}).values()
        return all(case.policy.level is None for case in cases)

    def any_case(self) -> tuple[Node, Case] | None:
        nodes = [name for name, cases in self.cases.items() if cases]
        if not nodes:
            return None
        name = self.rng.choice(nodes)
        return self.by_name[name], self.rng.choice(list(self.cases[name].values()))

    def fault(self) -> None:
        node = self.any_node()
        self.number += 1
        draw = self.rng.random
        policy = self.rng.choice(POLICIES)
        # What is only told bars a node where it is critical.
        critical = policy.level is None and self.number % 3 == 0
        case = Case(
            incident=f"i{self.number}",
            policy=policy,
            severity=Severity.CRITICAL if critical else Severity.WARNING,
            since=self.now,
            evidence_at=self.now - (self.rng.choice((0.0, 0.0, 0.0, 700.0))),
            standing=draw() < 0.7,
            trusted=draw() < 0.9,
            blind=draw() < 0.05,
            silence=not node.agent and draw() < 0.3,
            serial=node.serial,
            device=self.rng.choice(DEVICES),
        )
        self.report(node, case)

    def clear(self) -> None:
        chosen = self.any_case()
        if chosen is not None:
            self.report(chosen[0], _replace(chosen[1], open=False))

    def _change(self, **fields: object) -> None:
        chosen = self.any_case()
        if chosen is not None:
            self.report(chosen[0], _replace(chosen[1], **fields))

    def more_evidence(self) -> None:
        self._change(evidence_at=self.now, trusted=True)

    def blind(self) -> None:
        self._change(blind=self.rng.random() < 0.6)

    def mute(self) -> None:
        self._change(muted=self.rng.choice(("", "s1")))

    def orphan(self) -> None:
        self._change(orphaned=True)

    def group(self) -> None:
        """What is open on several nodes is one incident, or not any more."""
        group = self.rng.choice(("", f"g{self.number}"))
        for name, cases in self.cases.items():
            for case in list(cases.values())[:1]:
                self.report(self.by_name[name], _replace(case, group=group))

    def agent(self) -> None:
        node = self.any_node()
        node.agent = not node.agent
        if node.agent:
            node.healthy = self.looks_well(node)

    def hang(self) -> None:
        """Agent and scheduler's daemon are gone, or back."""
        node = self.any_node()
        node.answering = not node.answering
        node.agent = node.answering

    def hang_under_a_job(self) -> None:
        """A node with a job stops answering, and something not on it says so."""
        node = self.any_node()
        self.number += 1
        node.jobs = (JobKey("c", str(self.number), self.now),)
        node.answering = node.agent = False
        case = Case(
            incident=f"i{self.number}",
            policy=POLICIES[self.rng.choice((1, 1, 2, 9, 10))],
            since=self.now,
            evidence_at=self.now,
        )
        self.report(node, case)

    def scheduler(self) -> None:
        self.unavailable = "" if self.unavailable else "no answer in 10 s"

    def controller(self) -> None:
        """The scheduler's controller is started anew, and may have lost its state."""
        self.boots += 1
        if self.rng.random() < 0.7:
            for node in self.nodes:
                node.hold_state, node.mark, node.set_by, node.jobs = HoldState.OPEN, None, "", ()
                node.quarantined_devices = ()

    def admin(self) -> None:
        """Somebody drains, resumes or takes over a node at the scheduler itself."""
        node = self.any_node()
        self.watch.in_hand(node.name)
        node.quarantined_devices = ()
        if node.hold_state is HoldState.OPEN or self.rng.random() < 0.4:
            node.hold_state, node.mark, node.set_by = HoldState.FOREIGN, None, "root"
        else:
            node.hold_state, node.mark, node.set_by = HoldState.OPEN, None, ""

    def person(self) -> None:
        verb = self.rng.choice(tuple(Verb))
        if verb is Verb.STOP and self.rng.random() < 0.5:
            verb = Verb.START
        node = "" if verb.of_all else self.any_node().name
        until = self.now + 500 if verb in (Verb.HOLD, Verb.DENY) else None
        if verb not in (Verb.HOLD, Verb.UNHOLD, Verb.APPROVE, Verb.DENY):
            self.watch.in_hand(node)
        self.changes.append(Command(verb=verb, by="ana", at=self.now, node=node, until=until))

    def approve(self) -> None:
        """A person says yes: to the plan of now, or to an old one."""
        node = self.any_node()
        remedy = self.state.remedies.get(node.name)
        if remedy is None:
            return
        digest = remedy.approval.asked or plan_of(
            StepContext(self.state, SETTINGS, self.now), remedy
        )
        if self.rng.random() < 0.2:
            digest = "0123456789abcdef"
        elif not remedy.approval.asked:
            self.watch.show(self.state, remedy, digest)
        if digest:
            self.watch.approved.add(digest)
        command = Command(verb=Verb.APPROVE, by="ana", at=self.now, node=node.name, digest=digest)
        self.changes.append(command)

    def swap(self) -> None:
        node = self.any_node()
        self.number += 1
        node.serial = f"board-{self.number}-new"
        self.watch.in_hand(node.name)
        node.boot += 1

    def job(self) -> None:
        node = self.any_node()
        self.number += 1
        node.jobs = () if node.jobs else (JobKey("c", str(self.number), self.now),)
        # Who uses a device that is out, or that nobody can tell.
        node.device_jobs = self.rng.choice((node.jobs, (), None))
        if self.rng.random() < 0.5:
            node.restartable = frozenset(node.jobs)
            self.watch.opted.update(node.jobs)
        if self.rng.random() < 0.1:
            for job in node.jobs:
                self.reserve(node, job)

    def reserve(self, node: Node, job: JobKey | None) -> None:
        """Nodes are kept for a job, by a move of it or by who knows whom."""
        if job is not None:
            self.reserved[str(job)] = ReservationObservation(
                name=f"job-{job}", node=node.name, job=job
            )

    def profile(self) -> None:
        node = self.any_node()
        node.ceiling = self.rng.choice(("observe", "quarantine", "drain", "remedy", "resume"))

    def late_poll(self) -> None:
        """What was seen a while ago is told only now."""
        if self.late:
            self.received.append(self.late.pop())
        else:
            self.late.append(self.poll())

    def crash(self) -> None:
        """The engine is killed, and goes on with what the journal has."""
        self.state = self.kept
        self.changes = [Started(token=self.state.token + 1, at=self.now)]
        self.has_started = True
        # What waited to be told is told again by who knows it, also what has ended meanwhile.
        for name, remedy in self.state.remedies.items():
            over = [case for case in remedy.cases if case.incident not in self.cases.get(name, {})]
            ended = [_replace(case, open=False) for case in over]
            self.changes += [CaseChanged(node=name, case=case) for case in ended]
        for name, cases in self.cases.items():
            self.changes += [CaseChanged(node=name, case=case) for case in cases.values()]
        self.received = [one for one in self.received if isinstance(one, Pursued)]
        self.late.clear()  # a poll is the engine's own, and is lost with it

    def progress(self) -> None:
        """Something that is on its way ends, or what is doubtful is observed."""
        flying = list(self.watch.flying.values())
        if self.chores and self.rng.random() < 0.4:
            self.end_chore(self.chores.pop(self.rng.randrange(len(self.chores))))
        if self.doubtful and self.rng.random() < 0.4:
            intent = self.doubtful.pop(self.rng.randrange(len(self.doubtful)))
            if intent.node not in self.watch.flying:
                self.finish(
                    intent,
                    PursuitResult.ACHIEVED if self.rng.random() < 0.6 else PursuitResult.FAILED,
                )
        for intent in flying:
            if self.rng.random() < 0.6:
                self.land(intent)

    def end_chore(self, intent: Intent) -> None:
        """What is given back is; a job that is watched, or that had died, fares as luck has it."""
        luck = self.rng.random()
        if intent.kind is Kind.FOLLOW_JOB and luck < 0.6:
            self.ended(intent, PursuitResult.REFUSED, RefusalKind.DIED)
        elif intent.kind is Kind.TEST and luck < 0.3:
            kind = self.rng.choice((RefusalKind.UNFIT, RefusalKind.IMPOSSIBLE))
            self.ended(intent, PursuitResult.REFUSED, kind)
        elif intent.revive and intent.kind is Kind.MOVE_JOB and luck < 0.3:
            self.ended(intent, *self.rng.choice(ENDINGS))
        elif intent.kind is Kind.RESTORE_JOB and luck < 0.2:
            self.ended(intent, *self.rng.choice(ENDINGS[4:]))
        else:
            if intent.kind is Kind.RESTORE_JOB:
                self.happen(intent)
            self.ended(intent, PursuitResult.ACHIEVED, None)

    def job_of(
        self, intent: Intent, ending: PursuitResult, nodes: tuple[str, ...]
    ) -> JobObservation | None:
        """The job as it is seen at an end."""
        if intent.job is None:
            return None
        dead = intent.kind is Kind.FOLLOW_JOB and ending is not PursuitResult.ACHIEVED
        if intent.kind is Kind.MOVE_JOB and not intent.revive and ending is PursuitResult.REFUSED:
            dead = self.rng.random() < 0.5
            if dead:  # nothing was done to it, so it does not count
                self.watch.not_moved(intent)
        again = dead and self.rng.random() < 0.2
        waits = ending is PursuitResult.FAILED and self.rng.random() < 0.5
        step = self.rng.choice((None, 900, 900, 1000))
        return JobObservation(
            key=intent.job,
            state=JobState.FINISHED if dead and not again else _RUNS[waits],
            nodes=nodes,
            restarts=(intent.restarts or 0) + 1,
            failed=dead and not again,
            checkpoint="" if step is None else f"step-{step}",
            earlier="" if step is None or self.rng.random() < 0.5 else f"step-{step - 100}",
            step=step,
        )

    def land(self, intent: Intent) -> None:
        remedy = self.state.remedies.get(intent.node)
        cancelling = remedy is None or remedy.cancelling or remedy.pursuing != intent
        if cancelling and self.rng.random() < 0.7:
            happened = self.rng.random() < 0.3
            if happened:
                self.happen(intent)
            if intent.kind is Kind.MOVE_JOB and not intent.revive:
                self.watch.not_moved(intent)
            self.ended(intent, PursuitResult.CANCELLED, None)
            return
        ending, refusal = self.rng.choice(ENDINGS)
        if intent.kind is Kind.FOLLOW_JOB and self.rng.random() < 0.5:
            ending, refusal = PursuitResult.REFUSED, RefusalKind.DIED
        if ending is PursuitResult.UNKNOWN:
            if self.rng.random() < 0.5:
                self.happen(intent)
            self.doubtful.append(intent)
            self.ended(intent, ending, None)
            return
        self.finish(intent, ending, refusal)

    def finish(
        self, intent: Intent, ending: PursuitResult, refusal: RefusalKind | None = None
    ) -> None:
        node = self.by_name[intent.node]
        if node.hold_state is HoldState.FOREIGN and intent.kind is not Kind.TEST:
            self.ended(intent, PursuitResult.REFUSED, RefusalKind.FOREIGN)
            return
        if ending is PursuitResult.ACHIEVED:
            self.happen(intent)
        self.ended(intent, ending, refusal)

    def happen(self, intent: Intent) -> None:
        """It comes true, whatever is told of it."""
        node = self.by_name[intent.node]
        match intent.kind:
            case Kind.QUARANTINE if node.hold_state is HoldState.OPEN:
                taken_out(node, intent)
            case Kind.QUARANTINE if node.quarantined_devices:
                taken_out(node, intent)
            case Kind.RELEASE if node.hold_state is HoldState.OURS:
                node.hold_state, node.mark, node.set_by = HoldState.OPEN, None, ""
                node.quarantined_devices = ()
            case Kind.REBOOT | Kind.POWER_CYCLE:
                node.boot += 1
                node.jobs = node.device_jobs = ()
            case Kind.DRAW_SPARE:
                self.reserve(node, intent.job)
            case Kind.RESTORE_JOB:
                self.reserved.pop(str(intent.job), None)
            case Kind.MOVE_JOB | Kind.CANCEL_JOB:
                node.jobs = tuple(job for job in node.jobs if job != intent.job)
                node.device_jobs = ()
                if intent.kind is Kind.MOVE_JOB:
                    self.reserve(node, intent.job)
            case _:
                pass

    def ended(self, intent: Intent, ending: PursuitResult, refusal: RefusalKind | None) -> None:
        if self.watch.flying.get(intent.node) == intent:
            del self.watch.flying[intent.node]
        moved = (self.rng.choice(self.nodes).name,) if intent.kind is Kind.MOVE_JOB else ()
        job = self.job_of(intent, ending, moved or (self.rng.choice(self.nodes).name,))
        node = self.by_name[intent.node]
        self.received.append(
            Pursued(
                intent=intent,
                result=ending,
                time=self.now,
                text="so it was",
                refusal=refusal,
                observed=Observed(time=self.now, node=node.seen(), job=job),
                moved_to=moved,
                original={"ExcNodeList": ""} if moved else {},
                was_applied=refusal is RefusalKind.FOREIGN and self.rng.random() < 0.3,
            )
        )

    def heal(self, rounds: int) -> None:
        """Everything is mended, everybody answers, and what is wanted is done; a round is a minute."""
        self.unavailable = ""
        for node in self.nodes:
            node.agent = node.answering = True
            node.jobs, node.ceiling = (), "resume"
            self.changes.append(Command(verb=Verb.UNHOLD, by="ana", at=self.now, node=node.name))
        for name, cases in list(self.cases.items()):
            for case in list(cases.values()):
                self.report(self.by_name[name], _replace(case, open=False))
        for node in self.nodes:
            node.healthy = True
        self.changes.append(Command(verb=Verb.START, by="ana", at=self.now))
        for _ in range(rounds):
            self.now += 60
            for intent in list(self.watch.flying.values()):
                self.finish(intent, PursuitResult.ACHIEVED)
            self.look(0.0, everybody=True)
            self.step()

    def ways_out(self) -> None:
        """Whatever stage it has come to: a person can end it."""
        nodes = list(self.state.remedies)
        self.changes = [
            Command(verb=Verb.FORGET, by="ana", at=self.now, node=node) for node in nodes
        ]
        self.received = []
        self.step()
        left = [node for node in nodes if node in self.state.remedies]
        if left:
            raise BrokenError(f"{left} cannot be left")


def walk(seed: int, verbose: bool = False) -> set[Stage | Kind]:
    """One history; the stages and intents that it came to. Raises BrokenError."""
    history = History(seed, verbose)
    history.run()
    return history.visited


def kept(path: Path) -> tuple[int, ...]:
    """Seeds that have failed the last time."""
    return tuple(map(int, path.read_text().split())) if path.exists() else ()


def main() -> int:
    """Walk many histories, or one again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=5000)
    parser.add_argument("--seed", type=int, help="walk this one again, and print every move")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument(
        "--keep", type=Path, default=KEPT, help="where seeds that failed are kept, to be first"
    )
    args = parser.parse_args()
    if args.seed is not None:
        walk(args.seed, verbose=True)
        return 0
    started = time.process_time()
    visited: Counter[Stage | Kind] = Counter()
    broken: list[tuple[int, str]] = []
    failed = kept(args.keep)
    for seed in (*failed, *range(args.first, args.first + args.histories)):
        try:
            visited.update(walk(seed))
        except Exception as error:  # noqa: BLE001 - every seed that fails is told
            broken.append((seed, f"{type(error).__name__}: {error}"))
    seconds = time.process_time() - started
    if broken or failed:
        args.keep.parent.mkdir(parents=True, exist_ok=True)
        args.keep.write_text("".join(f"{seed}\n" for seed, _ in broken))
    print(f"{args.histories} histories in {seconds:.1f} s of CPU, {len(broken)} broken")
    for word in (*Stage, *Kind):
        print(f"  {word:<18} in {visited[word]} histories")
    kinds: dict[str, list[int]] = {}
    for seed, text in broken:
        kinds.setdefault(text[:100], []).append(seed)
    for text, seeds in sorted(kinds.items(), key=lambda pair: -len(pair[1]))[:20]:
        print(f"seeds {seeds[:4]} and {max(len(seeds) - 4, 0)} more: {text}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
