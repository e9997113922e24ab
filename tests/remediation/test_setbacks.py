"""The hub's clock is set back by an hour: it is not blind for an hour, and takes nothing old for new."""

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState, Observed
from accelwatch.alerting.rules.document import Mode
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.jobs.jobs import silent
from accelwatch.remediation.policy.state.case import Case, Policy
from accelwatch.remediation.policy.state.changes import CaseChanged, Verb
from accelwatch.remediation.policy.state.pursued import Poll, Pursued, PursuitResult
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import DataGuard
from support.remediation.small_fleet import ACTION, JOB, POLICY, SETTINGS, Ground

HOUR_S = 3600.0
JUMP_S = DataGuard().clock_jump_s
NO_LADDER = msgspec.structs.replace(POLICY, ladder=())


def out(ground: Ground, policy: Policy = POLICY) -> Case:
    """A fault by which a node has been taken out."""
    case = ground.fault("n05", policy=policy)
    ground.wait(30, 10)
    ground.end("n05")
    assert Kind.QUARANTINE in ground.kinds("n05")
    return case


def test_a_node_that_is_labelled_after_it_is_left_alone() -> None:
    ground = Ground()
    ground.set_back(HOUR_S)
    ground.nodes["n07"].labels["accelwatch_no_auto"] = "1"
    ground.wait(300, 10)
    ground.fault("n07")
    ground.wait(20, 10)
    assert ground.kinds("n07") == []


def test_a_profile_that_is_lowered_after_it_counts() -> None:
    ground = Ground()
    ground.set_back(HOUR_S)
    ground.nodes["n07"].ceiling = "observe"
    ground.wait(300, 10)
    ground.fault("n07")
    ground.wait(20, 10)
    assert ground.kinds("n07") == []


def test_a_person_who_gives_a_node_back_is_seen_at_once() -> None:
    ground = Ground()
    out(ground, policy=NO_LADDER)
    ground.set_back(HOUR_S)
    ground.nodes["n05"].hold_state, ground.nodes["n05"].mark = HoldState.OPEN, None
    ground.wait(10, 10)
    assert ground.stage("n05") is Stage.OVERRIDDEN


def test_a_node_that_came_back_well_meanwhile_is_not_rebooted_again() -> None:
    ground = Ground()
    case = out(ground)
    ground.set_back(HOUR_S)
    ground.clear("n05", case)
    ground.end("n05")
    ground.wait(1500, 10)
    assert ground.kinds("n05") == [Kind.QUARANTINE, Kind.REBOOT, Kind.RELEASE]


def test_a_node_that_is_well_after_it_is_released() -> None:
    ground = Ground()
    case = out(ground, policy=NO_LADDER)
    ground.set_back(HOUR_S)
    ground.clear("n05", case)
    ground.wait(300, 10)
    assert ground.kinds("n05") == [Kind.QUARANTINE, Kind.RELEASE]


def test_a_verification_starts_anew() -> None:
    ground = Ground()
    case = out(ground, policy=NO_LADDER)
    ground.clear("n05", case)
    ground.wait(50, 10)
    ground.set_back(HOUR_S)
    ground.wait(50, 10)
    assert Kind.RELEASE not in ground.kinds("n05")
    ground.wait(300, 10)
    assert Kind.RELEASE in ground.kinds("n05")


def test_what_was_wrong_before_it_is_not_wrong_again_after_it() -> None:
    """Its incident is told again, as it was: its evidence is of a moment that is yet to come."""
    ground = Ground()
    case = out(ground)
    ground.nodes["n05"].healthy = True
    ground.set_back(HOUR_S)
    ground.end("n05")
    ground.wait(60, 10)
    assert ground.stage("n05") is Stage.VERIFYING
    later = msgspec.structs.replace(case, title="told again")
    ground.step(CaseChanged(node="n05", case=later))
    assert ground.stage("n05") is Stage.VERIFYING


def test_what_was_reported_first_after_it_is_no_newer_than_that() -> None:
    ground = Ground()
    before = ground.now
    ground.set_back(HOUR_S)
    ground.fault("n07", evidence_at=before)
    remedy = ground.remedy("n07")
    assert remedy is not None
    assert [case.evidence_at for case in remedy.cases] == [ground.now]


def test_evidence_that_is_new_after_it_counts_though_a_person_declared_the_node_mended() -> None:
    ground = Ground()
    ground.send_command(Verb.RECOVERED, "n07")
    ground.set_back(HOUR_S)
    ground.wait(300, 10)
    ground.fault("n07")
    assert ground.kinds("n07") == [Kind.QUARANTINE]


def test_a_node_is_left_alone_as_long_as_a_person_was_notified() -> None:
    ground = Ground()
    case = ground.fault("n07", policy=msgspec.structs.replace(POLICY, mode=Mode.OBSERVE))
    ground.send_command(Verb.RELEASE, "n07")
    left_s = ground.state.overrides["n07"].until - ground.now
    ground.clear("n07", case)
    ground.set_back(HOUR_S)
    ground.wait(300, 10)
    ground.fault("n07", "i-new")
    ground.wait(left_s - 400)
    assert ground.kinds("n07") == []
    ground.wait(200)
    assert ground.kinds("n07") == [Kind.QUARANTINE]


def test_a_clock_that_runs_has_as_long_to_run_as_before() -> None:
    ground = Ground()
    ground.fault("n05", policy=NO_LADDER)
    ground.end("n05", PursuitResult.FAILED)
    before = ground.remedy("n05")
    assert before is not None
    assert before.stage is Stage.FAILED
    assert before.clocks.due is not None
    ground.set_back(HOUR_S)
    ground.step(look=False)
    after = ground.remedy("n05")
    assert after is not None
    assert after.clocks.due == before.clocks.due - HOUR_S
    assert after.clocks.since == ground.now


@pytest.mark.parametrize(("back_s", "started"), [(JUMP_S, [Kind.QUARANTINE]), (JUMP_S + 1, [])])
def test_nothing_is_started_on_what_was_seen_before_it(back_s: float, started: list[Kind]) -> None:
    """A small step, as of a daemon that keeps the clock, is none."""
    ground = Ground()
    ground.set_back(back_s)
    ground.nodes["n07"].healthy = False
    case = Case(incident="i", policy=POLICY, since=ground.now, evidence_at=ground.now)
    ground.step(CaseChanged(node="n07", case=case), look=False)
    assert ground.kinds("n07") == started


def test_an_agent_that_fell_silent_before_it_is_not_fresh_after_it() -> None:
    """What the hub tells of it again has the moment at which it was heard, which is yet to come."""
    ground = Ground()
    status = ground.nodes["n05"].status(ground.now)
    ground.nodes["n05"].agent = ground.nodes["n05"].answering = False
    ground.nodes["n05"].labels["rack"] = "r0"
    ground.set_back(HOUR_S)
    ground.step(seen=(status,))
    ctx = StepContext(ground.state, SETTINGS, ground.now)
    assert silent(ctx, ctx.remedy("n05"))
    known = ground.state.world.node_statuses["n05"]
    assert known.healthy is None
    assert known.labels == status.labels


def test_a_node_that_is_silent_is_probed_once_more_and_not_again_and_again() -> None:
    ground = Ground(probes=True)
    ground.nodes["n05"].jobs, ground.nodes["n05"].late = (JOB,), True
    ground.wait(120, 10)
    assert ground.kinds("n05") == [Kind.PROBE]
    ground.end_chore(Kind.PROBE)
    ground.set_back(HOUR_S)
    ground.wait(100, 10)
    assert ground.kinds("n05") == [Kind.PROBE, Kind.PROBE]
    ground.end_chore(Kind.PROBE)
    ground.wait(300, 10)
    assert ground.kinds("n05") == [Kind.PROBE, Kind.PROBE]


def test_a_poll_that_was_sent_before_it_is_none() -> None:
    ground = Ground()
    polled_at = ground.now
    ground.set_back(HOUR_S)
    poll = Poll(action=ACTION, time=polled_at, nodes=())
    ground.step(seen=(poll,), look=False)
    assert ACTION not in ground.state.world.schedulers
    ground.step()
    assert ground.state.world.schedulers[ACTION].time == ground.now


def test_an_end_that_was_seen_before_it_hides_no_later_poll() -> None:
    ground = Ground()
    ground.fault("n05")
    intent = ground.flying["n05"]
    observed = Observed(time=ground.now, node=ground.nodes["n05"].seen())
    end = Pursued(
        intent=intent, result=PursuitResult.CANCELLED, time=ground.now, text="", observed=observed
    )
    ground.set_back(HOUR_S)
    ground.step(seen=(end,))
    assert ground.state.world.settled["n05"] == ground.now
