"""Nothing is done to a node on a reading that is older than two of its intervals."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import JobPolicy, Mode, When
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.policy.state.world import NodeStatus
from support.remediation.small_fleet import JOB, POLICY, Ground, job_policy

NODE = "n03"


def silenced(ground: Ground, **fields: object) -> None:
    """The agent falls silent; what was heard last is told as it is then."""
    last = ground.state.world.node_statuses[NODE]
    ground.nodes[NODE].agent = False
    ground.step(seen=(msgspec.structs.replace(last, **{"late": True, **fields}),))


def speaks(ground: Ground) -> None:
    ground.nodes[NODE].agent = True
    ground.now += 1.0
    ground.step()


def in_the_way(ground: Ground, kind: Kind) -> list[str]:
    steps = planned(ground.state, NODE, ground.now, ground.settings).steps
    (step,) = [one for one in steps if one.kind is kind]
    return [one.text for one in step.in_the_way if one.why is DenialKind.STALE_READING]


def remedy(ground: Ground) -> Remedy:
    found = ground.remedy(NODE)
    assert found is not None
    return found


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize(("interval_s", "limit"), [(1.0, "2 s"), (15.0, "30 s")])
def test_a_silent_node_is_not_taken_out_until_it_speaks_again(
    active: bool, interval_s: float, limit: str
) -> None:
    ground = Ground()
    ground.now += 9.0
    silenced(ground, interval_s=interval_s)
    ground.fault(NODE, standing=active)
    assert ground.kinds(NODE) == []
    text = (
        f"the last reading of {NODE} is 9 s old, and nothing is done on a reading older than {limit} "
        "(two of its intervals)"
    )
    assert in_the_way(ground, Kind.QUARANTINE) == [text]
    assert remedy(ground).denial is not None
    assert [note.text for note in ground.notes if note.node == NODE] == [
        f"quarantine is held back: {text}"
    ]
    speaks(ground)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_what_was_not_reported_for_long_is_not_taken_out_either() -> None:
    ground = Ground()
    ground.nodes[NODE].agent = False
    ground.now += FRESH_S
    ground.step()
    ground.now += 1.0
    ground.fault(NODE)
    assert ground.kinds(NODE) == []
    assert in_the_way(ground, Kind.QUARANTINE)[0].startswith(f"the last reading of {NODE} is 61 s")


def test_a_device_whose_own_source_is_silent_is_not_current() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    ground.fault(NODE, device="gpu-1")
    ground.now += 1.0
    node = ground.nodes[NODE]
    status = msgspec.structs.replace(node.status(ground.now), late_devices=("gpu-1",))
    node.status = lambda now: msgspec.structs.replace(status, time=now)  # type: ignore[method-assign]
    ground.send_command(Verb.START)
    assert ground.kinds(NODE) == []
    assert in_the_way(ground, Kind.QUARANTINE) == [
        f"the source of gpu-1 on {NODE} is silent, and nothing is done on a reading older than 2 s "
        "(two of its intervals)"
    ]
    status = msgspec.structs.replace(status, late_devices=("gpu-2",))
    ground.step()
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_the_rule_s_own_word_that_silence_is_the_evidence_is_enough() -> None:
    ground = Ground()
    silenced(ground)
    ground.fault(NODE, silence=True)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_what_neither_agent_nor_scheduler_reaches_needs_no_reading() -> None:
    ground = Ground()
    ground.nodes[NODE].answering = False
    silenced(ground, down=True)
    ground.fault(NODE)
    assert ground.stage(NODE) is Stage.UNREACHABLE
    ground.wait(30.0, every=5.0)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_a_person_takes_a_silent_node_out() -> None:
    ground = Ground()
    silenced(ground)
    ground.fault(NODE)
    ground.send_command(Verb.QUARANTINE, NODE)
    ground.step()
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def test_a_request_outlives_a_silence_and_is_not_repeated() -> None:
    ground = Ground()
    ground.fault(NODE, policy=msgspec.structs.replace(POLICY, mode=Mode.APPROVE))
    requests = [note for note in ground.notes if "may n03 be taken out" in note.text]
    silenced(ground)
    ground.now += 5.0
    ground.step()
    assert ground.stage(NODE) is Stage.AWAITING_APPROVAL
    ground.send_command(Verb.APPROVE, NODE, digest=remedy(ground).approval.asked)
    assert ground.kinds(NODE) == []
    speaks(ground)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert [note for note in ground.notes if "may n03 be taken out" in note.text] == requests


def test_no_approval_is_requested_for_a_silent_node() -> None:
    ground = Ground()
    silenced(ground)
    ground.fault(NODE, policy=msgspec.structs.replace(POLICY, mode=Mode.APPROVE))
    assert ground.stage(NODE) is Stage.SUSPECT
    speaks(ground)
    assert ground.stage(NODE) is Stage.AWAITING_APPROVAL


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (job_policy(), Kind.MOVE_JOB),
        (job_policy(signal="USR1"), Kind.SIGNAL_JOB),
        (msgspec.structs.replace(POLICY, job=JobPolicy.CANCEL, when=When.NOW), Kind.CANCEL_JOB),
        (msgspec.structs.replace(POLICY, job=JobPolicy.IN_JOB, when=When.NOW), Kind.SWAP_IN_JOB),
        (POLICY, Kind.REBOOT),
    ],
)
def test_what_follows_waits_for_a_reading_too(policy: object, kind: Kind) -> None:
    ground = Ground()
    jobs = () if kind is Kind.REBOOT else (JOB,)
    ground.nodes[NODE].jobs = jobs
    ground.fault(NODE, policy=policy)
    silenced(ground)
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert len(in_the_way(ground, kind)) == 1
    speaks(ground)
    assert ground.kinds(NODE)[1:] == [kind]


def test_a_release_asks_for_its_own_proof_only() -> None:
    ground = Ground()
    case = ground.fault(NODE)
    ground.end(NODE)
    ground.clear(NODE, case)
    silenced(ground)
    assert in_the_way(ground, Kind.RELEASE) == []


def test_an_engine_that_has_just_started_has_no_reading() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    ground.fault(NODE)
    world = msgspec.structs.replace(
        ground.state.world,
        node_statuses={
            **ground.state.world.node_statuses,
            NODE: msgspec.structs.replace(ground.state.world.node_statuses[NODE], time=0.0),
        },
    )
    ground.state = msgspec.structs.replace(ground.state, world=world)
    assert in_the_way(ground, Kind.QUARANTINE) == [f"the hub has received no reading of {NODE} yet"]


def test_old_records_of_what_was_received_mean_an_interval_of_a_second() -> None:
    assert NodeStatus(node=NODE, time=1.0).interval_s == 1.0
