"""Idle spares are tested at intervals; who has failed is not drawn, and no word is no failure."""

import msgspec
import pytest

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import RefusalKind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.spares.model import Spare, SpareStatus
from accelwatch.remediation.policy.state.world import JournalStatus
from accelwatch.remediation.settings import RemedySettings, SpareSettings, configuration_errors
from support.remediation.small_fleet import JOB, SETTINGS, Ground

DAY = 86_400.0
SPARES = SpareSettings(nodes=("n38", "n39"), alike=(), test="quick", test_max_age_s=DAY)
TESTS = msgspec.structs.replace(SETTINGS, spares=SPARES)


def started_tests(ground: Ground) -> list[Intent]:
    return [one for one in ground.started if one.kind is Kind.TEST]


def spare(ground: Ground, name: str) -> Spare:
    return ground.state.spares.spares[name]


def test_spares_are_tested_one_after_another_and_again_after_half_the_time() -> None:
    ground = Ground(settings=TESTS)
    (first,) = started_tests(ground)
    assert (first.node, first.spare, first.test) == ("n38", "n38", "quick")
    assert spare(ground, "n38").standing is SpareStatus.TESTING
    ground.end_chore(Kind.TEST)
    assert (spare(ground, "n38").standing, spare(ground, "n38").tested) == (
        SpareStatus.READY,
        ground.now,
    )
    assert [one.node for one in started_tests(ground)] == ["n38", "n39"]
    ground.end_chore(Kind.TEST)
    ground.wait(0.49 * DAY, every=600)
    assert len(started_tests(ground)) == 2
    ground.wait(0.02 * DAY, every=60)
    assert [one.node for one in started_tests(ground)] == ["n38", "n39", "n38"]


def test_one_that_fails_is_reported_and_not_drawn_until_it_passes() -> None:
    ground = Ground(settings=TESTS)
    ground.end_chore(Kind.TEST, PursuitResult.REFUSED, RefusalKind.UNFIT)
    failed = spare(ground, "n38")
    assert (failed.standing, failed.tested) == (SpareStatus.FAILED, None)
    assert "failed test quick" in failed.text
    (alert,) = [one for one in ground.notes if one.loudness is Loudness.ALERT]
    assert "the spare n38 failed test quick" in alert.text
    ground.end_chore(Kind.TEST)
    ground.wait(0.51 * DAY, every=600)
    assert [one.node for one in started_tests(ground)][2] == "n38"
    ground.end_chore(Kind.TEST)
    assert (spare(ground, "n38").standing, spare(ground, "n38").text) == (SpareStatus.READY, "")


@pytest.mark.parametrize("refusal", [RefusalKind.IMPOSSIBLE, RefusalKind.FOREIGN])
def test_a_test_that_cannot_be_run_says_nothing_and_is_tried_again_in_an_hour(
    refusal: RefusalKind,
) -> None:
    ground = Ground(settings=TESTS)
    ground.end_chore(Kind.TEST, PursuitResult.REFUSED, refusal)
    assert spare(ground, "n38").standing is SpareStatus.READY
    assert "could not be tested" in ground.notes[-1].text
    ground.end_chore(Kind.TEST)
    ground.wait(3400, every=60)
    assert len(started_tests(ground)) == 2
    ground.wait(300, every=60)
    assert [one.node for one in started_tests(ground)] == ["n38", "n39", "n38"]


@pytest.mark.parametrize("what", ["stop", "held", "ceiling", "jobs", "taken", "sick", "silent"])
def test_only_an_idle_spare_that_may_be_touched_is_tested(what: str) -> None:
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, spares=SpareSettings()))
    node = ground.nodes["n38"]
    only = msgspec.structs.replace(SPARES, nodes=("n38",))
    ceiling = "drain" if what == "ceiling" else "remedy"
    match what:
        case "stop":
            ground.send_command(Verb.STOP)
        case "held":
            ground.send_command(Verb.HOLD, "n38")
        case "jobs":
            node.jobs = (JOB,)
        case "taken":
            node.hold_state = HoldState.FOREIGN
        case "sick":
            node.healthy = False
        case "silent":
            node.answering = False
    ground.settings = msgspec.structs.replace(SETTINGS, ceiling=ceiling, spares=only)
    ground.start()
    assert started_tests(ground) == []


def test_no_spare_is_tested_while_a_failover_may_lose_that_it_was() -> None:
    ground = Ground(settings=TESTS)
    for _ in range(2):
        ground.end_chore(Kind.TEST)
    ground.step(seen=(JournalStatus(loss_risk="it is replicated asynchronously"),))
    ground.wait(0.51 * DAY, every=600)
    assert [one.node for one in started_tests(ground)] == ["n38", "n39"]
    ground.step(seen=(JournalStatus(),))
    assert [one.node for one in started_tests(ground)] == ["n38", "n39", "n38"]


def test_nothing_is_tested_without_a_test() -> None:
    ground = Ground(
        settings=msgspec.structs.replace(SETTINGS, spares=SpareSettings(nodes=("n38",)))
    )
    ground.wait(2 * DAY, every=3600)
    assert started_tests(ground) == []


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({}, []),
        ({"test": "quick", "test_max_age_s": DAY}, []),
        ({"test": "quick"}, ["spares.test"]),
        ({"test_max_age_s": DAY}, ["spares.test_max_age"]),
    ],
)
def test_a_test_and_its_age_belong_together(fields: dict[str, object], keys: list[str]) -> None:
    settings = RemedySettings(spares=msgspec.structs.replace(SpareSettings(), **fields))
    assert [key for key, _ in configuration_errors(settings)] == keys
