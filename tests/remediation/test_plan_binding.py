"""A yes is to the plan that was shown: its steps, node, jobs and owners; and it needs a look at them."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind, JobKey
from accelwatch.action.observed import NodeObservation
from accelwatch.alerting.rules.document import JobPolicy, Mode, When
from accelwatch.remediation.execution.inbox import Reply
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan import digest
from accelwatch.remediation.policy.plan.model import Plan
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.plan.planned_steps import PlannedStep, steps_of
from accelwatch.remediation.policy.state.case import Limit
from accelwatch.remediation.policy.state.changes import CaseChanged, Command, Verb
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import SpareSettings
from remediation import fleet_watch
from remediation.fleet_watch import FleetWatch
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, Node

NODE = "n03"
OTHER = JobKey("c", "18", 900_001.0)
APPROVING = msgspec.structs.replace(POLICY, mode=Mode.APPROVE, job=JobPolicy.REQUEUE)


@dataclass
class OwnedNode(Node):
    """Its scheduler says whose its jobs are."""

    owners: dict[str, str] = field(default_factory=lambda: {"17": "ada", "18": "bob"})

    def seen(self) -> NodeObservation:
        owners = {str(job): self.owners[str(job)] for job in self.jobs}
        return msgspec.structs.replace(super().seen(), owners=owners)


def waiting(policy: object = APPROVING, **ground: object) -> Ground:
    """Job 17 of ada runs on a node that waits for a yes."""
    made = Ground(**ground)  # type: ignore[arg-type]
    before = made.nodes[NODE]
    made.nodes[NODE] = OwnedNode(NODE, before.rack, serial=before.serial, jobs=(JOB,))
    made.step()
    made.fault(NODE, policy=policy)
    assert made.stage(NODE) is Stage.AWAITING_APPROVAL
    return made


def plan_of(ground: Ground) -> Plan:
    return planned(ground.state, NODE, ground.now, ground.settings)


def waiting_digest(ground: Ground) -> str:
    remedy = ground.remedy(NODE)
    assert remedy is not None
    return remedy.approval.asked


def alerts(ground: Ground) -> list[str]:
    """What a person was called for."""
    return [note.text for note in ground.notes if note.loudness is Loudness.ALERT]


def approve(ground: Ground, digest: str) -> list[str]:
    """A person says yes to a plan; what is answered."""
    return [note.text for note in ground.send_command(Verb.APPROVE, NODE, digest=digest).notes]


def a_job_comes(ground: Ground) -> None:
    ground.nodes[NODE].jobs = (JOB, OTHER)


def a_job_goes(ground: Ground) -> None:
    ground.nodes[NODE].jobs = ()


def another_has_it(ground: Ground) -> None:
    node = ground.nodes[NODE]
    assert isinstance(node, OwnedNode)
    node.owners = {"17": "eve"}


def a_spare_is_silent(ground: Ground) -> None:
    ground.nodes["n10"].answering = False


def the_rule_is_changed(ground: Ground) -> None:
    remedy = ground.remedy(NODE)
    assert remedy is not None
    policy = msgspec.structs.replace(remedy.cases[0].policy, ladder=(Limit("reset"),))
    case = msgspec.structs.replace(remedy.cases[0], policy=policy)
    ground.step(CaseChanged(node=NODE, case=case))


@pytest.mark.parametrize(
    "change", [a_job_comes, a_job_goes, another_has_it, a_spare_is_silent, the_rule_is_changed]
)
def test_another_plan_takes_another_yes(change: Callable[[Ground], None]) -> None:
    spares = SpareSettings(nodes=("n10", "n11"), near=())
    settings = msgspec.structs.replace(SETTINGS, spares=spares)
    ground = waiting(msgspec.structs.replace(APPROVING, draw_spare=True), settings=settings)
    before = waiting_digest(ground)
    change(ground)
    ground.wait(10)
    assert waiting_digest(ground) not in ("", before)
    assert waiting_digest(ground) == plan_of(ground).digest
    assert any("the plan for n03 has changed" in text for text in approve(ground, before))
    assert ground.kinds(NODE) == []
    approve(ground, waiting_digest(ground))
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def reword(patch: pytest.MonkeyPatch) -> None:
    """Another version of the program says the same steps, and whose jobs they are, in other words."""

    def reworded(*of: Any) -> Iterator[PlannedStep]:
        return (step._replace(text=f"please {step.text}") for step in steps_of(*of))

    patch.setattr(digest, "steps_of", reworded)


def test_other_words_for_the_same_plan_take_no_other_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = waiting()
    before = waiting_digest(ground)
    reword(monkeypatch)
    ground.wait(10)
    assert (waiting_digest(ground), plan_of(ground).digest) == (before, before)
    approve(ground, before)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def in_words(ground: Ground) -> str:
    """The digest that a hub had made from the words of the steps."""
    remedy = ground.remedy(NODE)
    assert remedy is not None
    case = remedy.cases[0]
    steps = [
        ("move_job", "move job 17 of ada to other nodes"),
        ("quarantine", "take n03 out of the pool"),
        *(
            (step.kind.value, step.text)
            for step in plan_of(ground).steps
            if step.kind not in (IntentKind.MOVE_JOB, IntentKind.QUARANTINE)
        ),
    ]
    content = (NODE, NODE, case.incident, case.policy, sorted(steps), (JOB,), ("17 of ada",), "")
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def restored(ground: Ground, **approval: str) -> None:
    """The state as an older hub has left it."""
    remedy = ground.remedy(NODE)
    assert remedy is not None
    older = msgspec.structs.replace(remedy.approval, **approval)
    remedies = {**ground.state.remedies, NODE: msgspec.structs.replace(remedy, approval=older)}
    ground.state = msgspec.structs.replace(ground.state, remedies=remedies)


def test_what_an_older_hub_has_requested_still_waits_and_can_be_approved() -> None:
    ground = waiting()
    before = in_words(ground)
    assert before != waiting_digest(ground)
    restored(ground, asked=before)
    ground.wait(10)
    assert waiting_digest(ground) == before
    assert plan_of(ground).digest == before, "links and forms speak of the same plan"
    approve(ground, before)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def test_what_an_older_hub_has_requested_changes_with_the_plan() -> None:
    ground = waiting()
    before = in_words(ground)
    restored(ground, asked=before)
    a_job_comes(ground)
    ground.wait(10)
    assert waiting_digest(ground) not in ("", before)
    assert plan_of(ground).digest == waiting_digest(ground)
    assert any("the plan for n03 has changed" in text for text in approve(ground, before))


def test_a_plan_that_has_changed_has_another_digest_before_its_approval_is_requested() -> None:
    ground = waiting()
    before = in_words(ground)
    a_job_comes(ground)
    ground.step()
    now = plan_of(ground).digest
    restored(ground, asked=before)
    assert plan_of(ground).digest == now


def test_what_an_older_hub_has_requested_names_no_plan_that_waits_for_nobody() -> None:
    ground = waiting()
    before, now = in_words(ground), plan_of(ground).digest
    restored(ground, asked=before)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    suspect = msgspec.structs.replace(remedy, stage=Stage.SUSPECT)
    remedies = {**ground.state.remedies, NODE: suspect}
    ground.state = msgspec.structs.replace(ground.state, remedies=remedies)
    assert plan_of(ground).digest == now


def test_a_change_that_the_poll_at_the_approval_shows_counts() -> None:
    ground = waiting()
    before = waiting_digest(ground)
    a_job_comes(ground)
    ground.step()
    approve(ground, before)
    assert ground.kinds(NODE) == []


def test_a_plan_names_jobs_and_owners() -> None:
    ground = waiting()
    assert "move job 17 of ada to other nodes" in [step.text for step in plan_of(ground).steps]
    later = waiting(msgspec.structs.replace(APPROVING, when=When.AFTER_JOB))
    texts = [step.text for step in plan_of(later).steps]
    assert texts[0] == "take n03 out of the pool; job 17 of ada runs there until it ends"
    before = waiting_digest(later)
    a_job_comes(later)
    later.wait(10)
    assert waiting_digest(later) != before, "also of one that only runs to its end"


def test_jobs_that_come_and_go_call_nobody_again() -> None:
    ground = waiting()
    before = ground.remedy(NODE)
    for _ in range(20):
        a_job_comes(ground)
        ground.wait(5, every=5)
        ground.nodes[NODE].jobs = (JOB,)
        ground.wait(5, every=5)
    after = ground.remedy(NODE)
    assert before is not None
    assert after is not None
    assert (after.clocks.since, after.clocks.due) == (before.clocks.since, before.clocks.due)
    assert len(alerts(ground)) == 1
    changes = [note.text for note in ground.notes if "another one now (" in note.text]
    assert "new: move job 18 of bob to other nodes" in changes[0]


def test_a_yes_that_waits_holds_as_long_as_the_plan_is_the_same() -> None:
    ground = waiting()
    ground.send_command(Verb.STOP)
    assert ground.stage(NODE) is Stage.SUSPECT
    approve(ground, waiting_digest(ground))
    ground.wait(60)
    ground.send_command(Verb.START)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def test_a_yes_that_waits_is_void_when_a_job_comes() -> None:
    ground = waiting()
    ground.send_command(Verb.STOP)
    approve(ground, waiting_digest(ground))
    a_job_comes(ground)
    ground.wait(60)
    ground.send_command(Verb.START)
    ground.wait(10)
    assert ground.kinds(NODE) == []
    assert ground.stage(NODE) is Stage.AWAITING_APPROVAL


def fails_once(ground: Ground) -> None:
    ground.unavailable = "connection refused"
    ground.wait(5)
    ground.unavailable = ""


def fails_for_long(ground: Ground) -> None:
    ground.unavailable = "connection refused"
    ground.wait(4 * FRESH_S)
    ground.unavailable = ""


def hangs(ground: Ground) -> None:
    """Nothing is heard of the scheduler at all, not even that it is away."""
    for _ in range(8):
        ground.now += FRESH_S / 2
        ground.step(seen=ground.looks()[:-1], look=False)


def restarts(ground: Ground) -> None:
    ground.killed()
    ground.wait(200)


@pytest.mark.parametrize("hiccup", [fails_once, fails_for_long, hangs, restarts])
def test_a_scheduler_that_hiccups_asks_nobody_again(hiccup: Callable[[Ground], None]) -> None:
    ground = waiting()
    before = ground.remedy(NODE)
    assert before is not None
    hiccup(ground)
    ground.wait(30)
    after = ground.remedy(NODE)
    assert after is not None
    waited = (Stage.AWAITING_APPROVAL, before.approval.asked, before.clocks.since)
    assert (after.stage, after.approval.asked, after.clocks.since) == waited, (
        "by these the link is known"
    )
    assert len(alerts(ground)) == 1
    approve(ground, before.approval.asked)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]


def test_a_budget_that_is_spent_meanwhile_takes_no_question_back() -> None:
    ground = waiting()
    before = waiting_digest(ground)
    ground.fault("n10")
    assert ground.kinds("n10") == [IntentKind.QUARANTINE]
    ground.wait(30)
    assert (ground.stage(NODE), waiting_digest(ground)) == (Stage.AWAITING_APPROVAL, before)
    approve(ground, before)
    assert ground.kinds(NODE) == [], "an approved plan waits for the pace of the budget"
    ground.wait(SETTINGS.budget.spacing_s)
    assert ground.kinds(NODE) == [IntentKind.QUARANTINE]
    assert sum("n03" in text for text in alerts(ground)) == 1


def test_what_changed_during_a_hiccup_takes_another_yes() -> None:
    ground = waiting()
    before = waiting_digest(ground)
    ground.unavailable = "connection refused"
    a_job_comes(ground)
    ground.wait(30)
    assert waiting_digest(ground) == before
    ground.unavailable = ""
    ground.wait(10)
    approve(ground, before)
    assert ground.kinds(NODE) == []


def test_a_yes_during_a_hiccup_changes_nothing_and_says_why() -> None:
    ground = waiting()
    plan, seen_at = plan_of(ground), ground.now
    ground.unavailable = "connection refused"
    ground.wait(3 * FRESH_S)
    shown = plan_of(ground)
    assert (shown.digest, shown.as_of) == (plan.digest, seen_at)
    assert [step.text for step in shown.steps] == [step.text for step in plan.steps]
    (text,) = [one for one in approve(ground, plan.digest) if "changes nothing" in one]
    assert "what runs on n03 is unknown now; the plan keeps waiting" in text
    assert ground.stage(NODE) is Stage.AWAITING_APPROVAL
    assert ground.kinds(NODE) == []


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.HOLD])
def test_what_people_say_counts_during_a_hiccup_too(verb: Verb) -> None:
    ground = waiting()
    ground.unavailable = "connection refused"
    ground.wait(10)
    ground.send_command(verb, "" if verb.of_all else NODE)
    assert ground.stage(NODE) is not Stage.AWAITING_APPROVAL


def test_what_is_over_during_a_hiccup_needs_no_approval_any_more() -> None:
    ground = waiting()
    ground.unavailable = "connection refused"
    ground.wait(10)
    remedy = ground.remedy(NODE)
    assert remedy is not None
    ground.clear(NODE, remedy.cases[0])
    assert ground.stage(NODE) is Stage.HEALTHY


class ApprovedFleet:
    """An engine that asks before it acts, over a scheduler in memory; job 17 runs on a bad node."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        policy = msgspec.structs.replace(fleet_watch.POLICY, mode=Mode.APPROVE)
        monkeypatch.setattr(fleet_watch, "POLICY", policy)
        self.watch = FleetWatch(folder)
        self.world, self.loop = self.watch.bench.world, self.watch.bench.loop
        self.world.add_job("17", NODE)
        self.replies: list[Reply] = []
        self.plan = ""

    def run(self, happen: Callable[[], None]) -> None:
        """The node goes bad at 300 s; a person looks, something happens, and he says yes to that."""
        self.watch.bench.at(300.0, lambda: self.watch.fault(NODE))
        # Surveys come every five seconds: what happens now is in none of them.
        self.watch.bench.at(333.3, lambda: self.yes(happen))
        self.watch.run(400.0)
        self.loop.close()

    def yes(self, happen: Callable[[], None]) -> None:
        self.plan = self.watch.engine.state.remedies[NODE].approval.asked
        assert self.plan
        happen()
        command = Command(verb=Verb.APPROVE, by="ana", at=0.0, node=NODE, digest=self.plan)

        async def command_now() -> None:
            self.replies.append(await self.watch.engine.submit_command(command))

        self.commanding = asyncio.ensure_future(command_now())

    @property
    def drained(self) -> bool:
        return self.world.count("drain", NODE) > 0


@pytest.fixture
def approved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ApprovedFleet:
    return ApprovedFleet(tmp_path, monkeypatch)


def test_a_yes_to_what_is_still_so_drains(approved: ApprovedFleet) -> None:
    approved.run(lambda: None)
    assert [reply.problem for reply in approved.replies] == [""]
    assert approved.drained


def test_a_job_that_came_since_the_last_poll_is_not_approved_with_it(
    approved: ApprovedFleet,
) -> None:
    def comes() -> None:
        approved.world.add_job("18", NODE)

    approved.run(comes)
    (reply,) = approved.replies
    assert any("has changed" in note.text for note in reply.notes)
    assert not approved.drained
    assert approved.watch.engine.state.remedies[NODE].approval.asked != approved.plan


def test_an_approval_while_the_scheduler_does_not_answer_counts_for_nothing_and_may_be_repeated(
    approved: ApprovedFleet,
) -> None:
    def away() -> None:
        approved.world.unavailable = "connection refused"
        back = approved.watch.bench
        back.at(10.0, lambda: setattr(approved.world, "unavailable", ""))
        back.at(20.0, lambda: approved.yes(lambda: None))

    approved.run(away)
    first, second = approved.replies
    assert "fake does not answer: connection refused" in first.problem
    assert "keeps waiting" in first.problem
    assert second.problem == ""
    assert approved.drained
