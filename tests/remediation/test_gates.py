"""Each guard alone keeps a node from being taken out, and says why in the plan."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.alerting.rules.document import Mode, Severity, Trust, When
from accelwatch.alerting.rules.loading.pack_files import pack_file
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Canary
from accelwatch.alerting.rules.verdict import Evidence
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.guards.limits.breaker import BreakerState, overridden
from accelwatch.remediation.policy.plan.of_incident import case_changed
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import Budget
from accelwatch.schema.event import Category, ErrorEvent
from support.incidents.incident_samples import incident
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy
from support.rules.rule_worlds import World

NODE = "n03"
XID = "nvidia.xid.reboot"
LONG_AGO = "what speaks for it is only what happened long ago"
BLIND = "there is no current data about the node"


def in_the_way(ground: Ground, first: Kind = Kind.QUARANTINE) -> list[tuple[DenialKind, str]]:
    """What stands in the way of the first step of the plan."""
    step = planned(ground.state, NODE, ground.now, ground.settings).steps[0]
    assert step.kind is first
    return [(denial.why, denial.text) for denial in step.in_the_way]


def test_nothing_in_the_way() -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    ground.fault(NODE)
    ground.send_command(Verb.START)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


@pytest.mark.parametrize(
    ("case", "why", "text"),
    [
        ({"blind": True}, DenialKind.DATA, BLIND),
        ({"orphaned": True}, DenialKind.MODE, "the rule of the incident is gone"),
        ({"group": "g1"}, DenialKind.GROUP, "it is part of g1, which has one cause"),
        ({"muted": "s1"}, DenialKind.SILENCE, "it is silenced or in maintenance: s1"),
        (
            {"trusted": False},
            DenialKind.TRUST,
            "some of the evidence is unauthenticated: anyone could have sent it",
        ),
        ({"standing": False, "evidence_at": 0.0}, DenialKind.OLD_EVIDENCE, LONG_AGO),
        (
            {"policy": msgspec.structs.replace(POLICY, mode=Mode.OBSERVE)},
            DenialKind.MODE,
            "the rule only observes",
        ),
        (
            {"policy": msgspec.structs.replace(POLICY, canary=Canary(share=0.0, for_s=60.0))},
            DenialKind.CANARY,
            "nvidia.gpu.lost is new or changed, and acts on 0 of the nodes only, not on n03",
        ),
    ],
)
def test_what_is_so_of_the_incident(case: dict[str, Any], why: DenialKind, text: str) -> None:
    ground = Ground()
    ground.fault(NODE, **case)
    assert ground.kinds(NODE) == []
    assert in_the_way(ground)[:1] == [(why, text)]


@pytest.mark.parametrize(("boots", "started"), [(0, [Kind.QUARANTINE]), (1, [])])
def test_an_event_counts_in_its_own_boot(boots: int, started: list[Kind]) -> None:
    ground = Ground()
    ground.send_command(Verb.STOP)
    ground.fault(NODE, standing=False)
    ground.nodes[NODE].boot += boots
    ground.step()
    ground.send_command(Verb.START)
    assert ground.kinds(NODE) == started
    if not started:
        assert in_the_way(ground) == [(DenialKind.OLD_EVIDENCE, LONG_AGO)]


@pytest.mark.parametrize(
    ("case", "why", "text"),
    [
        ({"blind": True}, DenialKind.DATA, BLIND),
        ({"group": "g1"}, DenialKind.GROUP, "it is part of g1, which has one cause"),
    ],
)
def test_what_is_so_by_the_time_it_is_out(case: dict[str, Any], why: DenialKind, text: str) -> None:
    ground = Ground()
    known = ground.fault(NODE)
    ground.step(CaseChanged(node=NODE, case=msgspec.structs.replace(known, **case)))
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    assert (why, text) in in_the_way(ground, Kind.REBOOT)


def test_only_a_remedy_needs_evidence_that_is_fresh() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, standing=False, policy=job_policy(when=When.NOW))
    ground.wait(SETTINGS.event_max_age_s + 60, every=60)
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.MOVE_JOB]
    ground.end(NODE, moved_to=("n10",))
    ground.wait(60)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.MOVE_JOB]
    assert in_the_way(ground, Kind.REBOOT) == [(DenialKind.OLD_EVIDENCE, LONG_AGO)]


@pytest.mark.parametrize(
    "measured", [None, {"standing": False}, {"blind": True}], ids=["nothing", "long ago", "blind"]
)
def test_a_node_that_has_failed_a_test_is_mended_whatever_else_is_reported(
    measured: dict[str, Any] | None,
) -> None:
    ground = Ground()
    case = ground.fault(NODE, policy=msgspec.structs.replace(POLICY, tests=("gpu-quick",)))
    ground.end(NODE)
    ground.end(NODE)
    ground.clear(NODE, case)
    ground.wait(120)
    if measured is not None:
        ground.fault(NODE, "i-other", evidence_at=0.0, **measured)
    ground.end(NODE, PursuitResult.REFUSED)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT, Kind.TEST, Kind.REBOOT]


def test_a_node_that_its_scheduler_gives_up_while_it_is_out_is_mended() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE)
    ground.end(NODE)
    given_up(ground)
    ground.wait(60)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]
    ground.nodes[NODE].jobs = ()
    ground.step()
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.REBOOT]


def test_an_open_breaker_keeps_rules_from_starting_and_no_person() -> None:
    ground = Ground()
    limits = ground.settings.breaker
    opened = overridden(overridden(BreakerState(), ground.now, limits), ground.now, limits)
    ground.state = msgspec.structs.replace(ground.state, breaker=opened)
    ground.fault(NODE)
    assert [why for why, _ in in_the_way(ground)] == [DenialKind.BREAKER]
    ground.send_command(Verb.QUARANTINE, "n20")
    assert (ground.kinds(NODE), ground.kinds("n20")) == ([], [Kind.QUARANTINE])


def test_an_open_breaker_keeps_no_job_where_it_is() -> None:
    ground = Ground()
    ground.nodes[NODE].jobs = (JOB,)
    ground.fault(NODE, policy=job_policy(when=When.NOW))
    limits = ground.settings.breaker
    opened = overridden(overridden(BreakerState(), ground.now, limits), ground.now, limits)
    ground.state = msgspec.structs.replace(ground.state, breaker=opened)
    ground.end(NODE)
    assert ground.kinds(NODE) == [Kind.QUARANTINE, Kind.MOVE_JOB]


def test_a_node_that_is_being_taken_out_is_not_in_its_own_way() -> None:
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, budget=Budget(most=1)))
    ground.fault(NODE)
    assert (ground.stage(NODE), in_the_way(ground)) == (Stage.QUARANTINING, [])
    ground.fault("n20")
    (step, *_) = planned(ground.state, "n20", ground.now, ground.settings).steps
    assert [denial.why for denial in step.in_the_way] == [DenialKind.BUDGET]


def test_a_rule_may_trust_any_evidence() -> None:
    ground = Ground()
    policy = msgspec.structs.replace(POLICY, trust=Trust.ANY)
    ground.fault(NODE, trusted=False, policy=policy)
    assert ground.kinds(NODE) == [Kind.QUARANTINE]


def foreign(ground: Ground) -> None:
    ground.nodes[NODE].hold_state, ground.nodes[NODE].set_by = HoldState.FOREIGN, "bo"


def given_up(ground: Ground) -> None:
    ground.nodes[NODE].hold_state = HoldState.DOWN


def reserved(ground: Ground) -> None:
    ground.nodes[NODE].maintenance = True


def low(ground: Ground) -> None:
    ground.nodes[NODE].ceiling = "observe"


def held(ground: Ground) -> None:
    ground.send_command(Verb.HOLD, NODE, reason="mine")


def stopped(ground: Ground) -> None:
    ground.send_command(Verb.STOP, reason="storm")


def labelled(ground: Ground) -> None:
    ground.settings = msgspec.structs.replace(SETTINGS, no_auto_label="rack")


def observing(ground: Ground) -> None:
    ground.settings = msgspec.structs.replace(SETTINGS, ceiling="observe")


@pytest.mark.parametrize(
    ("change", "why", "measured"),
    [
        (foreign, DenialKind.FOREIGN, "bo"),
        (given_up, DenialKind.FOREIGN, "the scheduler has given n03 up"),
        (reserved, DenialKind.FOREIGN, "n03 is reserved for maintenance"),
        (low, DenialKind.CEILING, "the ceiling of the profile of n03 is observe"),
        (observing, DenialKind.CEILING, "the site's ceiling (remedy.ceiling) is observe"),
        (held, DenialKind.VETOED, "nothing may be done to it: ana: mine"),
        (labelled, DenialKind.VETOED, "nothing may be done to it: it has the label rack"),
        (stopped, DenialKind.STOPPED, "everything is stopped: ana: storm"),
    ],
)
def test_what_is_so_of_the_node_or_of_everything(
    change: Callable[[Ground], None], why: DenialKind, measured: str
) -> None:
    ground = Ground()
    change(ground)
    ground.fault(NODE)
    assert ground.kinds(NODE) == []
    ((kind, text),) = in_the_way(ground)
    assert (kind, measured in text) == (why, True), text


def test_another_node_is_taken_out_beside_one_that_may_not_be() -> None:
    ground = Ground()
    low(ground)
    held(ground)
    ground.fault(NODE)
    ground.fault("n20")
    assert (ground.kinds(NODE), ground.kinds("n20")) == ([], [Kind.QUARANTINE])


def test_a_node_is_taken_out_for_the_case_for_which_it_may_be() -> None:
    ground = Ground()
    observed = msgspec.structs.replace(POLICY, rule="worse", mode=Mode.OBSERVE)
    ground.fault(NODE, "i-worse", policy=observed, severity=Severity.CRITICAL)
    assert ground.kinds(NODE) == []
    ground.fault(NODE, "i-lesser")
    (started,) = [intent for intent in ground.started if intent.node == NODE]
    assert (started.kind, started.mark.incident) == (Kind.QUARANTINE, "i-lesser")


def test_a_scheduler_that_was_not_looked_at_lately_is_not_acted_upon() -> None:
    ground = Ground()
    ground.now += FRESH_S + 1
    whole = ground.looks
    ground.looks = lambda: whole()[:-1]  # type: ignore[method-assign]
    ground.fault(NODE)
    assert ground.kinds(NODE) == []
    whys = [why for why, _ in in_the_way(ground)]
    assert whys == [DenialKind.DATA]


@pytest.mark.parametrize("boots", [0, 1])
def test_what_only_a_boot_cures_is_rebooted_however_long_its_job_is_waited_for(boots: int) -> None:
    ground = Ground()
    (packed,) = [r for r in load([pack_file("nvidia")], tests=False).rules.values() if r.id == XID]
    xid = ErrorEvent(
        code="xid_151", category=Category.BUS, time=ground.now, text="", source="kernel_log"
    )
    measured = incident(evidence=(Evidence(signal=xid.code, text=xid.text, event=xid),))
    changed = case_changed(measured, packed, {})
    assert changed is not None
    ground.nodes[NODE].jobs = (JOB,)
    case = ground.fault(
        NODE, standing=changed.case.standing, policy=job_policy(when=When.AFTER_JOB)
    )
    ground.end(NODE)
    waited_s = 40 * 60.0
    ground.wait(waited_s)
    pattern = next(iter(packed.when.needs.events)).pattern
    world = World(
        1,
        numbers={("host_uptime_seconds",): [60.0 if boots else 9000.0]},
        lasts={pattern: [xid.time]},
        now=xid.time + waited_s,
    )
    if not packed.when.evaluate(world.rows[0]):
        ground.clear(NODE, case)
    ground.nodes[NODE].jobs = ()
    ground.wait(60)
    assert (Kind.REBOOT in ground.kinds(NODE)) is not bool(boots)
