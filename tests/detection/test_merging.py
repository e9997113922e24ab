"""Findings: one for each cause, from its beginning to its end."""

from collections.abc import Sequence

import numpy as np
import pytest

from accelwatch.detection.evidence import Channel, Evidence, Subject, Weight
from accelwatch.detection.findings import merging
from accelwatch.detection.findings.explaining import Tables
from accelwatch.detection.findings.finding import Finding, Level, Scope
from accelwatch.detection.fusion import fuse as fusion
from accelwatch.detection.tick import Tick
from support.detection.fleets import DEVICES, NODES, START, evidence_against, tick

TABLES = Tables(DEVICES, NODES)
LOST = evidence_against(
    2, 12.0, family="other", weight=Weight.DECISIVE, channel=Channel.HARD, advice="reset"
)


class Detector:
    """Fusion and merging over time."""

    def __init__(self, count: int = 10) -> None:
        self.count = count
        self.fusion = fusion.fresh(START)
        self.merging = merging.fresh()

    def at(
        self, time: float, *evidence: Evidence, maintenance: Sequence[int] = ()
    ) -> tuple[Finding, ...]:
        return self.on(tick(self.count, START + time, maintenance=maintenance), *evidence)

    def on(self, now: Tick, *evidence: Evidence) -> tuple[Finding, ...]:
        self.fusion, fused = fusion.fuse(self.fusion, now, evidence)
        self.merging, changed = merging.merge(self.merging, now, fused, evidence, TABLES)
        return changed


def test_one_device_is_a_finding_of_the_device() -> None:
    (found,) = Detector().at(0, LOST)

    assert (found.level, found.scope, found.node) == (Level.ALERT, Scope.DEVICE, "n001")
    assert (found.device, found.job, found.nodes) == ("nvidia:GPU-2", "4711", ("n001",))
    assert (found.advice, found.channels, found.opened) == ("reset", ("hard",), START)
    assert found.onset == START - 600


def test_all_that_concerns_a_node_is_one_finding() -> None:
    host = evidence_against(1, 8.0, family="host", subject=Subject.NODE)

    (found,) = Detector().at(0, evidence_against([2, 3], 8.5), host)

    assert (found.scope, found.device, found.node) == (Scope.NODE, "", "n001")
    assert found.advice == "exclude"


def test_a_device_that_is_decisive_is_named_although_its_node_suffers() -> None:
    (found,) = Detector().at(0, LOST, evidence_against(1, 8.0, family="host", subject=Subject.NODE))

    assert (found.scope, found.device) == (Scope.DEVICE, "nvidia:GPU-2")


def test_a_finding_that_says_the_same_is_not_reported_again() -> None:
    detector = Detector()
    detector.at(0, LOST)

    assert detector.at(30, LOST) == ()


def test_a_second_device_makes_it_the_nodes() -> None:
    detector = Detector()
    detector.at(0, evidence_against(2, 8.0))

    (found,) = detector.at(30, evidence_against([2, 3], 8.0))

    assert (found.scope, found.device, found.opened, found.updated) == (
        Scope.NODE,
        "",
        START,
        START + 30,
    )
    assert detector.at(60, evidence_against([2, 3], 8.0)) == ()


def test_a_watch_that_rises_is_an_update_and_the_level_does_not_fall() -> None:
    detector = Detector()
    (watch,) = detector.at(0, evidence_against(2, 6.5))
    (alert,) = detector.at(60, evidence_against(2, 9.0))

    assert (watch.level, watch.advice) == (Level.WATCH, "none")
    assert (alert.key, alert.level, alert.opened, alert.updated) == (
        watch.key,
        Level.ALERT,
        START,
        START + 60,
    )
    assert detector.at(90, evidence_against(2, 6.5)) == ()


def test_onset_is_the_earliest_of_what_agrees() -> None:
    detector = Detector()
    detector.at(0, evidence_against(2, 9.0, 300.0))

    (found,) = detector.at(
        60,
        evidence_against(2, 9.0, 360.0),
        evidence_against(2, 5.0, 3600.0, family="clock", channel=Channel.DRIFT),
    )

    assert found.onset == START - 3600
    assert found.channels == ("peer", "drift")


def test_a_finding_ends_and_comes_back_as_the_same_within_an_hour() -> None:
    detector = Detector()
    detector.at(0, LOST)
    detector.at(30)
    (ended,) = detector.at(330)
    assert ended.cleared == START + 330

    (again,) = detector.at(330 + 3599, LOST)
    assert (again.opened, again.cleared, again.updated) == (START, None, START + 3929)


def test_after_an_hour_it_is_another() -> None:
    detector = Detector()
    detector.at(0, LOST)
    detector.at(30)
    detector.at(330)

    (again,) = detector.at(330 + 3600, LOST)
    assert again.opened == START + 3930


def test_an_alert_does_not_come_back_for_a_look() -> None:
    detector = Detector()
    detector.at(0, LOST)
    detector.at(30)
    detector.at(330)

    assert detector.at(600, evidence_against(2, 6.5)) == ()


def test_maintenance_mutes_and_ends() -> None:
    detector = Detector()
    assert detector.at(0, LOST, maintenance=[1]) == ()
    detector.at(30, LOST)

    (ended,) = detector.at(60, LOST, maintenance=[1])
    assert ended.cleared == START + 60


@pytest.mark.parametrize(
    ("family", "key", "scope", "advice"),
    [
        ("fabric", "group/fabric", Scope.GROUP, "wait"),
        ("storage", "group/storage", Scope.GROUP, "wait"),
        ("thermal", "group/cooling", Scope.GROUP, "wait"),
        ("scrape", "group/monitoring", Scope.GROUP, "wait"),
        ("power", "job/4711", Scope.JOB, "none"),
    ],
)
def test_many_nodes_at_once_are_one_finding_that_blames_nobody(
    family: str, key: str, scope: Scope, advice: str
) -> None:
    evidence = evidence_against([0, 2, 4], 9.0, family=family, advice="exclude")

    (found,) = Detector().at(0, evidence)

    assert (found.key, found.scope, found.advice, found.node) == (key, scope, advice, "")
    assert (found.job, found.nodes) == ("4711", ("n000", "n001", "n002"))
    assert found.family == family


@pytest.mark.parametrize(("count", "rows"), [(10, [0, 2]), (15, [0, 2, 4])])
def test_few_nodes_are_findings_of_their_own(count: int, rows: list[int]) -> None:
    found = Detector(count).at(0, evidence_against(rows, 9.0))

    assert [each.scope for each in found] == [Scope.DEVICE] * len(rows)


def test_three_nodes_of_many_share_what_their_family_names() -> None:
    (found,) = Detector(60).at(0, evidence_against([0, 2, 4], 9.0, family="thermal"))
    assert (found.key, found.advice) == ("group/cooling", "wait")


@pytest.mark.parametrize(
    ("rows", "score", "family", "key"),
    [
        ([2, 4], 5.0, "thermal", "group/cooling"),
        ([2], 5.0, "thermal", "node/n000"),
        ([2, 4], 4.9, "thermal", "node/n000"),
        # What a job's nodes share has no name, so that each has to be accused.
        ([2, 4], 5.0, "clock", "node/n000"),
    ],
)
def test_the_first_of_a_row_that_gets_hot_is_not_to_blame(
    rows: list[int], score: float, family: str, key: str
) -> None:
    first, others = (
        evidence_against(0, 9.0, family=family),
        evidence_against(rows, score, 60.0, family=family),
    )
    (found,) = Detector(60).at(0, first, others)
    assert found.key == key


@pytest.mark.parametrize(
    ("family", "lasted_s", "weight", "advice"),
    [
        # Air heats slowly: the next nodes of a row come within half an hour of the first.
        ("thermal", 1770.0, Weight.STATISTICAL, "none"),
        ("thermal", 1800.0, Weight.STATISTICAL, "exclude"),
        ("thermal", 1770.0, Weight.DECISIVE, "none"),
        ("fabric", 270.0, Weight.STATISTICAL, "none"),
        ("fabric", 300.0, Weight.STATISTICAL, "exclude"),
        ("clock", 240.0, Weight.STATISTICAL, "exclude"),
    ],
)
def test_who_may_be_the_first_of_many_is_not_taken_out_before_they_would_have_followed(
    family: str, lasted_s: float, weight: Weight, advice: str
) -> None:
    advised = "exclude" if weight is Weight.DECISIVE else ""
    first = evidence_against(0, 12.0, lasted_s, family=family, weight=weight, advice=advised)
    # What follows from it lasts as long: two families are an alert.
    follows = evidence_against(0, 9.0, lasted_s, family="compute")

    (found,) = Detector(60).at(0, first, follows)

    assert (found.level, found.advice) == (Level.ALERT, advice)


@pytest.mark.parametrize(("hot", "advice"), [([0], "exclude"), ([], "exclude"), ([0, 1], "none")])
def test_one_hot_device_beside_others_that_are_well_shares_no_air(
    hot: list[int], advice: str
) -> None:
    now = tick(60)
    now.devices.z[2] = 0.0
    # Of two devices both, by 5 over the square root of two.
    now.devices.z[2, hot] = 3.6
    (found,) = Detector(60).on(now, evidence_against(0, 9.0, 600.0, family="thermal"))
    assert (found.node, found.advice) == ("n000", advice)


@pytest.mark.parametrize(
    ("nodes", "heat", "watts", "ticks", "level"),
    [
        (3, 3.6, 0.0, 5, Level.ALERT),
        # Not for two minutes yet.
        (3, 3.6, 0.0, 4, None),
        (2, 3.6, 0.0, 5, None),
        (3, 3.5, 0.0, 5, None),
        # They do more, and are warmer by that.
        (3, 3.6, 2.5, 5, None),
    ],
)
def test_whole_nodes_that_get_warm_together_share_their_cooling_before_one_is_hot(
    nodes: int, heat: float, watts: float, ticks: int, level: Level | None
) -> None:
    detector = Detector(60)
    for at in range(ticks):
        now = tick(60, START + 30.0 * at)
        now.devices.z[:] = 0.0
        now.devices.z[2, : 2 * nodes], now.devices.z[0, : 2 * nodes] = heat, watts
        found = detector.on(now)
    assert [(each.key, each.level, each.advice) for each in found] == (
        [] if level is None else [("group/cooling", level, "wait")]
    )
    assert all(each.nodes == ("n000", "n001", "n002") for each in found)


@pytest.mark.parametrize(
    ("nodes", "risen", "maintenance", "keys"),
    [
        (3, 4.0, (), ["group/cooling"]),
        (3, 3.9, (), []),
        (2, 12.0, (), []),
        (3, 12.0, (0,), []),
    ],
)
def test_nodes_that_become_warmer_together_share_their_cooling_whatever_is_learned_of_them(
    nodes: int, risen: float, maintenance: tuple[int, ...], keys: list[str]
) -> None:
    warmed = np.where(np.arange(60) < nodes, risen, 0.0)
    now = tick(60, maintenance=maintenance)._replace(warmed=warmed)
    assert [each.key for each in Detector(60).on(now)] == keys


@pytest.mark.parametrize(("left", "ends"), [(2.0, False), (1.9, True)])
def test_nodes_that_became_warmer_are_so_until_they_are_half_back(left: float, ends: bool) -> None:
    detector = Detector(60)
    warmed = np.where(np.arange(60) < 3, 4.0, 0.0)
    detector.on(tick(60)._replace(warmed=warmed))

    now = tick(60, START + 30)._replace(warmed=np.where(warmed > 0, left, 0.0))
    assert [each.cleared is not None for each in detector.on(now)] == [True] * ends


@pytest.mark.parametrize(("after", "ends"), [(1770, False), (1800, True)])
def test_a_job_that_saves_ends_no_heat_of_its_row_for_half_an_hour(after: int, ends: bool) -> None:
    detector = Detector(60)
    warmed = np.where(np.arange(60) < 3, 4.0, 0.0)
    detector.on(tick(60)._replace(warmed=warmed))

    unknown = np.full(60, np.nan)
    for time in range(30, after, 30):
        assert detector.on(tick(60, START + time)._replace(warmed=unknown)) == ()
    found = detector.on(tick(60, START + after)._replace(warmed=unknown))
    assert [each.cleared is not None for each in found] == [True] * ends


@pytest.mark.parametrize(("risen", "advice"), [(2.5, "none"), (2.4, "exclude")])
def test_who_gets_too_hot_in_a_node_that_becomes_warmer_may_be_the_first(
    risen: float, advice: str
) -> None:
    now = tick(60)._replace(warmed=np.full(60, risen))
    now.devices.z[:] = 0.0
    (found,) = Detector(60).on(now, evidence_against(0, 9.0, 600.0, family="thermal"))
    assert found.advice == advice


def test_nodes_of_a_warm_row_say_as_well_that_their_fabric_is_shared() -> None:
    detector = Detector(60)
    for at in range(5):
        now = tick(60, START + 30.0 * at)
        now.devices.z[:] = 0.0
        now.devices.z[2, :6] = 12.0
        detector.on(now)
    # One is accused; two that are warm differ in the same way.
    slow = evidence_against(5, 9.0, 600.0, family="fabric", subject=Subject.NODE, now=now.frame.now)
    hinted = evidence_against(
        [0, 1], 5.5, 60.0, family="fabric", subject=Subject.NODE, now=now.frame.now
    )
    assert [found.key for found in detector.on(now, slow, hinted)] == ["group/fabric"]


@pytest.mark.parametrize(
    ("family", "keys"), [("clock", ["group/cooling"]), ("nvlink", ["group/cooling", "node/n000"])]
)
def test_a_warm_node_that_slows_down_is_one_of_its_row(family: str, keys: list[str]) -> None:
    detector = Detector(60)
    for at in range(5):
        now = tick(60, START + 30.0 * at)
        now.devices.z[:] = 0.0
        now.devices.z[2, :6] = 3.6
        slow = evidence_against(0, 9.0, 600.0, family=family, now=now.frame.now)
        found = detector.on(now, slow) if at == 4 else detector.on(now)
    assert [each.key for each in found] == keys


def test_warm_nodes_in_maintenance_are_no_warm_row() -> None:
    detector = Detector(60)
    for at in range(20):
        now = tick(60, START + 30.0 * at, maintenance=[0])
        now.devices.z[:] = 0.0
        now.devices.z[2, :6] = 12.0
        assert detector.on(now) == ()


def test_one_warm_device_of_each_node_is_no_warm_row() -> None:
    detector = Detector(60)
    for at in range(20):
        now = tick(60, START + 30.0 * at)
        now.devices.z[:] = 0.0
        now.devices.z[2, :20:2] = 12.0
        assert detector.on(now) == ()


def test_who_is_hot_and_has_another_fault_is_taken_out_at_once() -> None:
    hot, broken = (
        evidence_against(0, 9.0, 600.0, family=family) for family in ("thermal", "nvlink")
    )
    (found,) = Detector(60).at(0, hot, broken)
    assert found.advice == "exclude"


def test_who_stays_hot_alone_is_taken_out_in_the_end() -> None:
    detector = Detector(60)
    (found,) = detector.at(0, evidence_against(0, 9.0, 600.0, family="thermal"))
    assert found.advice == "none"

    (risen,) = detector.at(
        1200, evidence_against(0, 9.0, 1800.0, now=START + 1200, family="thermal")
    )
    assert (risen.key, risen.advice) == (found.key, "exclude")


def test_what_only_confirms_excuses_nobody() -> None:
    first = evidence_against(0, 9.0, family="thermal")
    others = evidence_against([2, 4], 9.0, 60.0, family="thermal", weight=Weight.CONFIRMING)
    (found,) = Detector(60).at(0, first, others)
    assert found.key == "node/n000"


def test_nodes_that_are_only_warm_are_no_finding() -> None:
    assert Detector(60).at(0, evidence_against([0, 2, 4], 5.0, 60.0, family="thermal")) == ()


def test_nodes_that_follow_one_another_slowly_have_no_common_cause() -> None:
    detector = Detector()
    for time, rows in ((0, [0]), (301, [0, 2]), (602, [0, 2, 4])):
        (found,) = detector.at(time, evidence_against(rows, 9.0))
        assert found.scope is Scope.DEVICE


@pytest.mark.parametrize(
    ("apart_s", "family", "is_one"),
    [
        # Air heats slowly, and each node reaches its own level at another time.
        (890, "thermal", True),
        (910, "thermal", False),
        (145, "storage", True),
        (155, "storage", False),
    ],
)
def test_nodes_that_heat_one_after_another_have_a_common_cause(
    apart_s: float, family: str, is_one: bool
) -> None:
    detector = Detector(60)
    for time, rows in ((0.0, [0]), (apart_s, [0, 2]), (2 * apart_s, [0, 2, 4])):
        detector.at(time, evidence_against(rows, 9.0, family=family))
    scopes = {found.scope for found in detector.merging.open.values()}
    assert (scopes == {Scope.GROUP}) is is_one


def test_nodes_of_different_parts_of_a_job_share_their_cooling() -> None:
    now = tick(60)
    half = now.devices.groups._replace(
        code=np.arange(120) % 4 // 2,
        size=np.array([80, 40]),
        nodes=np.array([40, 20]),
        job=np.array([0, 0]),
        comparable=np.array([True, True]),
    )
    now = now._replace(devices=now.devices._replace(groups=half))
    (found,) = Detector(60).on(now, evidence_against([0, 2, 4], 9.0, family="thermal"))
    assert found.key == "group/cooling"


def test_findings_of_members_become_part_of_the_groups() -> None:
    detector = Detector()
    detector.at(0, evidence_against([0, 2], 9.0))

    changed = {found.key: found for found in detector.at(60, evidence_against([0, 2, 4], 9.0))}

    assert changed["node/n000"].cleared == changed["node/n001"].cleared == START + 60
    assert changed["job/4711"].nodes == ("n000", "n001", "n002")
    (grown,) = detector.at(900, evidence_against([0, 2, 4, 6], 9.0))
    assert (grown.opened, len(grown.nodes)) == (START + 60, 4)


def test_what_a_group_does_not_explain_stays_the_nodes() -> None:
    changed = Detector().at(0, evidence_against([0, 2, 4], 9.0, family="fabric"), LOST)

    assert [found.key for found in changed] == ["group/fabric", "node/n001"]
    assert changed[1].advice == "reset"


@pytest.mark.parametrize(("score", "level"), [(6.5, Level.WATCH), (9.0, Level.ALERT)])
def test_a_fault_of_one_node_makes_no_alert_of_its_group(score: float, level: Level) -> None:
    slow = evidence_against([0, 2, 4], score, family="fabric")

    found = {each.key: each.level for each in Detector(60).at(0, slow, LOST)}

    assert found == {"group/fabric": level, "node/n001": Level.ALERT}


@pytest.mark.parametrize(
    ("shared", "own", "weight", "keys"),
    [
        ("thermal", "clock", Weight.STATISTICAL, ["group/cooling"]),  # it slows down for heat
        ("fabric", "compute", Weight.STATISTICAL, ["group/fabric"]),  # it waits
        ("storage", "power", Weight.STATISTICAL, ["group/storage"]),
        ("fabric", "clock", Weight.STATISTICAL, ["group/fabric", "node/n001"]),
        ("thermal", "clock", Weight.DECISIVE, ["group/cooling", "node/n001"]),
        ("thermal", "nvlink", Weight.STATISTICAL, ["group/cooling", "node/n001"]),
    ],
)
def test_what_follows_from_what_nodes_share_is_no_fault_of_one(
    shared: str, own: str, weight: Weight, keys: list[str]
) -> None:
    evidence = (
        evidence_against([0, 2, 4], 9.0, family=shared),
        evidence_against(2, 9.0, family=own, weight=weight),
    )

    assert [found.key for found in Detector(60).at(0, *evidence)] == keys


@pytest.mark.parametrize(
    ("family", "score", "lasted_s", "level"),
    [
        ("clock", 8.0, 240.0, Level.ALERT),
        ("clock", 8.0, 239.0, Level.WATCH),
        ("clock", 7.9, 600.0, Level.WATCH),
        # The work of a device may differ for a while.
        ("host", 8.0, 599.0, Level.WATCH),
        ("host", 8.0, 600.0, Level.ALERT),
    ],
)
def test_what_a_group_does_not_explain_is_as_much_as_without_it(
    family: str, score: float, lasted_s: float, level: Level
) -> None:
    shared = evidence_against([0, 2, 4], 9.0, family="fabric")
    # Power is explained: it waits.
    own = evidence_against(2, 9.0, 600.0), evidence_against(2, score, lasted_s, family=family)

    found = {each.key: each for each in Detector(60).at(0, shared, *own)}

    assert found["node/n001"].level is level


@pytest.mark.parametrize(("after_s", "key"), [(1800, "group/cooling"), (1830, "node/n005")])
def test_who_gets_too_hot_last_shares_the_cooling_that_others_have_back(
    after_s: float, key: str
) -> None:
    detector = Detector(60)
    detector.at(0, evidence_against([0, 2, 4], 9.0, family="thermal"))
    late = evidence_against(
        10, 12.0, family="thermal", weight=Weight.DECISIVE, channel=Channel.HARD, advice="exclude"
    )
    detector.at(after_s, late)

    assert key in {found.key for found in detector.merging.open.values() if "n005" in found.nodes}


def hang(time: float = 0.0) -> Evidence:
    return evidence_against(
        0,
        9.0,
        now=START + time,
        family="hang",
        subject=Subject.JOB,
        weight=Weight.DECISIVE,
        channel=Channel.HANG,
        advice="restart",
    )


def test_a_hang_is_one_finding_of_the_job_with_its_culprit() -> None:
    culprit = evidence_against([7, 3], 9.0, channel=Channel.HANG, weight=Weight.CONFIRMING)
    culprit.score[1] = 4.0

    (found,) = Detector().at(0, hang(), evidence_against([0, 2, 4, 6, 8], 9.0), culprit)

    assert (found.key, found.scope, found.job) == ("job/4711", Scope.JOB, "4711")
    assert (found.node, found.nodes[0], len(found.nodes)) == ("n003", "n003", 10)
    assert found.advice == "restart"


def test_the_culprit_of_a_hang_may_be_known_by_its_broken_hardware() -> None:
    changed = {found.key: found for found in Detector().at(0, hang(), LOST)}

    assert changed["job/4711"].node == "n001"
    assert changed["node/n001"].advice == "reset"


def silent_node(node: int) -> Evidence:
    """A node of the job that hangs misses samples."""
    return evidence_against(
        node,
        12.0,
        family="other",
        subject=Subject.NODE,
        channel=Channel.HANG,
        weight=Weight.DECISIVE,
        cause="node_silent",
    )


@pytest.mark.parametrize(
    ("before_s", "culprit"),
    # Broken as the job stopped, and long before that.
    [(299.0, "n001"), (301.0, "n004")],
)
def test_broken_hardware_goes_before_a_node_that_misses_samples(
    before_s: float, culprit: str
) -> None:
    stopped = hang()
    broke = evidence_against(2, 12.0, weight=Weight.DECISIVE, channel=Channel.HARD, advice="reset")
    broke = broke._replace(since=stopped.since - before_s)

    changed = {found.key: found for found in Detector().at(0, stopped, broke, silent_node(4))}

    assert changed["job/4711"].node == culprit


def test_a_device_at_rest_goes_before_broken_hardware() -> None:
    idle = evidence_against(7, 12.0, family="compute", channel=Channel.HANG, weight=Weight.DECISIVE)
    broke = LOST._replace(since=hang().since)

    changed = {found.key: found for found in Detector().at(0, hang(), broke, idle)}

    assert changed["job/4711"].node == "n003"


def test_what_only_differs_does_not_go_before_a_silent_node() -> None:
    differs = evidence_against(2, 9.0)._replace(since=hang().since)

    (found,) = Detector().at(0, hang(), differs, silent_node(4))

    assert found.node == "n004"


def silent_server(rows: Sequence[int], time: float = 0.0, lasted_s: float = 60.0) -> Evidence:
    return evidence_against(
        rows,
        8.0,
        lasted_s,
        now=START + time,
        family="storage",
        subject=Subject.NODE,
        weight=Weight.CONFIRMING,
        channel=Channel.LOG,
        advice="wait",
        cause="nfs_not_responding",
    )


def test_a_job_that_hangs_for_its_storage_waits_for_it() -> None:
    (found,) = Detector().at(0, hang(), silent_server(range(10)), evidence_against(2, 9.0))

    assert (found.key, found.scope, found.level) == ("group/storage", Scope.GROUP, Level.ALERT)
    assert (found.advice, found.node, found.job, len(found.nodes)) == ("wait", "", "4711", 10)
    assert found.sentence.startswith("10 nodes of job 4711 wait for storage together")


@pytest.mark.parametrize("rows", [[0, 1], []])
def test_a_job_of_which_few_wait_for_storage_hangs(rows: list[int]) -> None:
    keys = [found.key for found in Detector().at(0, hang(), silent_server(rows))]

    assert keys == ["job/4711"]


def test_storage_that_is_known_later_explains_the_hang() -> None:
    detector = Detector()
    detector.at(0, hang())

    changed = {
        found.key: found for found in detector.at(60, hang(60), silent_server(range(10), 60))
    }

    assert changed["job/4711"].cleared == START + 60
    assert changed["group/storage"].advice == "wait"
    detector.at(90)
    assert [found.key for found in detector.at(390)] == ["group/storage"]
    assert detector.merging.open == {}


def test_many_that_wait_for_storage_are_an_alert_of_the_group_after_minutes() -> None:
    detector = Detector()
    (watch,) = detector.at(0, silent_server(range(10), lasted_s=210.0))
    (alert,) = detector.at(30, silent_server(range(10), 30, 240.0))

    assert (watch.level, alert.level) == (Level.WATCH, Level.ALERT)
    assert (alert.key, alert.advice) == ("group/storage", "wait")


def test_many_that_their_recorder_does_not_read_are_no_alert() -> None:
    slow = evidence_against(range(10), 8.0, 599.0, family="scrape", subject=Subject.NODE)

    (found,) = Detector().at(0, slow)

    assert (found.key, found.level) == ("group/monitoring", Level.WATCH)


def test_what_nodes_suffer_since_they_wait_is_no_finding_of_the_job() -> None:
    suffers = evidence_against([0, 2, 4, 6], 9.0)

    keys = {
        found.key for found in Detector().at(0, silent_server(range(10), lasted_s=300), suffers)
    }

    assert keys == {"group/storage"}


def test_what_other_nodes_suffer_is_a_finding_of_the_job() -> None:
    waits, suffers = silent_server([0, 1, 2], lasted_s=300), evidence_against([8, 10, 12, 14], 9.0)

    keys = {found.key for found in Detector().at(0, waits, suffers)}

    assert keys == {"group/storage", "job/4711"}


def test_a_hang_without_a_culprit_names_nobody() -> None:
    (found,) = Detector().at(0, hang())

    assert (found.node, found.nodes[0]) == ("", "n000")


def test_broken_hardware_stays_a_finding_while_its_job_hangs() -> None:
    detector = Detector()
    detector.at(0, LOST)

    changed = detector.at(
        60, hang(60), evidence_against([2, 3], 12.0, now=START + 60, channel=Channel.RELATION)
    )

    assert [found.key for found in changed] == ["job/4711"]
    assert detector.merging.open["node/n001"].device == "nvidia:GPU-2"


def test_others_that_differ_since_a_device_has_failed_are_not_to_blame() -> None:
    (found,) = Detector().at(0, LOST, evidence_against([2, 3], 12.0))

    assert (found.scope, found.device) == (Scope.DEVICE, "nvidia:GPU-2")


def test_a_level_that_has_not_ended_keeps_a_finding_and_opens_none() -> None:
    detector = Detector()
    detector.at(0, hang(), evidence_against(4, 9.0))
    detector.at(30)
    (ended,) = detector.at(330)
    assert ended.key == "job/4711"

    detector = Detector()
    detector.at(0, evidence_against(4, 9.0))
    assert detector.at(30) == ()
    assert detector.at(300) == ()
    (ended,) = detector.at(330)
    assert ended.cleared == START + 330


def test_a_group_lasts_as_long_as_levels_of_members_do() -> None:
    detector = Detector()
    detector.at(0, evidence_against([0, 2, 4], 9.0, family="fabric"))
    assert detector.at(30) == ()
    assert detector.at(60, evidence_against([0, 2], 9.0, family="fabric")) == ()
    detector.at(90)

    (ended,) = detector.at(390)
    assert (ended.key, ended.cleared) == ("group/fabric", START + 390)


def test_scores_are_clipped() -> None:
    (found,) = Detector().at(0, evidence_against(2, 140.0))
    assert found.score == 12.0


def test_the_culprit_of_a_hang_has_no_finding_beside_the_jobs() -> None:
    culprit = evidence_against(
        7, 12.0, family="other", channel=Channel.HANG, weight=Weight.DECISIVE
    )

    (found,) = Detector().at(0, hang(), culprit)

    assert (found.key, found.node) == ("job/4711", "n003")


def test_who_still_suffers_when_the_others_are_well_has_another_reason() -> None:
    detector = Detector()
    detector.at(0, evidence_against([0, 2, 4], 9.0, family="fabric"))
    assert detector.at(300, evidence_against([0], 9.0, family="fabric")) == ()

    (own,) = detector.at(330, evidence_against([0], 9.0, family="fabric"))
    assert (own.key, own.advice) == ("node/n000", "exclude")

    (ended,) = detector.at(600, evidence_against([0], 9.0, family="fabric"))
    assert (ended.key, ended.cleared) == ("group/fabric", START + 600)


def test_a_fault_after_a_groups_is_the_nodes() -> None:
    detector = Detector()
    detector.at(0, evidence_against([0, 2, 4], 9.0))
    detector.at(30)

    changed = detector.at(310, evidence_against([8], 9.0))

    assert [found.key for found in changed] == ["node/n004"]


@pytest.mark.parametrize(
    ("channel", "advice"), [(Channel.PEER, "restart"), (Channel.HARD, "exclude")]
)
def test_what_an_application_did_is_no_reason_to_leave(channel: Channel, advice: str) -> None:
    crashed = evidence_against(
        2, 6.0, family="other", weight=Weight.CONFIRMING, channel=Channel.LOG, advice="restart"
    )
    detector = Detector()
    weight = Weight.DECISIVE if channel is Channel.HARD else Weight.STATISTICAL
    numbers = evidence_against(
        2,
        9.0,
        channel=channel,
        weight=weight,
        advice="exclude" if weight is Weight.DECISIVE else "",
    )
    detector.at(0, numbers)

    (found,) = detector.at(60, numbers, crashed)

    assert found.advice == advice


def test_an_alert_that_comes_of_a_look_at_a_node_is_about_its_device() -> None:
    detector = Detector()
    (watch,) = detector.at(0, evidence_against(1, 6.0, family="host", subject=Subject.NODE))
    (alert,) = detector.at(30, LOST)

    assert (watch.scope, watch.device) == (Scope.NODE, "")
    assert (alert.key, alert.scope, alert.device) == (watch.key, Scope.DEVICE, "nvidia:GPU-2")


@pytest.mark.parametrize(
    ("score", "level"),
    [(9.0, Level.ALERT), (6.0, Level.WATCH)],
    ids=["strong", "strong enough to look"],
)
def test_a_level_that_a_node_has_by_its_group_makes_nothing_else_an_alert(
    score: float, level: Level
) -> None:
    slow = [
        evidence_against(row, 9.0, 600.0, family="fabric", subject=Subject.NODE) for row in range(3)
    ]
    detector = Detector(60)
    assert [each.key for each in detector.at(0, *slow)] == ["group/fabric"]

    # Its fabric is not read any more, and its level has not ended.
    host = evidence_against(
        0,
        score,
        600.0,
        now=START + 330,
        family="host",
        subject=Subject.NODE,
        weight=Weight.CONFIRMING if score < 8.0 else Weight.STATISTICAL,
    )
    (found,) = [each for each in detector.at(330, host) if each.node]
    assert (found.node, found.level) == ("n000", level)
