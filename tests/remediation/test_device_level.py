"""A single device is taken out of a node: the rest of it goes on, and no less is out than has to be."""

import msgspec
import pytest

from accelwatch.action.intent import DeviceKey, Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import JobPolicy, Mode, QuarantineLevel, When
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.case import Case, Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.model import NodeQuarantine, Remedy
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from support.remediation.small_fleet import JOB, POLICY, Ground

NODE = "n03"
replace = msgspec.structs.replace
DEVICE = replace(
    POLICY,
    rule="device",
    level=QuarantineLevel.DEVICE,
    when=When.AFTER_JOB,
    job=JobPolicy.NOTHING,
    ladder=(Limit("reset"), Limit("service")),
)
WHOLE = replace(POLICY, rule="whole", when=When.AFTER_JOB)
OTHER_JOB = JobKey("c", "18", 900_000.0)
GPU_0 = DeviceKey("GPU-0", serial="s0", slot="0000:65:00.0")
GPU_1 = DeviceKey("GPU-1")


def remedy(ground: Ground) -> Remedy:
    match = ground.remedy(NODE)
    assert match is not None
    return match


def quarantine(ground: Ground) -> NodeQuarantine:
    match = remedy(ground).hold
    assert match is not None
    return match


def last(ground: Ground) -> Intent:
    return ground.started[-1]


def faulty(
    policy: Policy = DEVICE, device_jobs: tuple[JobKey, ...] | None = ()
) -> tuple[Ground, Case]:
    """A device of a node with two jobs is out."""
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB, OTHER_JOB)
    ground.nodes[NODE].device_jobs = device_jobs
    case = ground.fault(NODE, policy=policy, device=GPU_0.id, serial=GPU_0.serial, slot=GPU_0.slot)
    ground.end(NODE)
    return ground, case


def second(ground: Ground, policy: Policy, device: str = "", **fields: object) -> Case:
    case = ground.fault(NODE, "second", policy=policy, device=device, serial="", **fields)
    ground.wait(10.0)
    return case


def test_the_intent_names_the_device_by_all_that_is_known_of_it() -> None:
    ground, _ = faulty()
    (intent,) = [one for one in ground.started if one.node == NODE and one.kind is Kind.QUARANTINE]
    assert intent.devices == (GPU_0,)
    assert (quarantine(ground).level, quarantine(ground).devices) == (
        QuarantineLevel.DEVICE,
        ("GPU-0",),
    )
    texts = [note.text for note in ground.notes]
    assert f"GPU-0 of {NODE} takes no new work; the rest of the node does" in texts


def test_the_intent_of_a_whole_node_names_no_device() -> None:
    ground = Ground()
    ground.fault(NODE, policy=WHOLE, device="GPU-0")
    assert last(ground).devices == ()


def test_only_jobs_that_use_the_device_are_waited_for() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    assert ground.stage(NODE) is Stage.DRAINING
    ground.nodes[NODE].device_jobs = ()
    ground.wait(10.0)
    assert last(ground).kind is Kind.RESET_DEVICE, "though another job runs on the node"
    assert ground.nodes[NODE].jobs == (JOB, OTHER_JOB)


def test_nothing_is_done_while_it_is_unknown_whose_the_device_is() -> None:
    ground, _ = faulty(device_jobs=None)
    ground.wait(600.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_only_jobs_that_use_the_device_are_moved() -> None:
    moving = replace(DEVICE, when=When.NOW, job=JobPolicy.REQUEUE)
    ground, _ = faulty(moving, device_jobs=(OTHER_JOB,))
    ground.wait(10.0)
    assert [(one.kind, one.job) for one in ground.started if one.job is not None] == [
        (Kind.MOVE_JOB, OTHER_JOB)
    ]


def test_the_plan_says_which_device() -> None:
    ground = Ground()
    ground.fault(NODE, policy=replace(DEVICE, mode=Mode.APPROVE), device="GPU-0")
    plan = planned(ground.state, NODE, ground.now, ground.settings)
    assert plan.steps[0].text == f"take GPU-0 of {NODE} out of the pool"


def test_another_bad_device_is_taken_out_as_well() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, replace(DEVICE, rule="other"), GPU_1.id)
    assert last(ground).devices == (GPU_0, GPU_1)
    assert ground.stage(NODE) is Stage.QUARANTINING
    ground.end(NODE)
    assert quarantine(ground).devices == ("GPU-0", "GPU-1")
    assert quarantine(ground).mark.incident == f"i-{NODE}", "our mark is known by the first"
    assert ground.kinds(NODE).count(Kind.QUARANTINE) == 2


def test_the_same_device_again_changes_nothing() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, replace(DEVICE, rule="other"), GPU_0.id)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


@pytest.mark.parametrize("device", ["GPU-0", "GPU-1", ""])
def test_a_rule_that_wants_the_whole_node_gets_it(device: str) -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, WHOLE, device)
    assert (last(ground).kind, last(ground).devices) == (Kind.QUARANTINE, ())
    ground.end(NODE)
    assert (quarantine(ground).level, quarantine(ground).devices) == (QuarantineLevel.NODE, ())
    ground.wait(10.0)
    assert ground.stage(NODE) is Stage.DRAINING, "every job of the node is waited for now"
    assert [note.text for note in ground.notes].count(f"{NODE} takes no new work") == 1


def test_a_stricter_rule_for_a_device_leaves_no_node_in_that_another_wants_out() -> None:
    now = replace(DEVICE, rule="now", when=When.NOW, job=JobPolicy.REQUEUE)
    ground, _ = faulty(now, device_jobs=(JOB,))
    second(ground, WHOLE)
    ground.end(NODE, moved_to=("n10",))
    ground.wait(10.0)
    ground.end(NODE)
    assert quarantine(ground).level is QuarantineLevel.NODE
    policy = remedy(ground).policy
    assert policy is not None
    assert (policy.level, policy.when) == (QuarantineLevel.NODE, When.NOW)


def test_a_node_that_is_out_stays_out_when_only_a_device_is_bad_any_more() -> None:
    ground, first = faulty(device_jobs=(JOB,))
    whole = second(ground, WHOLE)
    ground.end(NODE)
    ground.step(CaseChanged(node=NODE, case=replace(whole, open=False)))
    ground.wait(60.0)
    assert quarantine(ground).level is QuarantineLevel.NODE
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.QUARANTINE]
    assert first.device == "GPU-0"


@pytest.mark.parametrize(
    ("policy", "fields"),
    [
        ({"mode": Mode.OBSERVE}, {}),
        ({"mode": Mode.APPROVE}, {}),
        ({}, {"blind": True}),
        ({}, {"muted": "s1"}),
        ({}, {"orphaned": True}),
        ({}, {"group": "g1"}),
        ({}, {"trusted": False}),
        ({}, {"standing": False, "evidence_at": 1.0}),
    ],
)
@pytest.mark.parametrize("wider", [WHOLE, replace(DEVICE, rule="other")])
def test_a_rule_that_may_not_act_widens_nothing(
    wider: Policy, policy: dict[str, object], fields: dict[str, object]
) -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, replace(wider, **policy), GPU_1.id, **fields)
    ground.wait(600.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert quarantine(ground).devices == ("GPU-0",)


def test_nothing_is_widened_after_a_stop() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    ground.send_command(Verb.STOP)
    second(ground, WHOLE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_a_person_takes_the_whole_node_out() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.wait(10.0)
    assert (last(ground).kind, last(ground).devices) == (Kind.QUARANTINE, ())
    ground.end(NODE)
    assert quarantine(ground).level is QuarantineLevel.NODE


@pytest.mark.parametrize(
    ("ending", "refusal", "stage"),
    [
        (PursuitResult.FAILED, None, Stage.FAILED),
        (PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE, Stage.FAILED),
        (PursuitResult.UNKNOWN, None, Stage.UNKNOWN),
    ],
)
def test_what_fails_to_be_widened_is_still_ours(
    ending: PursuitResult, refusal: RefusalKind | None, stage: Stage
) -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, WHOLE)
    ground.end(NODE, ending, refusal)
    assert ground.stage(NODE) is stage
    if stage is Stage.FAILED:
        assert quarantine(ground).devices == ("GPU-0",)
        ground.wait(3600.0)
        assert Stage.SUSPECT not in {ground.stage(NODE)}
        assert ground.kinds(NODE)[:3] == [Kind.QUARANTINE] * 3


def test_a_widening_that_is_cancelled_leaves_the_device_out() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, WHOLE)
    ground.send_command(Verb.STOP)
    ground.end(NODE, PursuitResult.CANCELLED)
    assert ground.stage(NODE) in (Stage.QUARANTINED, Stage.DRAINING)
    assert quarantine(ground).devices == ("GPU-0",)


def test_an_engine_that_is_killed_while_it_widens_goes_on_with_it() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, WHOLE)
    ground.killed()
    pursuing = remedy(ground).pursuing
    assert pursuing is not None
    assert (pursuing.kind, pursuing.devices) == (Kind.QUARANTINE, ())
    assert quarantine(ground).devices == ("GPU-0",)


@pytest.mark.parametrize("rung", ["reboot", "power_cycle"])
def test_no_reboot_under_jobs_on_other_devices(rung: str) -> None:
    """Such a rule is refused when it is loaded; here it is by its policy."""
    ground, _ = faulty(replace(DEVICE, ladder=(Limit(rung),)))
    ground.wait(60.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    denial = remedy(ground).denial
    assert denial is not None
    assert denial.why is DenialKind.LEVEL


def test_no_test_of_the_node_while_it_takes_work() -> None:
    ground, case = faulty(replace(DEVICE, tests=("quick",)))
    ground.nodes[NODE].healthy = True
    ground.step(CaseChanged(node=NODE, case=replace(case, open=False)))
    ground.wait(600.0)
    assert Kind.TEST not in ground.kinds(NODE)


def test_a_silent_node_is_not_fenced_for_a_device() -> None:
    moving = replace(DEVICE, when=When.NOW, job=JobPolicy.REQUEUE)
    ground, _ = faulty(moving, device_jobs=(JOB,))
    ground.flying.pop(NODE, None)
    node = ground.nodes[NODE]
    node.agent = node.answering = False
    ground.wait(1200.0)
    assert Kind.FENCE not in ground.kinds(NODE)


def test_the_device_is_given_back_when_it_is_well() -> None:
    ground, case = faulty()
    ground.wait(10.0)
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(120.0)
    assert last(ground).kind is Kind.RELEASE
    assert last(ground).devices == ()
    ground.end(NODE)
    assert ground.nodes[NODE].hold_state is HoldState.OPEN


def test_a_rule_without_a_device_takes_nothing_out() -> None:
    ground = Ground()
    ground.fault(NODE, policy=DEVICE)
    assert ground.kinds(NODE) == []
    denial = remedy(ground).denial
    assert denial is not None
    assert denial.text == "rule device takes out single devices, and its incident names none"


def test_no_device_is_requested_from_a_scheduler_that_takes_out_whole_nodes_only() -> None:
    ground = Ground(quarantines_devices=False)
    ground.fault(NODE, policy=DEVICE, device="GPU-0")
    ground.wait(60.0)
    assert ground.kinds(NODE) == []
    denial = remedy(ground).denial
    assert denial is not None
    assert denial.text == "slurm takes out whole nodes only; have rule device say level: node"


def test_a_device_that_is_covered_under_another_name_is_requested_once() -> None:
    """As a MIG device of a GPU that is out, or a GPU that another rule knows by its PCI address."""
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, DEVICE, "MIG-0")
    ground.apply = lambda intent: None  # type: ignore[method-assign]
    ground.end(NODE)
    assert ground.nodes[NODE].quarantined_devices == (GPU_0.id,)
    ground.wait(300)
    assert ground.stage(NODE) is not Stage.QUARANTINING
    assert ground.kinds(NODE).count(Kind.QUARANTINE) == 2


def test_a_device_whose_widening_is_cancelled_counts_as_in() -> None:
    ground, _ = faulty(device_jobs=(JOB,))
    second(ground, DEVICE, GPU_1.id)
    ground.send_command(Verb.STOP)
    ground.end(NODE, PursuitResult.CANCELLED)
    assert quarantine(ground).devices == (GPU_0.id,)
