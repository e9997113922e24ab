"""A node that people keep from rules, by a label or a hold, is neither tested in turn nor drawn."""

from collections.abc import Callable

import msgspec
import pytest

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.fleet.remedies.describing import spares_page
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.settings import SpareSettings
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, job_policy

DAY = 86_400.0
EVERY_DAY = ActiveTestSettings(name="quick", every_s=DAY)
PAIR = ActiveTestSettings(name="pair", pair=True)


def by_label(ground: Ground, name: str) -> None:
    ground.nodes[name].labels = {"accelwatch_no_auto": ""}


def by_hold(ground: Ground, name: str) -> None:
    ground.send_command(Verb.HOLD, name)


left_alone = pytest.mark.parametrize("keep", [by_label, by_hold])
Keep = Callable[[Ground, str], None]


def fleet(idle: tuple[str, ...], **limits: object) -> Ground:
    ground = Ground(settings=msgspec.structs.replace(SETTINGS, **limits))
    for name, node in ground.nodes.items():
        node.jobs = () if name in idle else (JOB,)
    ground.step()
    return ground


@left_alone
def test_it_is_not_tested_in_turn(keep: Keep) -> None:
    ground = fleet(("n01", "n02"))
    keep(ground, "n01")
    ground.settings = msgspec.structs.replace(ground.settings, tests=(EVERY_DAY,))
    ground.wait(60)
    assert [one.node for one in ground.of_kind(Kind.TEST)] == ["n02"]


def test_a_node_whose_label_is_gone_has_its_turn() -> None:
    ground = fleet(("n01",))
    by_label(ground, "n01")
    ground.settings = msgspec.structs.replace(ground.settings, tests=(EVERY_DAY,))
    ground.wait(60)
    assert ground.of_kind(Kind.TEST) == []
    ground.nodes["n01"].labels = {}
    ground.wait(60)
    assert [one.node for one in ground.of_kind(Kind.TEST)] == ["n01"]


@left_alone
def test_it_is_not_tested_as_a_spare(keep: Keep) -> None:
    ground = fleet(("n38", "n39"))
    keep(ground, "n38")
    spares = SpareSettings(nodes=("n38", "n39"), alike=(), test="quick", test_max_age_s=DAY)
    ground.settings = msgspec.structs.replace(ground.settings, spares=spares)
    ground.start()
    assert [one.node for one in ground.of_kind(Kind.TEST)] == ["n39"]


@pytest.mark.parametrize(
    ("keep", "why"),
    [(by_label, "n04 has the label accelwatch_no_auto"), (by_hold, "n04 is held by a person")],
)
def test_it_takes_no_part_in_the_test_of_another_node(keep: Keep, why: str) -> None:
    ground = fleet(("n03", "n04"), tests=(PAIR,))
    for name, node in ground.nodes.items():
        node.model = "H100" if name in ("n03", "n04") else "other"
    keep(ground, "n04")
    case = ground.fault("n03", policy=msgspec.structs.replace(POLICY, tests=("pair",)))
    ground.end("n03")
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(90)
    steps = planned(ground.state, "n03", ground.now, ground.settings).steps
    texts = [answer.text for step in steps for answer in step.in_the_way]
    assert texts == [f"no idle node that is known to be well can take part in pair: {why}"]


@pytest.mark.parametrize(
    ("keep", "why"),
    [(by_label, "n38 has the label accelwatch_no_auto"), (by_hold, "n38 is held by a person")],
)
def test_it_is_not_drawn_as_a_spare(keep: Keep, why: str) -> None:
    ground = fleet(("n38",), spares=SpareSettings(nodes=("n38",), alike=()))
    keep(ground, "n38")
    ground.fault("n03", policy=job_policy(draw_spare=True))
    ground.end("n03")
    assert ground.of_kind(Kind.DRAW_SPARE) == []
    assert any(f"no spare fits: {why}" in note.text for note in ground.notes)
    (row,) = spares_page(ground.state, ground.settings, ground.now).spares
    assert (row.usable, f"n38 {row.text}") == (False, why)


def test_without_such_a_label_all_of_this_is_done() -> None:
    ground = fleet(("n38",), spares=SpareSettings(nodes=("n38",), alike=()), no_auto_label="")
    ground.nodes["n38"].labels = {"accelwatch_no_auto": ""}
    ground.fault("n03", policy=job_policy(draw_spare=True))
    ground.end("n03")
    assert [one.spare for one in ground.of_kind(Kind.DRAW_SPARE)] == ["n38"]
