"""A node comes back only when it works as well as it should: beside another one, by what is measured."""

import msgspec
import pytest

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import HoldState
from accelwatch.action.step import Measured, RefusalKind
from accelwatch.config.figures import Figure as Floor
from accelwatch.remediation.active_tests import ActiveTestSettings
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.plan.plan import planned
from accelwatch.remediation.policy.state.changes import Verb
from accelwatch.remediation.policy.state.node_tests import (
    Figure,
    LatestRun,
    NodeTests,
    VerificationResult,
)
from accelwatch.remediation.policy.state.pursued import PursuitResult
from accelwatch.remediation.policy.state.spares.model import SpareStatus
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import RemedySettings, SpareSettings
from support.remediation.small_fleet import JOB, POLICY, SETTINGS, Ground, WholeNameNode

DAY = 86_400.0
MODEL, RATE = "H100", "bytes_per_second"
TESTED = msgspec.structs.replace(POLICY, tests=("pair",))
FLOOR = ActiveTestSettings(name="pair", pair=True, floors={MODEL: Floor(40e9, "bytes_per_second")})
BY_PEERS = ActiveTestSettings(name="pair", pair=True, share=0.9, every_s=7 * DAY)
ALONE = ActiveTestSettings(name="pair", floors={MODEL: Floor(40e9, "bytes_per_second")})
EVERY_DAY = msgspec.structs.replace(ALONE, every_s=DAY)


def gb(value: float) -> Measured:
    return Measured(value * 1e9, "bytes_per_second", "/opt/all_reduce_perf")


def settings(*tests: ActiveTestSettings, **more: object) -> RemedySettings:
    return msgspec.structs.replace(SETTINGS, tests=tests, **more)


def fleet(*tests: ActiveTestSettings, **more: object) -> Ground:
    ground = Ground(settings=SETTINGS)
    for node in ground.nodes.values():
        node.model = MODEL
    ground.settings = settings(*tests, **more)
    ground.step()
    return ground


def with_figures(ground: Ground, *figures: float, peer: str = "") -> None:
    """Other nodes have measured so much, in GB/s, from n20 on."""
    rows = {}
    for at, value in enumerate(figures):
        figure = Figure(
            value=value * 1e9, unit=RATE, model=MODEL, peer=peer or f"n{30 + at}", at=ground.now
        )
        run = LatestRun(tried=ground.now, ended=ground.now, passed=ground.now, figure=figure)
        rows[f"n{20 + at}"] = NodeTests(runs={"pair": run})
    ground.state = msgspec.structs.replace(ground.state, tests=rows)


def looks_well(ground: Ground) -> None:
    """n03 was out, and has looked well for as long as it has to."""
    case = ground.fault("n03", policy=TESTED)
    ground.end("n03")
    assert ground.flying["n03"].kind is Kind.REBOOT
    ground.end("n03")
    ground.clear("n03", case)
    ground.wait(90)


def on_test(ground: Ground) -> Intent:
    looks_well(ground)
    intent = ground.flying["n03"]
    assert intent.kind is Kind.TEST
    return intent


def results(ground: Ground, node: str = "n03") -> tuple[VerificationResult, ...]:
    remedy = ground.remedy(node)
    return () if remedy is None else remedy.repair.results


def held_back(ground: Ground) -> str:
    """What keeps the test of n03 from being begun, as its plan shows it."""
    steps = planned(ground.state, "n03", ground.now, ground.settings).steps
    return "; ".join(
        one.text for step in steps if step.kind is Kind.TEST for one in step.in_the_way
    )


def alerts(ground: Ground) -> list[str]:
    return [note.text for note in ground.notes if note.loudness is Loudness.ALERT]


def test_a_figure_at_its_floor_lets_the_node_go_and_is_kept_as_evidence() -> None:
    ground = fleet(FLOOR)
    intent = on_test(ground)
    assert (intent.test, intent.peer) == ("pair", "n00")
    ground.end("n03", measured=gb(40))
    assert ground.flying["n03"].kind is Kind.RELEASE
    (result,) = results(ground)
    text = "passed test pair with n00: 40 GB/s, at least 40 GB/s (set for H100)"
    assert (result.passed, result.text) == (True, text)
    assert (result.value, result.floor, result.peer) == (40e9, 40e9, "n00")
    assert result.command == "/opt/all_reduce_perf"
    assert planned(ground.state, "n03", ground.now, ground.settings).results == (result,)
    assert f"n03 {text}" in [note.text for note in ground.notes]
    # It is in the journal as well.
    before = ground.state
    ground.killed()
    assert ground.state.remedies["n03"].repair.results == (result,)
    assert ground.state.tests == before.tests


@pytest.mark.parametrize(
    ("measured", "text"),
    [
        (gb(39.9), "failed test pair with n00: 39.9 GB/s, less than 40 GB/s (set for H100)"),
        (gb(0), "failed test pair with n00: 0 GB/s, less than 40 GB/s (set for H100)"),
        (None, "test pair with n00 could not be measured: it ended well and printed no figure"),
    ],
)
def test_too_small_a_figure_or_none_keeps_the_node_out(
    measured: Measured | None, text: str
) -> None:
    ground = fleet(FLOOR)
    on_test(ground)
    only(ground, "n00", "n03")
    ground.end("n03", measured=measured)
    remedy = ground.remedy("n03")
    assert remedy is not None
    assert remedy.repair.unfit == text
    assert ground.flying["n03"].kind is Kind.REBOOT
    assert [(one.passed, one.text) for one in remedy.repair.results] == [(False, text)]
    assert text in planned(ground.state, "n03", ground.now, ground.settings).text
    assert Kind.RELEASE not in ground.kinds("n03")


@pytest.mark.parametrize("unit", ["tokens_per_second", ""])
@pytest.mark.parametrize("by_peers", [False, True])
def test_a_figure_in_another_unit_than_its_floor_keeps_the_node_out_and_blames_no_node(
    unit: str, by_peers: bool
) -> None:
    ground = fleet(BY_PEERS if by_peers else FLOOR)
    with_figures(ground, 50, 48, 47)
    on_test(ground)
    only(ground, "n00", "n03")
    ground.end("n03", measured=Measured(99e9, unit))
    assert ground.flying["n03"].kind is Kind.REBOOT
    printed = f"the unit {unit}" if unit else "no unit"
    assert f"could not be compared: it printed {printed}, and the floor is 4" in text_of(ground)
    run = ground.state.tests["n03"].runs["pair"]
    assert (run.failed, run.ended, run.figure) == ("", None, None)
    assert "could not be compared" in run.not_run


@pytest.mark.parametrize("by_peers", [False, True])
def test_a_figure_in_another_unit_is_no_reason_for_another_peer(by_peers: bool) -> None:
    ground = fleet(BY_PEERS if by_peers else FLOOR)
    with_figures(ground, 50, 48, 47)
    on_test(ground)
    ground.end("n03", measured=Measured(99e9, "tokens_per_second"))
    assert ground.flying["n03"].kind is Kind.REBOOT


def test_the_median_is_of_the_unit_that_was_measured_last() -> None:
    ground = fleet(BY_PEERS)
    with_figures(ground, 50, 48, 10)
    rows = dict(ground.state.tests)
    for name in ("n26", "n27", "n28"):
        before = Figure(value=7.0, unit="tokens_per_second", model=MODEL, at=ground.now - 60)
        rows[name] = NodeTests(runs={"pair": LatestRun(tried=ground.now - 60, figure=before)})
    ground.state = msgspec.structs.replace(ground.state, tests=rows)
    on_test(ground)
    only(ground, "n00", "n03")
    ground.end("n03", measured=gb(43))
    assert results(ground)[0].floor_of == "90 % of the median of 3 nodes"


def test_idle_nodes_start_the_median_of_a_test_that_has_another_unit_now() -> None:
    ground = _ready("n01", "n02", "n03")
    with_figures(ground, 50, 48, 47)
    test = msgspec.structs.replace(BY_PEERS, pair=False, least_nodes=2)
    ground.settings = settings(test)
    for tokens in (1800.0, 1800.0, 100.0):
        ground.wait(10, every=1)
        ground.end_chore(Kind.TEST, measured=Measured(tokens, "tokens_per_second"))
    runs = [ground.state.tests[name].runs["pair"] for name in ("n01", "n02", "n03")]
    assert [run.not_run for run in runs] == ["", "", ""]
    assert [run.failed for run in runs[:2]] == ["", ""]
    assert runs[2].failed == (
        "failed test pair: 100 tokens per second, less than 1620 tokens per second "
        "(90 % of the median of 2 nodes)"
    )


def test_an_idle_node_is_not_compared_with_a_floor_of_the_site_in_another_unit() -> None:
    ground = _ready("n01", "n02")
    ground.settings = settings(EVERY_DAY)
    ground.wait(10, every=1)
    ground.end_chore(Kind.TEST, measured=Measured(99e9, "tokens_per_second"))
    run = ground.state.tests["n01"].runs["pair"]
    assert (run.figure, run.failed) == (None, "")
    assert "could not be compared" in run.not_run


def text_of(ground: Ground) -> str:
    """Why n03 stays out."""
    remedy = ground.remedy("n03")
    return "" if remedy is None else remedy.repair.unfit


def test_the_evidence_of_a_failure_stays_beside_that_of_the_next_test() -> None:
    ground = fleet(FLOOR)
    on_test(ground)
    only(ground, "n00", "n03")
    ground.end("n03", measured=gb(10))
    ground.end("n03")
    # What has failed twice has to look well for half an hour.
    ground.wait(1900)
    ground.end("n03", measured=gb(50))
    assert [one.passed for one in results(ground)] == [False, True]
    assert ground.flying["n03"].kind is Kind.RELEASE


def test_with_whom_it_fails_may_be_to_blame_so_another_peer_takes_part() -> None:
    ground = fleet(FLOOR)
    assert on_test(ground).peer == "n00"
    ground.end("n03", measured=gb(10))
    assert ground.stage("n03") is Stage.VERIFYING
    assert ground.flying["n03"].peer == "n01"
    ground.killed()
    ground.step()
    ground.end("n03", measured=gb(45))
    assert [(one.peer, one.passed) for one in results(ground)] == [("n00", False), ("n01", True)]
    assert alerts(ground) == [
        "n00 may be slow: n03 failed test pair with it, and passed with n01; n00 takes part in no test "
        "of others until it passes pair itself"
    ]
    assert ground.state.tests["n00"].runs["pair"].failed


@pytest.mark.parametrize("ending", [PursuitResult.ACHIEVED, PursuitResult.REFUSED])
def test_who_fails_with_two_peers_stays_out_and_no_peer_is_blamed(ending: PursuitResult) -> None:
    ground = fleet(FLOOR)
    on_test(ground)
    refusal = RefusalKind.UNFIT if ending is PursuitResult.REFUSED else None
    for peer in ("n00", "n01"):
        assert ground.flying["n03"].peer == peer
        ground.end("n03", ending, refusal, measured=gb(10))
    assert ground.flying["n03"].kind is Kind.REBOOT
    assert [one.passed for one in results(ground)] == [False, False]
    assert "n00" not in ground.state.tests
    assert alerts(ground) == []


def test_what_is_no_peers_fault_is_no_reason_for_another_one() -> None:
    for ending, refusal in (
        (PursuitResult.REFUSED, RefusalKind.NOT_ALLOWED),
        (PursuitResult.ACHIEVED, None),
    ):
        ground = fleet(FLOOR)
        on_test(ground)
        ground.end("n03", ending, refusal)
        assert ground.flying["n03"].kind is Kind.REBOOT


def test_without_a_floor_of_its_own_the_median_of_its_peers_counts() -> None:
    ground = fleet(BY_PEERS)
    with_figures(ground, 50, 48, 10)
    on_test(ground)
    only(ground, "n00", "n03")
    ground.end("n03", measured=gb(43))
    (result,) = results(ground)
    assert not result.passed
    assert result.floor == pytest.approx(0.9 * 48e9)
    assert result.floor_of == "90 % of the median of 3 nodes"


def test_what_was_measured_with_the_node_itself_or_its_peer_says_nothing_of_it() -> None:
    ground = fleet(BY_PEERS)
    with_figures(ground, 50, 48, 47, peer="n03")
    looks_well(ground)
    assert "n03" not in ground.flying
    assert "0 other nodes of it have measured, 3 have to" in held_back(ground)


def test_what_its_peer_has_measured_counts_for_nothing_before_the_test_either() -> None:
    ground = fleet(BY_PEERS)
    with_figures(ground, 50, 48, 47)
    only(ground, "n20", "n03")
    looks_well(ground)
    # With n20 as its peer two figures are left: no test could be judged by them.
    assert "n03" not in ground.flying
    assert "2 other nodes of it have measured, 3 have to" in held_back(ground)
    with_figures(ground, 50, 48, 47, 49)
    ground.step()
    assert ground.flying["n03"].peer == "n20"
    ground.end("n03", measured=gb(49))
    assert ground.flying["n03"].kind is Kind.RELEASE


def test_nobody_knows_how_much_it_has_to_be_so_the_release_waits_and_says_so() -> None:
    ground = fleet(BY_PEERS)
    with_figures(ground, 50, 48)
    looks_well(ground)
    assert ground.stage("n03") is Stage.VERIFYING
    assert "n03" not in ground.flying
    sentence = (
        "pair has no floor for H100 yet: 2 other nodes of it have measured, 3 have to; idle nodes are "
        "tested in turn, or write a floor"
    )
    assert held_back(ground) == sentence
    assert f"test is held back: {sentence}" in [note.text for note in ground.notes]
    with_figures(ground, 50, 48, 47)
    ground.step()
    assert ground.flying["n03"].kind is Kind.TEST


def test_a_model_that_no_floor_is_written_for_waits_for_one() -> None:
    ground = fleet(FLOOR)
    ground.nodes["n03"].model = "H200"
    ground.nodes["n04"].model = "H200"
    looks_well(ground)
    assert (
        held_back(ground) == "pair has no floor for H200; add the model to floors of remedy.tests"
    )


def test_the_peer_is_of_the_same_model_near_and_known_to_be_well() -> None:
    ground = fleet(FLOOR)
    for name in ("n00", "n01", "n02", "n04"):
        ground.nodes[name].model = "H200"
    ground.nodes["n05"].jobs = (JOB,)
    ground.nodes["n06"].healthy = None
    # n07 is of its rack; n20 has passed the test, and is of another one.
    with_figures(ground, 50)
    assert on_test(ground).peer == "n07"


def test_of_several_the_one_that_passed_last_takes_part() -> None:
    ground = fleet(FLOOR)
    for name in ("n00", "n01", "n02", "n04", "n05", "n06", "n07"):
        ground.nodes[name].jobs = (JOB,)
    with_figures(ground, 50)
    assert on_test(ground).peer == "n20"


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("jobs", "n04 has a job"),
        ("sick", "n04 is not known to be healthy"),
        ("drained", "n04 is not open at its scheduler (foreign)"),
        ("silent", "n04 does not answer its scheduler"),
        ("held", "n04 is held by a person"),
        ("failed", "n04 failed pair itself"),
        ("model", "no other node is of its model"),
    ],
)
def test_without_a_peer_the_release_waits_and_says_why(what: str, why: str) -> None:
    ground = fleet(FLOOR)
    for name, node in ground.nodes.items():
        node.model = MODEL if name in ("n03", "n04") else "other"
    node = ground.nodes["n04"]
    match what:
        case "jobs":
            node.jobs = (JOB,)
        case "sick":
            node.healthy = None
        case "drained":
            node.hold_state = HoldState.FOREIGN
        case "silent":
            node.answering = False
        case "held":
            ground.send_command(Verb.HOLD, "n04")
        case "failed":
            run = LatestRun(tried=ground.now, ended=ground.now, failed="too slow")
            rows = {"n04": NodeTests(runs={"pair": run})}
            ground.state = msgspec.structs.replace(ground.state, tests=rows)
        case "model":
            node.model = "other"
    looks_well(ground)
    assert (ground.stage("n03"), "n03" in ground.flying) == (Stage.VERIFYING, False)
    assert held_back(ground) == (
        f"no idle node that is known to be well can take part in pair: {why}"
    )


def test_a_peer_that_gets_a_job_is_let_go_and_another_one_takes_part() -> None:
    ground = fleet(FLOOR)
    assert on_test(ground).peer == "n00"
    ground.nodes["n00"].jobs = (JOB,)
    ground.end("n03", PursuitResult.REFUSED, RefusalKind.BUSY)
    assert ground.stage("n03") is Stage.VERIFYING
    assert ground.flying["n03"].peer == "n01"
    assert results(ground) == ()


def test_no_node_takes_part_in_two_tests_at_once() -> None:
    ground = fleet(FLOOR)
    assert on_test(ground).peer == "n00"
    for name, node in ground.nodes.items():
        node.jobs = () if name in ("n00", "n03", "n20") else (JOB,)
    case = ground.fault("n20", policy=TESTED)
    ground.wait(180)
    ground.end("n20")
    ground.end("n20")
    ground.clear("n20", case)
    ground.wait(90)
    assert "n20" not in ground.flying
    ground.nodes["n39"].jobs = ()
    ground.wait(30)
    assert ground.flying["n20"].peer == "n39"


def test_a_test_of_one_node_may_measure_too() -> None:
    ground = fleet(ALONE)
    assert on_test(ground).peer == ""
    ground.end("n03", measured=gb(41))
    assert results(ground)[0].text == "passed test pair: 41 GB/s, at least 40 GB/s (set for H100)"


def test_a_test_that_is_not_named_passes_by_its_end() -> None:
    ground = fleet()
    on_test(ground)
    ground.end("n03", measured=gb(0))
    assert results(ground)[0].text == "passed test pair"
    assert ground.flying["n03"].kind is Kind.RELEASE


def idle(ground: Ground) -> list[Intent]:
    return [one for one in ground.started if one.kind is Kind.TEST]


def only(ground: Ground, *names: str) -> None:
    """These are idle, all others have jobs."""
    for name, node in ground.nodes.items():
        node.jobs = () if name in names else (JOB,)


def test_idle_nodes_are_tested_in_turn_one_at_a_time() -> None:
    ground = _ready("n01", "n02")
    ground.settings = settings(BY_PEERS)
    ground.wait(10, every=1)
    (first,) = idle(ground)
    assert (first.node, first.spare, first.peer) == ("n01", "n01", "n02")
    ground.end_chore(Kind.TEST, measured=gb(50))
    ground.wait(10, every=1)
    assert [(one.node, one.peer) for one in idle(ground)] == [("n01", "n02"), ("n02", "n01")]
    ground.end_chore(Kind.TEST, measured=gb(49))
    assert [run.runs["pair"].figure is not None for run in ground.state.tests.values()] == [
        True,
        True,
    ]
    ground.wait(6.9 * DAY, every=600)
    assert len(idle(ground)) == 2
    ground.wait(0.2 * DAY, every=60)
    assert [one.node for one in idle(ground)][2] == "n01"
    assert alerts(ground) == []


def _ready(*names: str) -> Ground:
    """A fleet in which these nodes are idle, before any test is configured."""
    ground = Ground(settings=SETTINGS)
    for node in ground.nodes.values():
        node.model = MODEL
    only(ground, *names)
    return ground


def test_an_idle_node_is_tested_of_which_only_its_boot_id_proves_which_it_is() -> None:
    ground = Ground(settings=SETTINGS, count=0)
    ground.nodes["n01"] = WholeNameNode("n01", "r0", model=MODEL)
    ground.start()
    ground.settings = settings(EVERY_DAY)
    ground.wait(60)
    assert [one.node for one in idle(ground)] == ["n01"]
    assert set(ground.state.chores) == {"idle-test n01.site"}


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.HOLD])
def test_what_a_person_has_stopped_or_held_is_not_tested(verb: Verb) -> None:
    ground = _ready("n01")
    ground.send_command(verb, "n01" if verb is Verb.HOLD else "")
    ground.settings = settings(EVERY_DAY)
    ground.wait(60)
    assert idle(ground) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"jobs": (JOB,)},
        {"jobs_missing": "the second scheduler does not answer"},
        {"hold_state": HoldState.FOREIGN},
        {"healthy": False},
        {"healthy": None},
    ],
)
def test_a_node_that_is_not_idle_and_well_is_not_tested(changes: dict[str, object]) -> None:
    ground = _ready("n01")
    for name, value in changes.items():
        setattr(ground.nodes["n01"], name, value)
    ground.settings = settings(EVERY_DAY)
    ground.wait(60)
    assert idle(ground) == []


@pytest.mark.parametrize("more", [{"ceiling": "drain"}, {"spares": SpareSettings(nodes=("n01",))}])
def test_neither_below_the_ceiling_nor_spares_beside_their_own_schedule(
    more: dict[str, object],
) -> None:
    ground = _ready("n01")
    ground.settings = settings(EVERY_DAY, **more)
    ground.wait(60)
    assert idle(ground) == []


def test_nothing_is_tested_where_no_action_can_test() -> None:
    ground = _ready("n01")
    ground.impossible = {Kind.TEST: "options.tests of slurm has none"}
    ground.settings = settings(EVERY_DAY)
    ground.wait(60)
    assert idle(ground) == []


def test_many_that_may_not_be_tested_keep_nobody_else_waiting() -> None:
    names = [f"n{at:02d}" for at in range(12)]
    ground = _ready(*names)
    for name in names[:-1]:
        ground.send_command(Verb.HOLD, name)
    ground.settings = settings(EVERY_DAY)
    ground.wait(5, every=1)
    assert [one.node for one in idle(ground)] == ["n11"]


def test_nothing_is_tested_while_too_few_nodes_are_left() -> None:
    ground = _ready("n01")
    for at in range(10, 22):
        ground.nodes[f"n{at}"].hold_state = HoldState.FOREIGN
    ground.settings = settings(EVERY_DAY)
    ground.wait(60)
    assert idle(ground) == []
    ground.nodes["n10"].hold_state = HoldState.OPEN
    ground.wait(60)
    assert [one.node for one in idle(ground)] == ["n01"]


def test_a_pair_takes_two_shares_of_the_budget() -> None:
    """Of eight nodes of a rack two may be out; one is out already."""
    ground = _ready("n01", "n02")
    ground.send_command(Verb.QUARANTINE, "n04", reason="riser")
    ground.end("n04")
    ground.settings = settings(BY_PEERS)
    ground.wait(60)
    assert idle(ground) == []
    only(ground, "n01", "n09")
    ground.wait(60)
    assert [(one.node, one.peer) for one in idle(ground)] == [("n01", "n09")]


def test_an_idle_node_that_fails_is_reported_with_what_to_do_and_is_no_peer_any_more() -> None:
    ground = _ready("n01", "n02")
    ground.settings = settings(msgspec.structs.replace(FLOOR, every_s=DAY))
    ground.wait(10, every=1)
    ground.end_chore(Kind.TEST, measured=gb(12))
    assert alerts(ground) == [
        "the idle node n01 failed test pair with n02: 12 GB/s, less than 40 GB/s (set for H100); to "
        "take it out: accelwatch remedy quarantine n01 --reason 'pair failed'"
    ]
    ground.wait(3600, every=60)
    # n02 has nobody to be tested with: n01 is not known to be well.
    assert [one.node for one in idle(ground)] == ["n01"]


def _failed_with_a_peer() -> Ground:
    """The idle node n01 has failed with n02, and n03 is idle as well."""
    ground = _ready("n01", "n02", "n03")
    ground.settings = settings(msgspec.structs.replace(FLOOR, every_s=DAY))
    ground.wait(10, every=1)
    assert [(one.node, one.peer) for one in idle(ground)] == [("n01", "n02")]
    only(ground, "n01", "n03")
    ground.end_chore(Kind.TEST, measured=gb(12))
    assert alerts(ground) == [
        "the idle node n01 failed test pair with n02: 12 GB/s, less than 40 GB/s (set for H100); "
        "another peer takes part next"
    ]
    assert ground.state.tests["n01"].runs["pair"].failed
    ground.killed()
    ground.wait(3500, every=60)
    assert len(idle(ground)) == 1
    ground.wait(300, every=60)
    assert [(one.node, one.peer) for one in idle(ground)] == [("n01", "n02"), ("n01", "n03")]
    return ground


def test_an_idle_node_that_passes_with_another_peer_clears_itself_and_names_the_first() -> None:
    ground = _failed_with_a_peer()
    ground.end_chore(Kind.TEST, measured=gb(45))
    assert alerts(ground)[1:] == [
        "n02 may be slow: n01 failed test pair with it, and passed with n03; n02 takes part in no test "
        "of others until it passes pair itself"
    ]
    assert not ground.state.tests["n01"].runs["pair"].failed
    assert ground.state.tests["n02"].runs["pair"].failed


@pytest.mark.parametrize(
    ("measured", "figures"),
    [
        # The test prints another unit since a change.
        (Measured(900.0, "images_per_second"), (50, 50, 50)),
        # The nodes that had measured are gone: nobody knows how much it has to be.
        (gb(45), ()),
    ],
    ids=["another unit", "no median"],
)
def test_a_pass_that_was_not_compared_names_no_peer(
    measured: Measured, figures: tuple[float, ...]
) -> None:
    ground = _ready("n01", "n02", "n03")
    with_figures(ground, 50, 50, 50)
    tests = ground.state.tests
    ground.settings = settings(BY_PEERS)
    ground.wait(10, every=1)
    assert [(one.node, one.peer) for one in idle(ground)] == [("n01", "n02")]
    only(ground, "n01", "n03")
    ground.end_chore(Kind.TEST, measured=gb(12))
    if not figures:
        left = {name: of for name, of in ground.state.tests.items() if name not in tests}
        ground.state = msgspec.structs.replace(ground.state, tests=left)
    ground.wait(3800, every=60)
    assert [(one.node, one.peer) for one in idle(ground)][1:] == [("n01", "n03")]
    ground.end_chore(Kind.TEST, measured=measured)
    assert [text for text in alerts(ground) if "may be slow" in text] == []
    # It is tested beside another node than n02 next, and decided then.
    assert ground.state.tests["n01"].runs["pair"].failed_with == "n02"
    assert "n02" not in ground.state.tests


def test_an_idle_node_that_fails_with_two_peers_is_reported() -> None:
    ground = _failed_with_a_peer()
    ground.end_chore(Kind.TEST, measured=gb(13))
    assert alerts(ground)[1:] == [
        "the idle node n01 failed test pair with n03: 13 GB/s, less than 40 GB/s (set for H100); to "
        "take it out: accelwatch remedy quarantine n01 --reason 'pair failed'"
    ]
    assert not ground.state.tests["n01"].runs["pair"].failed_with


def test_a_test_that_runs_nowhere_is_reported_once() -> None:
    ground = _ready("n01", "n02")
    ground.settings = settings(EVERY_DAY)
    for _ in range(2):
        ground.wait(10, every=1)
        ground.end_chore(Kind.TEST, PursuitResult.REFUSED, RefusalKind.IMPOSSIBLE)
    assert alerts(ground) == ["the idle node n01: test pair could not be run: as the test says"]
    assert [one.node for one in idle(ground)] == ["n01", "n02"]
    ground.wait(3500, every=60)
    assert len(idle(ground)) == 2
    ground.wait(300, every=60)
    assert len(idle(ground)) == 3


def test_a_test_that_measures_nothing_says_so_once_and_nothing_of_the_nodes() -> None:
    ground = _ready("n01", "n02")
    ground.settings = settings(EVERY_DAY)
    for _ in range(2):
        ground.wait(10, every=1)
        ground.end_chore(Kind.TEST)
    assert [one.node for one in idle(ground)] == ["n01", "n02"]
    assert alerts(ground) == [
        "the idle node n01: test pair could not be measured: it ended well and printed no figure"
    ]
    runs = [ground.state.tests[node].runs["pair"] for node in ("n01", "n02")]
    assert [(run.failed, run.ended) for run in runs] == [("", None), ("", None)]


def test_a_node_that_gets_a_job_before_its_test_has_its_turn_again_in_an_hour() -> None:
    ground = _ready("n01")
    ground.settings = settings(EVERY_DAY)
    ground.wait(10, every=1)
    ground.end_chore(Kind.TEST, PursuitResult.REFUSED, RefusalKind.BUSY)
    ground.wait(3500, every=60)
    assert (len(idle(ground)), alerts(ground)) == (1, [])
    ground.wait(300, every=60)
    assert len(idle(ground)) == 2


def test_an_engine_that_is_killed_goes_on_with_the_test_and_its_turn() -> None:
    ground = _ready("n01", "n02")
    ground.settings = settings(BY_PEERS)
    ground.wait(10, every=1)
    ground.killed()
    ground.wait(300)
    assert [one.node for one in idle(ground)] == ["n01", "n01"]
    assert idle(ground)[0] == idle(ground)[1]
    ground.end_chore(Kind.TEST, measured=gb(50))
    ground.killed()
    ground.wait(300)
    assert [one.node for one in idle(ground)] == ["n01", "n01", "n02", "n02"]


def test_what_was_never_tested_again_is_forgotten_after_a_year() -> None:
    ground = fleet()
    with_figures(ground, 50)
    ground.now += 399 * DAY
    ground.step()
    assert list(ground.state.tests) == ["n20"]
    ground.now += 2 * DAY
    ground.step()
    assert ground.state.tests == {}


def test_a_spare_is_judged_by_what_it_measures() -> None:
    ground = Ground(settings=SETTINGS)
    for node in ground.nodes.values():
        node.model = MODEL
    spares = SpareSettings(nodes=("n38",), alike=(), test="pair", test_max_age_s=DAY)
    ground.settings = settings(FLOOR, spares=spares)
    ground.start()
    (first,) = idle(ground)
    assert (first.node, first.peer) == ("n38", "n32")
    ground.end_chore(Kind.TEST, measured=gb(12))
    assert ground.state.spares.spares["n38"].standing is SpareStatus.FAILED
    assert alerts(ground)[-1].startswith("the spare n38 failed test pair with n32: 12 GB/s")
