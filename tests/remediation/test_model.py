"""What the pure part knows goes through JSON unchanged, and is made again from its records."""

import msgspec
import pytest

from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import HoldState, NodeObservation
from accelwatch.alerting.rules.document import Mode, QuarantineLevel
from accelwatch.remediation.policy.context.records import (
    AttemptsRecord,
    BoundaryRecord,
    BreakerRecord,
    BudgetRecord,
    CanaryRecord,
    ChoreRecord,
    DeniedRecord,
    DepartedRecord,
    ForgottenRecord,
    LingeringRecord,
    NodeTestsRecord,
    OverrideRecord,
    RelapsesRecord,
    RemedyRecord,
    RetriesRecord,
    ScoresRecord,
    SparesRecord,
    StartedRecord,
    StateRecord,
    StopRecord,
    VetoRecord,
)
from accelwatch.remediation.policy.context.tables import replay
from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.guards.limits.attempts import AttemptState
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState
from accelwatch.remediation.policy.guards.limits.budget import BudgetState
from accelwatch.remediation.policy.guards.limits.canary import CanaryState, RuleVersion
from accelwatch.remediation.policy.guards.retry.job_history import JobHistory, RetryState
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.model import (
    Attempt,
    Clocks,
    Departed,
    JobProgress,
    NodeQuarantine,
    Remedy,
    RemedyState,
    Repair,
    Verification,
)
from accelwatch.remediation.policy.state.node_tests import Figure, LatestRun, NodeTests
from accelwatch.remediation.policy.state.orders import Boundary, Denied, Override, Stop, Veto
from accelwatch.remediation.policy.state.relapses import Relapses
from accelwatch.remediation.policy.state.score import Level, ScoreState
from accelwatch.remediation.policy.state.spares.model import Spare, SpareState
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import Good, NodeStatus, Scheduler, World

MARK = OwnerAnnotation("i1", 3)
INTENT = Intent(
    kind=IntentKind.MOVE_JOB,
    mark=MARK,
    node="n1",
    job=JobKey("c", "17", 5.0, "2"),
    original={"ExcNodeList": "n3"},
    deadline=100.0,
)
POLICY = Policy(
    rule="nvidia.gpu.lost",
    mode=Mode.AUTO,
    level=QuarantineLevel.NODE,
    ladder=(Limit("reboot", 2), Limit("service")),
)
CASE = Case(incident="i1", policy=POLICY, since=1.0, evidence_at=2.0)
REMEDY = Remedy(
    node="n1",
    stage=Stage.DRAINING,
    clocks=Clocks(since=10.0, due=20.0, begun=1.0),
    cases=(CASE,),
    policy=POLICY,
    incident="i1",
    hold=NodeQuarantine(node="n1", mark=MARK, set_at=5.0, original={"reason": "x"}),
    pursuing=INTENT,
    repair=Repair(
        attempts=(Attempt(rung="reboot", at=4.0),),
        verification=Verification(since=3.0, generation="g1", passed=("quick",)),
    ),
    jobs=JobProgress(signalled=(JobKey("c", "17", 5.0),)),
    denial=Denial(why=DenialKind.BUDGET, text="2 of 2 nodes", until=9.0),
)
RECORDS: list[StateRecord] = [
    StartedRecord(token=3, at=0.5),
    RemedyRecord(node="n1", remedy=REMEDY),
    OverrideRecord(node="n2", override=Override(node="n2", at=1.0, until=2.0)),
    BoundaryRecord(node="n3", boundary=Boundary(node="n3", at=1.0, by="ana")),
    VetoRecord(node="n4", veto=Veto(node="n4", by="ana", reason="mine", at=1.0)),
    DeniedRecord(node="n5", denied=Denied(node="n5", rules=("r",), by="ana", until=9.0)),
    StopRecord(stop=Stop(by="ana", at=1.0)),
    ChoreRecord(key="job 17", intent=INTENT),
    DepartedRecord(
        key="c/17 5", departed=Departed(job=JobKey("c", "17", 5.0), at=9.0, nodes=("n1", "n2"))
    ),
    LingeringRecord(node="n6", intent=INTENT),
    ForgottenRecord(node="n7", incident="i7"),
    NodeTestsRecord(
        node="n7",
        tests=NodeTests(
            runs={"pair": LatestRun(tried=1.0, figure=Figure(value=4e10, peer="n8", at=2.0))}
        ),
    ),
    RelapsesRecord(node="n7", relapses=Relapses(released=3.0, count=2)),
    BudgetRecord(budget=BudgetState(begun={"train": (1.0,)})),
    BreakerRecord(breaker=BreakerState(failures=(1.0,))),
    AttemptsRecord(attempts=AttemptState(tried={"i1": 1})),
    CanaryRecord(canary=CanaryState(rules={"r": RuleVersion("d", 1.0)})),
    SparesRecord(spares=SpareState(spares={"n60": Spare(incident="i1")})),
    RetriesRecord(retries=RetryState(jobs={"17": JobHistory(resumed=(1.0,))})),
    ScoresRecord(scores=ScoreState(levels={"node:n1": Level(1.5, 1.0)})),
]
WORLD = World(
    node_statuses={"n1": NodeStatus(node="n1", time=1.0, healthy=True, serials={"0": "s"})},
    scheduler_nodes={"n1": NodeObservation(name="n1", hold_state=HoldState.OURS, annotation=MARK)},
    shown_by={"n1": "slurm"},
    good={"n1": Good(generation="g1", since=1.0, until=2.0)},
    schedulers={"slurm": Scheduler(time=1.0)},
)


def folded(records: list[StateRecord]) -> RemedyState:
    state = RemedyState()
    for record in records:
        state = replay(state, record)
    return state


def test_the_state_goes_through_json_unchanged() -> None:
    state = msgspec.structs.replace(folded(RECORDS), world=WORLD)
    assert msgspec.json.decode(msgspec.json.encode(state), type=RemedyState) == state


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_goes_through_json_unchanged(record: StateRecord) -> None:
    assert msgspec.json.decode(msgspec.json.encode(record), type=StateRecord) == record


def test_every_table_is_made_of_records() -> None:
    state = folded(RECORDS)
    empty = RemedyState()
    same = [
        field.name
        for field in msgspec.structs.fields(RemedyState)
        if getattr(state, field.name) == getattr(empty, field.name)
    ]
    assert same == ["world"]


def test_a_record_without_a_value_takes_the_row_out() -> None:
    state = folded([*RECORDS, RemedyRecord(node="n1", remedy=None), StopRecord(stop=None)])
    assert not state.remedies
    assert state.stop is None
    assert state.overrides


def test_what_may_yet_be_our_quarantine_counts() -> None:
    bare = Remedy(node="n1", stage=Stage.SUSPECT, clocks=Clocks(since=0.0, begun=0.0))
    assert not bare.counts
    wanted = msgspec.structs.replace(INTENT, kind=IntentKind.QUARANTINE)
    assert msgspec.structs.replace(bare, stage=Stage.QUARANTINING).counts
    assert msgspec.structs.replace(bare, stage=Stage.UNKNOWN, pursuing=wanted).counts
    assert msgspec.structs.replace(bare, stage=Stage.SERVICE, hold=REMEDY.hold).counts
    assert not msgspec.structs.replace(bare, stage=Stage.UNKNOWN, pursuing=INTENT).counts
