"""Nodes that the hub calls by their whole host name: what is about the scheduler's name reaches them."""

import msgspec

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.intent import OwnerAnnotation
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Measured
from accelwatch.config.figures import Figure
from accelwatch.fleet.remedies.describing import spares_page
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.changes import CaseChanged
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.settings import RemedySettings, SpareSettings
from support.remediation.small_fleet import JOB, SETTINGS, Ground, WholeNameNode, job_policy

DAY = 86_400.0
MODEL = "H100"
PAIR = ActiveTestSettings(
    name="pair", pair=True, floors={MODEL: Figure(40e9, "bytes_per_second")}, every_s=DAY
)


def fleet(idle: tuple[str, ...] = (), **limits: object) -> Ground:
    settings: RemedySettings = msgspec.structs.replace(SETTINGS, **limits)
    ground = Ground(count=0, settings=settings)
    for at in range(16):
        name = f"n{at:02d}"
        node = WholeNameNode(name, f"r{at // 8}", serial=f"board-{at}", model=MODEL)
        node.jobs = () if name in idle else (JOB,)
        ground.nodes[name] = node
    ground.start()
    return ground


def alerts(ground: Ground) -> list[str]:
    return [note.text for note in ground.notes if note.loudness is Loudness.ALERT]


def test_nodes_of_a_rack_are_counted_and_those_of_it_that_are_out() -> None:
    ground = fleet()
    ground.nodes["n03"].hold_state = HoldState.FOREIGN
    ground.step()
    counts = StepContext(ground.state, ground.settings, ground.now).group_counts
    assert (counts.sizes["rack=r0"], counts.sizes["rack=r1"]) == (8, 8)
    assert counts.out["rack=r0"] == {"n03.site"}
    assert counts.out["pool=train"] == {"n03.site"}


def test_a_spare_is_known_to_be_well_and_drawn() -> None:
    ground = fleet(("n15",), spares=SpareSettings(nodes=("n15",)))
    (row,) = spares_page(ground.state, ground.settings, ground.now).spares
    assert (row.name, row.node, row.usable, row.rack) == ("n15", "n15.site", True, "r1")
    fault(ground, "n03")
    ground.end("n03")
    assert [one.spare for one in ground.of_kind(Kind.DRAW_SPARE)] == ["n15"]


def fault(ground: Ground, name: str) -> None:
    """A rule fires, by the hub's name, and its policy moves jobs to a spare."""
    ground.nodes[name].healthy = False
    case = Case(
        incident=f"i-{name}",
        policy=job_policy(draw_spare=True),
        since=ground.now,
        evidence_at=ground.now,
        serial=ground.nodes[name].serial,
    )
    ground.step(CaseChanged(node=f"{name}.site", case=case))


def test_a_spare_that_is_tested_is_called_by_the_hubs_name() -> None:
    spares = SpareSettings(nodes=("n15",), test="quick", test_max_age_s=DAY)
    ground = fleet(("n15",), spares=spares)
    assert ground.state.spares.spares["n15"].standing is SpareStatus.TESTING
    ground.end_chore(Kind.TEST)
    assert set(ground.state.tests) == {"n15.site"}


def test_a_peer_that_is_to_blame_is_no_peer_any_more() -> None:
    ground = fleet(("n01", "n02", "n03"))
    ground.settings = msgspec.structs.replace(SETTINGS, tests=(PAIR,))
    slow, fast = Measured(12e9, "bytes_per_second"), Measured(45e9, "bytes_per_second")
    ground.wait(60)
    ground.nodes["n02"].jobs = (JOB,)
    ground.end_chore(Kind.TEST, measured=slow)
    ground.nodes["n03"].jobs = (JOB,)
    ground.wait(3500, every=60)
    ground.nodes["n03"].jobs = ()
    ground.wait(300, every=60)
    ground.end_chore(Kind.TEST, measured=fast)
    pairs = [(one.node, one.peer) for one in ground.of_kind(Kind.TEST)]
    assert pairs[:2] == [("n01", "n02"), ("n01", "n03")]
    assert "n02 may be slow" in alerts(ground)[-1]
    assert ground.state.tests["n02.site"].runs["pair"].failed
    assert "n02" not in ground.state.tests


def test_a_mark_of_ours_that_nobody_knows_is_that_of_the_hubs_node() -> None:
    ground = fleet()
    node = ground.nodes["n05"]
    node.hold_state, node.mark, node.set_by = HoldState.OURS, OwnerAnnotation("i9", 1), "accelwatch"
    ground.wait(60)
    assert set(ground.state.remedies) == {"n05.site"}
