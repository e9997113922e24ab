"""Spares: which one is drawn, where each has got to, and how many are enough."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from accelwatch.remediation.policy.guards.denial import Denial, DenialKind
from accelwatch.remediation.policy.state.spares.model import Spare, SpareState, SpareStatus, listed
from accelwatch.remediation.policy.state.spares.spare_selection import (
    Candidate,
    Drawn,
    SpareRequest,
    draw,
    due_for_test,
)
from accelwatch.remediation.policy.state.spares.spare_transitions import (
    activated,
    failed,
    passed,
    released,
    returned,
    returning,
)
from accelwatch.remediation.settings import SpareSettings

DAY = 86_400.0
H100 = {"model": "H100", "rack": "r1", "leaf": "s1"}
WANTED = SpareRequest(incident="i1", node="n1", labels=H100)
SETTINGS = SpareSettings(near=("leaf", "rack"), test="quick", test_max_age_s=DAY)
READY, RESERVED, IN_USE = SpareStatus.READY, SpareStatus.RESERVED, SpareStatus.IN_USE
RETURNING, FAILED = SpareStatus.RETURNING, SpareStatus.FAILED


def pool(*names: str) -> SpareState:
    return SpareState(spares={name: Spare(tested=0.0) for name in names})


def drawn(
    state: SpareState,
    candidates: Mapping[str, Candidate],
    now: float = 60.0,
    wanted: SpareRequest = WANTED,
    settings: SpareSettings = SETTINGS,
) -> tuple[SpareState, str]:
    state, answer = draw(state, wanted, candidates, now=now, settings=settings)
    assert isinstance(answer, Drawn)
    return state, answer.name


def denied(
    state: SpareState,
    candidates: Mapping[str, Candidate],
    now: float = 60.0,
    settings: SpareSettings = SETTINGS,
) -> str:
    same, answer = draw(state, WANTED, candidates, now=now, settings=settings)
    assert same is state
    assert isinstance(answer, Denial)
    assert answer.why is DenialKind.NO_SPARE
    return answer.text


def candidate(score: float = 0.0, **labels: str) -> Candidate:
    return Candidate(labels={**H100, **labels}, score=score)


def in_use() -> SpareState:
    state, name = drawn(pool("s1"), {"s1": candidate()})
    return activated(state, name, {})


def test_the_nearest_is_drawn_then_the_one_that_failed_least() -> None:
    known = {
        "far": candidate(leaf="s9", rack="r9"),
        "rack": candidate(leaf="s9", score=0.0),
        "leaf": candidate(rack="r9", score=2.0),
        "worse": candidate(score=2.0),
        "better": candidate(score=1.0),
    }
    order = []
    state = pool(*known)
    for number in range(5):
        wanted = SpareRequest(incident=f"i{number}", node="n1", labels=H100)
        state, name = drawn(state, known, wanted=wanted)
        order.append(name)
    assert order == ["better", "worse", "leaf", "rack", "far"]


def test_of_equal_ones_it_is_always_the_same() -> None:
    known = {name: candidate() for name in ("s3", "s1", "s2")}
    assert drawn(pool(*known), known)[1] == "s1"


def test_a_drawn_spare_is_reserved_for_the_incident_and_the_node() -> None:
    state, _ = drawn(pool("s1"), {"s1": candidate()})
    assert state.spares["s1"] == Spare(
        standing=RESERVED, incident="i1", stands_for="n1", tested=0.0
    )


def test_a_repeated_request_draws_no_second_one() -> None:
    known = {"s1": candidate(), "s2": candidate()}
    state, _ = drawn(pool("s1", "s2"), known)
    for held in (state, activated(state, "s1", {})):
        same, name = drawn(held, known)
        assert (same, name) == (held, "s1")
    other = SpareRequest(incident="i1", node="n2", labels=H100)
    assert drawn(state, known, wanted=other)[1] == "s2"
    later = SpareRequest(incident="i2", node="n1", labels=H100)
    assert drawn(state, known, wanted=later)[1] == "s2"


@pytest.mark.parametrize("status", [RETURNING, FAILED])
def test_what_comes_back_or_is_broken_does_not_stand_in_again(status: SpareStatus) -> None:
    spare = Spare(standing=status, incident="i1", stands_for="n1", tested=0.0)
    assert str(status) in denied(SpareState(spares={"s1": spare}), {"s1": candidate()})


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({}, "s1 cannot be used now"),
        ({"s1": Candidate(labels=H100, usable=False)}, "s1 cannot be used now"),
        ({"s1": candidate(model="A100")}, "s1 has another model"),
        ({"s1": Candidate()}, "s1 has another model"),
    ],
)
def test_a_spare_has_to_fit(known: dict[str, Candidate], reason: str) -> None:
    assert denied(pool("s1"), known) == f"no spare fits: {reason}"


def test_a_spare_never_stands_in_for_itself() -> None:
    assert "n1 is the node itself" in denied(pool("n1"), {"n1": candidate()})


def test_everything_that_has_to_be_alike_is() -> None:
    both = SpareSettings(alike=("model", "fabric"), test_max_age_s=DAY)
    assert "another fabric" in denied(pool("s1"), {"s1": candidate(fabric="f")}, settings=both)
    assert drawn(pool("s1"), {"s1": candidate()}, settings=both)[1] == "s1"


def test_a_spare_has_passed_its_test_not_long_ago() -> None:
    known = {"s1": candidate()}
    assert drawn(pool("s1"), known, now=DAY)[1] == "s1"
    assert "tested too long ago" in denied(pool("s1"), known, now=DAY + 1)
    untested = SpareState(spares={"s1": Spare()})
    assert "never tested" in denied(untested, known)
    trusting = SpareSettings()
    for state in (untested, pool("s1")):
        assert drawn(state, known, now=9 * DAY, settings=trusting)[1] == "s1"


def test_without_spares_that_is_reported() -> None:
    assert "there are no spares" in denied(SpareState(), {})


def test_a_long_list_of_reasons_is_cut() -> None:
    names = [f"s{at}" for at in range(10)]
    assert denied(pool(*names), {}).endswith("; and 2 more")
    assert "more" not in denied(pool(*names[:8]), {})


def test_the_way_of_a_spare() -> None:
    state = in_use()
    assert state.spares["s1"].standing is IN_USE
    state = returning(state, "s1")
    assert state.spares["s1"].standing is RETURNING
    assert returned(state, "s1") == pool("s1")


def test_a_spare_that_is_not_needed_after_all_is_ready_again() -> None:
    state, _ = drawn(pool("s1"), {"s1": candidate()})
    assert released(state, "s1") == pool("s1")


@pytest.mark.parametrize(
    ("move", "allowed"),
    [
        (partial(activated, original={}), RESERVED),
        (released, RESERVED),
        (returning, IN_USE),
        (returned, RETURNING),
    ],
)
def test_no_step_is_left_out(
    move: Callable[[SpareState, str], SpareState], allowed: SpareStatus
) -> None:
    for status in SpareStatus:
        state = SpareState(spares={"s1": Spare(standing=status, stands_for="n1")})
        if status is allowed:
            assert move(state, "s1") != state
        else:
            with pytest.raises(ValueError, match=f"the spare s1 is {status}"):
                move(state, "s1")
    with pytest.raises(ValueError, match="s2 is not a spare"):
        move(SpareState(), "s2")


def test_a_spare_that_fails_is_out_until_it_passes() -> None:
    broken = failed(in_use(), "s1", "ECC")
    assert broken.spares["s1"] == Spare(standing=FAILED, tested=0.0, text="ECC")
    assert "s1 failed" in denied(broken, {"s1": candidate()})
    mended = passed(broken, "s1", 100.0)
    assert mended.spares["s1"] == Spare(tested=100.0)
    for unknown in (failed, passed):
        move: Any = unknown
        with pytest.raises(ValueError, match="not a spare"):
            move(broken, "s9", "x")


def test_a_test_moves_no_spare_that_is_reserved() -> None:
    state, _ = drawn(pool("s1"), {"s1": candidate()})
    kept = passed(state, "s1", 100.0).spares["s1"]
    assert (kept.standing, kept.tested, kept.incident) == (RESERVED, 100.0, "i1")


def test_idle_spares_are_tested_before_their_test_is_too_old() -> None:
    state = SpareState(
        spares={
            "young": Spare(tested=0.6 * DAY),
            "older": Spare(tested=0.5 * DAY),
            "oldest": Spare(tested=0.0),
            "never": Spare(),
            "away": Spare(standing=IN_USE),
            "broken": Spare(standing=FAILED, tested=0.4 * DAY),
            "runs": Spare(standing=SpareStatus.TESTING),
            "just tried": Spare(tried=DAY - 3599),
            "broken, just tried": Spare(standing=FAILED, tried=0.51 * DAY),
        }
    )
    assert due_for_test(state, DAY, SETTINGS) == ("never", "oldest", "broken", "older")
    assert due_for_test(state, DAY, SpareSettings()) == ()
    assert due_for_test(state, DAY, SpareSettings(test="quick")) == ()


def test_spares_are_those_that_are_listed_and_those_that_are_away() -> None:
    state = listed(SpareState(), ("s1", "s2"))
    assert state.spares == {"s1": Spare(), "s2": Spare()}
    assert listed(state, ("s1", "s2")) is state
    assert set(listed(state, ("s2", "s3")).spares) == {"s2", "s3"}
    away = in_use()
    assert listed(away, ()).spares == away.spares
    assert listed(returning(away, "s1"), ()).spares != {}
    assert listed(failed(away, "s1", "x"), ()).spares == {}


def test_the_state_can_be_written_down() -> None:
    state = in_use()
    assert msgspec.json.decode(msgspec.json.encode(state), type=SpareState) == state
