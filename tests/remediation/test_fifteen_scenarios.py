"""Fifteen ways in which others went wrong, as far as they are about decisions: fifteen.md lists them."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.alerting.rules.document import Fence, Trust
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.guards.denial import DenialKind
from accelwatch.remediation.policy.state.case import Limit, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Started, Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import Budget, SpareSettings
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, START, Ground, job_policy

QUARANTINE, REBOOT, RELEASE = IntentKind.QUARANTINE, IntentKind.REBOOT, IntentKind.RELEASE
FAST = msgspec.structs.replace(
    SETTINGS, budget=Budget(share=0.25, min_available=0.7, per_hour=100, spacing_s=0.0)
)


def why(ground: Ground, name: str) -> DenialKind | None:
    remedy = ground.remedy(name)
    return None if remedy is None or remedy.denial is None else remedy.denial.why


def quarantined(policy: Policy) -> Ground:
    """A ground on which n03 is out for a fault."""
    ground = Ground()
    ground.fault("n03", policy=policy)
    ground.end("n03")
    return ground


def test_a_fault_is_quarantined_rebooted_verified_and_released() -> None:
    ground = Ground()
    case = ground.fault("n03")
    for stage in (Stage.QUARANTINING, Stage.REMEDIATING, Stage.VERIFYING):
        assert ground.stage("n03") is stage
        if stage is not Stage.VERIFYING:
            ground.end("n03")
    ground.clear("n03", case)
    assert ground.kinds("n03") == [QUARANTINE, REBOOT]
    ground.wait(90)
    assert ground.stage("n03") is Stage.RELEASING
    ground.end("n03")
    assert ground.stage("n03") is Stage.HEALTHY
    assert ground.kinds("n03") == [QUARANTINE, REBOOT, RELEASE]
    assert not ground.state.budget.own


def test_a_node_that_an_admin_drained_first_is_never_touched() -> None:
    ground = Ground()
    ground.nodes["n03"].hold_state = HoldState.FOREIGN
    case = ground.fault("n03")
    ground.wait(4000)
    assert ground.stage("n03") is Stage.OWNED_BY_OTHER
    assert ground.kinds("n03") == []
    ground.nodes["n03"].hold_state = HoldState.OPEN
    ground.wait(30)
    assert ground.stage("n03") is Stage.QUARANTINING
    assert ground.remedy("n03") is not None
    assert case.incident == ground.started[-1].mark.incident


def test_a_node_that_an_admin_resumed_is_left_alone() -> None:
    ground = quarantined(policy=msgspec.structs.replace(POLICY, ladder=()))
    ground.nodes["n03"].hold_state, ground.nodes["n03"].mark = HoldState.OPEN, None
    ground.wait(30)
    assert ground.stage("n03") is Stage.OVERRIDDEN
    ground.wait(6 * 3600.0, every=600.0)
    assert ground.kinds("n03") == [QUARANTINE]
    assert ground.stage("n03") is Stage.HEALTHY


def test_newer_evidence_counts_after_an_override_when_its_time_is_over() -> None:
    ground = quarantined(policy=msgspec.structs.replace(POLICY, ladder=()))
    ground.nodes["n03"].hold_state, ground.nodes["n03"].mark = HoldState.OPEN, None
    ground.wait(60)
    ground.fault("n03", "i-newer")
    ground.wait(3 * 3600.0, every=600.0)
    assert ground.kinds("n03") == [QUARANTINE]
    ground.wait(2 * 3600.0, every=600.0)
    assert ground.kinds("n03") == [QUARANTINE, QUARANTINE]


def test_a_node_that_an_admin_takes_over_is_theirs() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    assert ground.stage("n03") is Stage.REMEDIATING
    ground.nodes["n03"].hold_state, ground.nodes["n03"].set_by = HoldState.FOREIGN, "root"
    ground.wait(30)
    assert ground.stage("n03") is Stage.OWNED_BY_OTHER
    assert [intent.kind for intent in ground.cancelled] == [REBOOT]
    ground.end("n03", PursuitResult.CANCELLED)
    ground.clear("n03", case)
    ground.wait(3600)
    assert RELEASE not in ground.kinds("n03")


def test_what_clears_before_the_reboot_is_not_rebooted() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    case = ground.fault("n03")
    ground.end("n03")
    assert ground.stage("n03") is Stage.DRAINING
    ground.clear("n03", case)
    ground.nodes["n03"].jobs = ()
    ground.wait(120)
    assert REBOOT not in ground.kinds("n03")
    assert ground.stage("n03") is Stage.RELEASING


def test_a_reboot_on_its_way_is_cancelled_when_the_condition_clears() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.clear("n03", case)
    assert [intent.kind for intent in ground.cancelled] == [REBOOT]


def test_an_open_breaker_releases_and_starts_nothing() -> None:
    ground = Ground(settings=FAST)
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03")
    ground.fault("n10", group="g1")
    ground.fault("n11")
    assert why(ground, "n11") is DenialKind.BREAKER
    ground.clear("n03", case)
    ground.wait(90)
    ground.end("n03")
    assert ground.stage("n03") is Stage.HEALTHY
    assert ground.kinds("n11") == []


def test_after_the_breaker_old_events_are_left_and_the_rest_goes_at_the_budgets_pace() -> None:
    ground = Ground()
    storm = ground.fault("n39", "i-storm", group="g1")
    ground.fault("n01", standing=False)
    for at in range(2, 12):
        ground.fault(f"n{at:02d}")
    ground.clear("n39", storm)
    ground.wait(1000)
    assert [intent.kind for intent in ground.started] == []
    ground.send_command(Verb.RESET_BREAKER)
    ground.wait(3500)
    out = [intent.node for intent in ground.started if intent.kind is QUARANTINE]
    assert len(out) == SETTINGS.budget.per_hour
    assert "n01" not in out
    assert why(ground, "n01") is DenialKind.OLD_EVIDENCE


def test_alternating_messages_move_no_clock() -> None:
    ground = Ground()
    case = ground.fault("n03", policy=msgspec.structs.replace(POLICY, mode="approve"))
    waiting = ground.remedy("n03")
    assert waiting is not None
    assert waiting.stage is Stage.AWAITING_APPROVAL
    for at in range(20):
        ground.now += 60
        title = ("it is lost", "it has fallen off the bus")[at % 2]
        ground.step(CaseChanged(node="n03", case=msgspec.structs.replace(case, title=title)))
    after = ground.remedy("n03")
    assert after is not None
    assert (after.clocks.since, after.clocks.due, after.approval.asked) == (
        waiting.clocks.since,
        waiting.clocks.due,
        waiting.approval.asked,
    )
    ground.wait(1000)
    assert ground.stage("n03") is Stage.SUSPECT
    assert sum(note.loudness is Loudness.ALERT for note in ground.notes) == 1


def test_one_bad_node_of_three_is_taken_out_and_three_of_three_are_not() -> None:
    ground = Ground(count=3)
    ground.fault("n00")
    assert ground.kinds("n00") == [QUARANTINE]
    ground.end("n00")
    ground.fault("n01")
    ground.fault("n02")
    ground.wait(7200, every=300)
    assert ground.kinds("n01") == ground.kinds("n02") == []
    together = Ground(count=3)
    for name in ("n00", "n01", "n02"):
        together.nodes[name].healthy = False
    changes = [
        CaseChanged(
            node=name,
            case=msgspec.structs.replace(
                ground.state.remedies["n01"].cases[0], incident=f"i-{name}", group="g1"
            ),
        )
        for name in ("n00", "n01", "n02")
    ]
    together.step(*changes)
    together.wait(3600, every=300)
    assert together.started == []


def test_a_remedy_that_fires_its_own_event_again_ends() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    for _ in range(40):
        if "n03" in ground.flying:
            ground.end("n03")
            case = msgspec.structs.replace(case, evidence_at=ground.now)
            ground.step(CaseChanged(node="n03", case=case))
        ground.wait(700, every=100)
    assert ground.kinds("n03").count(REBOOT) == 2
    assert ground.kinds("n03")[-1] is IntentKind.SERVICE
    assert ground.stage("n03") is Stage.SERVICE


def test_a_swapped_board_is_verified_and_takes_its_score_along() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03", PursuitResult.FAILED)
    ground.end("n03", PursuitResult.FAILED)
    assert ground.stage("n03") is Stage.SERVICE
    assert "serial:board-3" in ground.state.scores.levels
    ground.nodes["n03"].serial = "board-new"
    ground.nodes["n03"].boot += 1
    ground.nodes["n03"].healthy = True
    ground.wait(30)
    assert ground.stage("n03") is Stage.VERIFYING
    assert "serial:board-new" not in ground.state.scores.levels
    assert case.serial == "board-3"


def test_a_dead_agent_is_neither_released_nor_taken_out() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03")
    ground.nodes["n03"].agent = False
    ground.step(CaseChanged(node="n03", case=msgspec.structs.replace(case, open=False)))
    ground.wait(2 * 3600.0, every=300)
    assert ground.stage("n03") is Stage.VERIFYING
    assert RELEASE not in ground.kinds("n03")
    assert any("is not confirmed healthy" in note.text for note in ground.notes)
    ground.fault("n05", blind=True)
    ground.wait(700, every=100)
    assert ground.kinds("n05") == []
    assert any("there is no current data" in note.text for note in ground.notes)


def test_a_silent_fleet_freezes_what_is_new() -> None:
    ground = Ground()
    for at in range(20, 32):
        ground.nodes[f"n{at:02d}"].agent = False
    ground.fault("n03")
    assert why(ground, "n03") is DenialKind.DATA
    ground.wait(600)
    assert ground.started == []


def test_a_clock_that_jumps_releases_nobody() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03")
    ground.clear("n03", case)
    ground.now += 3600.0
    ground.step()
    assert ground.stage("n03") is Stage.VERIFYING
    assert RELEASE not in ground.kinds("n03")


def test_what_was_on_its_way_is_looked_after_again_and_not_started_twice() -> None:
    ground = Ground()
    ground.fault("n03")
    ground.end("n03")
    reboot = ground.flying["n03"]
    before = ground.started.copy()
    outcome = ground.step(Started(token=2, at=ground.now), look=False)
    assert outcome.pursue == (reboot,)
    ground.wait(300)
    assert [intent.kind for intent in ground.started] == [*(one.kind for one in before), REBOOT]
    assert ground.state.attempts.of_node["n03"] == (reboot.asked,)


@pytest.mark.parametrize(
    ("where", "expected"), [(("n03",), "n03"), (("n04", "n03"), "n04, n03"), ((), "unknown nodes")]
)
def test_a_job_that_runs_on_the_bad_node_after_its_move_is_reported(
    where: tuple[str, ...], expected: str
) -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.fault("n03", policy=job_policy())
    ground.end("n03")
    assert ground.kinds("n03")[-1] is IntentKind.MOVE_JOB
    ground.end("n03", moved_to=where)
    alerts = [note.text for note in ground.notes if note.loudness is Loudness.ALERT]
    assert any(f"moved and runs on {expected}" in text for text in alerts)
    assert ground.kinds("n03").count(IntentKind.MOVE_JOB) == 1


def test_a_node_whose_rule_is_gone_is_released_by_a_person() -> None:
    ground = Ground()
    case = ground.fault("n03", policy=msgspec.structs.replace(POLICY, ladder=()))
    ground.end("n03")
    ground.nodes["n03"].healthy = True
    gone = msgspec.structs.replace(case, orphaned=True)
    ground.step(CaseChanged(node="n03", case=gone))
    ground.wait(3600, every=300)
    assert ground.stage("n03") is Stage.QUARANTINED
    ground.send_command(Verb.RELEASE, "n03")
    ground.wait(60)
    ground.end("n03")
    assert ground.kinds("n03") == [QUARANTINE, RELEASE]
    assert ground.stage("n03") is Stage.HEALTHY


def test_thirty_nodes_in_a_minute_are_not_taken_out() -> None:
    ground = Ground()
    cases = {}
    for at in range(30):
        ground.now += 2
        group = "g1" if at >= 9 else ""
        cases[at] = ground.fault(f"n{at:02d}", group=group)
        if at == 9:
            joined = [
                CaseChanged(node=f"n{one:02d}", case=msgspec.structs.replace(case, group="g1"))
                for one, case in cases.items()
            ]
            ground.step(*joined)
            out = ground.started.copy()
    ground.wait(3600, every=120)
    assert len(out) <= 1
    assert ground.started == out


def test_evidence_that_may_be_forged_takes_nothing_out() -> None:
    ground = Ground()
    ground.fault("n03", trusted=False)
    ground.wait(600)
    assert why(ground, "n03") is DenialKind.TRUST
    assert ground.started == []
    anything = msgspec.structs.replace(POLICY, trust=Trust.ANY)
    ground.fault("n04", trusted=False, policy=anything)
    assert ground.kinds("n04") == [QUARANTINE]


def test_a_scheduler_that_does_not_answer_freezes_everything() -> None:
    ground = Ground()
    case = ground.fault("n03")
    ground.end("n03")
    ground.end("n03")
    ground.clear("n03", case)
    ground.unavailable = "no answer in 10 s"
    noted = len(ground.notes)
    ground.fault("n07")
    ground.wait(1800)
    assert ground.kinds("n07") == []
    assert ground.stage("n03") is Stage.RELEASING
    assert RELEASE not in ground.kinds("n03")
    assert ground.remedy("n03") is not None
    assert sum(note.loudness is Loudness.ALERT for note in ground.notes[noted:]) == 0
    ground.unavailable = ""
    ground.wait(30)
    assert ground.kinds("n03")[-1] is RELEASE
    assert ground.kinds("n07") == [QUARANTINE]


@pytest.mark.parametrize("ending", [PursuitResult.FAILED, PursuitResult.UNKNOWN])
def test_what_was_not_observed_is_not_done(ending: PursuitResult) -> None:
    ground = Ground()
    ground.fault("n03")
    ground.end("n03", ending)
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.hold is None
    assert remedy.stage is (Stage.FAILED if ending is PursuitResult.FAILED else Stage.UNKNOWN)
    ground.wait(7200, every=600)
    if ending is PursuitResult.UNKNOWN:
        assert ground.kinds("n03") == [QUARANTINE]
        ground.send_command(Verb.RETRY, "n03")
        assert ground.kinds("n03") == [QUARANTINE, QUARANTINE]


def test_a_job_of_a_node_that_does_not_answer_is_fenced_before_it_is_moved() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = False
    ground.wait(120)
    ground.fault("n03", policy=job_policy())
    assert ground.stage("n03") is Stage.UNREACHABLE
    ground.wait(30)
    ground.end("n03")
    assert ground.kinds("n03") == [QUARANTINE, IntentKind.FENCE]
    ground.end("n03")
    assert ground.kinds("n03")[-1] is IntentKind.MOVE_JOB
    lax = Ground()
    lax.nodes["n03"].jobs = (JOB,)
    lax.nodes["n03"].answering = lax.nodes["n03"].agent = False
    lax.wait(120)
    lax.fault("n03", policy=job_policy(fence=Fence.JOB))
    lax.wait(30)
    lax.end("n03")
    assert lax.started[-1].kind is IntentKind.MOVE_JOB
    assert lax.started[-1].fenced_by_job


def hangs_while_its_job_leaves() -> Ground:
    """The agent of n03 is silent; its daemon seems to answer until the job was told to leave."""
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.nodes["n03"].agent = False
    ground.fault("n03", policy=job_policy())
    ground.end("n03")
    assert ground.kinds("n03") == [QUARANTINE, IntentKind.MOVE_JOB]
    # It is held in the queue now, on no node.
    ground.nodes["n03"].answering, ground.nodes["n03"].jobs = False, ()
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.UNSAFE)
    return ground


def test_a_job_that_waits_in_the_queue_for_a_fence_is_not_forgotten() -> None:
    ground = hangs_while_its_job_leaves()
    ground.wait(120)
    assert ground.kinds("n03")[2:] == [IntentKind.FENCE]
    ground.end("n03")
    assert ground.kinds("n03")[3:] == [IntentKind.MOVE_JOB]
    assert ground.started[-1].job == JOB
    ground.end("n03", moved_to=("n04",))
    assert ground.stage("n03") is Stage.REMEDIATING


def test_a_job_that_waits_for_a_fence_is_let_go_when_its_node_is_well_again() -> None:
    ground = hangs_while_its_job_leaves()
    remedy = ground.remedy("n03")
    assert remedy is not None
    ground.nodes["n03"].answering = ground.nodes["n03"].agent = True
    ground.clear("n03", remedy.cases[0])
    ground.wait(300)
    ground.end("n03")
    assert ground.kinds("n03")[2:] == [IntentKind.RESTORE_JOB, RELEASE]
    assert ground.started[-2].job == JOB
    assert ground.started[-2].mark == ground.started[0].mark


def test_nothing_is_done_before_the_engine_has_looked_around() -> None:
    ground = Ground()
    ground.step(Started(token=2, at=ground.now), look=False)
    ground.fault("n03")
    assert why(ground, "n03") is DenialKind.STARTING
    ground.wait(100)
    assert ground.started == []
    ground.wait(60)
    assert ground.kinds("n03") == [QUARANTINE]
    assert ground.now > START


def test_a_spare_is_drawn_before_the_job_moves_and_goes_back_when_the_node_works() -> None:
    spares = SpareSettings(nodes=("n30", "n31"), alike=(), test_max_age_s=0.0)
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=spares))
    ground.nodes["n03"].jobs = (JOB,)
    case = ground.fault("n03", policy=job_policy(draw_spare=True, ladder=()))
    ground.end("n03")
    ground.end("n03")
    ground.end("n03", moved_to=("n30",))
    kinds = [QUARANTINE, IntentKind.DRAW_SPARE, IntentKind.MOVE_JOB]
    assert ground.kinds("n03") == kinds
    assert [intent.spare for intent in ground.started] == ["", "n30", "n30"]
    ground.clear("n03", case)
    ground.wait(90)
    ground.end("n03")
    assert IntentKind.RETURN_SPARE in ground.kinds("n03")
    assert ground.stage("n03") is Stage.HEALTHY


def test_a_job_moves_without_a_spare_where_there_is_none_and_a_person_is_notified() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.fault("n03", policy=job_policy(draw_spare=True))
    ground.end("n03")
    assert ground.started[-1].kind is IntentKind.MOVE_JOB
    alerts = [note.text for note in ground.notes if note.loudness is Loudness.ALERT]
    assert any("no spare" in text for text in alerts)


def test_a_job_is_not_restarted_more_often_than_may_be() -> None:
    ground = Ground(settings=FAST)
    for at in range(4):
        name = f"n{at * 8 + 1:02d}"
        ground.nodes[name].jobs = (JOB,)
        ground.fault(name, policy=job_policy(ladder=()))
        ground.end(name)
        if name in ground.flying:
            ground.end(name, moved_to=("n39",))
    moves = [intent for intent in ground.started if intent.kind is IntentKind.MOVE_JOB]
    assert len(moves) == SETTINGS.resume.most
    assert why(ground, "n25") is DenialKind.RETRY


def test_enough_remedies_of_one_incident_end_in_a_repair() -> None:
    ladder = (Limit("reset", 2), Limit("reboot", 2), Limit("power_cycle", 2))
    ground = Ground()
    ground.fault("n03", policy=msgspec.structs.replace(POLICY, ladder=ladder))
    ground.end("n03")
    for _ in range(8):
        if ground.stage("n03") is Stage.REMEDIATING:
            ground.send_command(Verb.RESET_BREAKER)
            ground.end("n03", PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE)
    assert ground.stage("n03") is Stage.SERVICE


def test_a_breaker_that_is_half_open_tries_one_and_closes_when_that_goes_well() -> None:
    ground = Ground(settings=FAST)
    storm = ground.fault("n39", "i-storm", group="g1")
    ground.clear("n39", storm)
    cases = {name: ground.fault(name) for name in ("n01", "n12")}
    ground.wait(1500)
    assert ground.started == []
    ground.wait(600)
    (first,) = ground.started
    other = next(name for name in cases if name != first.node)
    assert why(ground, other) is DenialKind.BREAKER
    ground.end(first.node)
    ground.end(first.node)
    ground.clear(first.node, cases[first.node])
    ground.wait(90)
    ground.end(first.node)
    ground.wait(30)
    assert ground.kinds(other) == [QUARANTINE]


def test_an_event_of_another_boot_is_no_reason_any_more() -> None:
    ground = Ground()
    ground.nodes["n03"].jobs = (JOB,)
    ground.fault("n03", standing=False)
    ground.end("n03")
    assert ground.stage("n03") is Stage.DRAINING
    ground.nodes["n03"].jobs = ()
    ground.nodes["n03"].boot += 1
    ground.wait(120)
    assert REBOOT not in ground.kinds("n03")
    assert why(ground, "n03") is DenialKind.OLD_EVIDENCE
