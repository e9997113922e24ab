"""The scorer of benchmarks/detection on incidents and truth written by hand, both sides of each term."""

from typing import Any

import pytest

from accelwatch.alerting.rules.document import Advice
from accelwatch.archive.history.rows import MaintenanceRow
from accelwatch.fleet.backtest.line import Line
from scoring.matching import episodes, false_alarms, finding, first_about
from scoring.measures import group_of, has_strong_precursor, table
from scoring.poisson import interval
from scoring.report import surface_text, text
from scoring.results import Outcome, Result, judge
from scoring.surface import fail_slow_curve, precursor_surface
from traces.classes import CLASSES
from traces.truth import Fault

_ONSET = 100_000.0


def _line(opened: float, **fields: Any) -> Line:
    given: dict[str, Any] = {
        "opened": _ONSET + opened,
        "closed": None,
        "level": "alert",
        "scope": "node",
        "node": "n1",
        "device": None,
        "job": None,
        "nodes": [],
        "rule": "a",
        "channels": [],
        "advice": Advice.NONE,
        "explanation": [],
    }
    return Line(**(given | fields))


def _fault(kind: str = "off_bus", **fields: Any) -> Fault:
    given: dict[str, Any] = {
        "kind": kind,
        "scope": CLASSES[kind].scope,
        "onset": _ONSET,
        "end": _ONSET + 7200.0,
    }
    if given["scope"] == "group":
        given["nodes"] = ["n1", "n2", "n3"]
    else:
        given["node"] = "n1"
    return Fault(**(given | fields))


def _found(fault: Fault, *lines: Line) -> float | None:
    line = finding(fault, lines)
    return None if line is None else line.opened - _ONSET


def test_known_intervals_of_poisson_rates() -> None:
    # Garwood: 0 events up to 3.689, 10 events from 4.795 to 18.39; 46 in 55 days are 0.61 to 1.12.
    assert interval(0, 1.0) == pytest.approx((0.0, 3.6889), abs=1e-3)
    assert interval(10, 1.0) == pytest.approx((4.7954, 18.3904), abs=1e-3)
    assert interval(46, 55.0) == pytest.approx((0.61, 1.12), abs=0.005)
    assert interval(1, 1.0, 0.90) == pytest.approx((0.0513, 4.7439), abs=1e-3)


# What finds a fault.


@pytest.mark.parametrize(
    ("opened", "found"), [(-1.0, None), (0.0, 0.0), (600.0, 600.0), (601.0, None)]
)
def test_found_from_the_onset_to_ten_minutes_after(opened: float, found: float | None) -> None:
    assert _found(_fault(), _line(opened)) == found


@pytest.mark.parametrize(("opened", "found"), [(-301.0, None), (-300.0, -300.0)])
def test_found_from_the_start_of_a_precursor(opened: float, found: float | None) -> None:
    fault = _fault(precursor_start=_ONSET - 300.0, precursor_strength=10.0, precursor_unit="sd")
    assert _found(fault, _line(opened)) == found


def test_the_first_alert_finds_it() -> None:
    assert _found(_fault(), _line(90), _line(30), _line(60)) == 30


def test_only_alerts_on_its_own_node_find_it() -> None:
    assert _found(_fault(), _line(30, node="n2")) is None
    assert _found(_fault(), _line(30, node=None, nodes=["n2", "n1"])) is None
    assert _found(_fault(), _line(30, node=None, nodes=["n1", "n2"])) == 30


def test_a_group_alert_does_not_find_the_fault_of_a_node() -> None:
    assert _found(_fault(), _line(30, scope="group", node=None, nodes=["n1", "n2"])) is None


def test_a_watch_finds_nothing() -> None:
    outcome = judge([_line(30, level="watch")], [_fault()], [], 1.0)
    assert outcome.results[0].opened is None
    assert outcome.watches == 1
    assert outcome.false_alarms == 0


def test_a_hang_is_found_by_its_job_or_by_its_culprit() -> None:
    fault = _fault("hang", job="7")
    assert _found(fault, _line(30, scope="job", node=None, job="7", nodes=["n5"])) == 30
    assert _found(fault, _line(30, scope="job", node=None, job="8", nodes=["n5"])) is None
    assert _found(fault, _line(30, scope="device", job="8")) == 30


def test_the_job_does_not_find_the_fault_of_a_device() -> None:
    assert _found(_fault(job="7"), _line(30, scope="job", node=None, job="7")) is None
    assert _found(_fault(job="7"), _line(30, scope="job", node="n1", job="7")) == 30


def test_a_group_fault_is_found_by_a_group_or_job_with_its_nodes() -> None:
    fault = _fault("storage")
    assert _found(fault, _line(30, scope="group", node=None, nodes=["n9", "n2"])) == 30
    assert _found(fault, _line(30, scope="job", node=None, nodes=["n2"])) == 30
    assert _found(fault, _line(30, scope="group", node=None, nodes=["n9"])) is None
    assert _found(fault, _line(30, node="n1")) is None


# Early, delays, the right node.


def _result(fault: Fault, opened: float | None) -> Result:
    return Result(fault, None if opened is None else _ONSET + opened, None)


def test_early_is_before_both_the_onset_and_the_xid() -> None:
    before_xid = _fault(xid="79", xid_time=_ONSET - 50.0)
    after_xid = _fault(xid="79", xid_time=_ONSET + 50.0)
    assert _result(_fault(), -1).is_early
    assert not _result(_fault(), 0).is_early
    assert not _result(_fault(), None).is_early
    assert not _result(before_xid, -1).is_early
    assert _result(before_xid, -51).is_early
    assert not _result(after_xid, 10).is_early


def test_delays_are_of_what_was_found_after_the_onset() -> None:
    assert _result(_fault(), 45).delay == 45
    assert _result(_fault(), -45).delay is None
    assert _result(_fault(), None).delay is None


def test_delays_are_by_hard_and_numeric_classes() -> None:
    results = [
        _result(_fault(kind), delay)
        for kind, delay in (("off_bus", 20), ("gsp", 40), ("hang", 60), ("slow_clock", 300))
    ]
    delays = table([Outcome(results, 0, 0, 1.0)]).delays
    assert delays == {"hard": (40, 60), "numeric": (300, 300), "hang": (60, 60)}


def test_the_right_node_is_that_of_the_first_alert_about_it() -> None:
    fault = _fault(job="7")
    wrong = _line(20, scope="job", node="n2", job="7", nodes=["n2", "n1"])
    assert first_about(fault, [_line(30), wrong]) is wrong
    assert judge([_line(30), wrong], [fault], [], 1.0).results[0].right is False
    assert judge([_line(30)], [fault], [], 1.0).results[0].right is True
    assert judge([_line(30, node="n2")], [fault], [], 1.0).results[0].right is None
    listed = _line(30, scope="job", node=None, nodes=["n1", "n2"])
    assert judge([listed], [fault], [], 1.0).results[0].right is True
    late = _line(601, scope="job", node="n2", job="7")
    assert judge([late], [fault], [], 1.0).results[0].right is None


@pytest.mark.parametrize(
    ("line", "others", "right"),
    [
        # Another device that is broken since yesterday, a fault of many, another that stops the job now.
        ({"node": "n2"}, [{"node": "n2", "onset": _ONSET - 86_400.0}], True),
        ({"scope": "group", "node": None, "nodes": ["n2", "n1"]}, [{"kind": "storage"}], True),
        ({"scope": "job", "node": "n2"}, [{"node": "n2"}], True),
        # Nobody else is broken; who is slow since yesterday has not stopped a job; it was over.
        ({"node": "n2"}, [], False),
        ({"node": "n2"}, [{"node": "n3"}], False),
        ({"scope": "job", "node": "n2"}, [{"node": "n2", "onset": _ONSET - 86_400.0}], False),
        ({"node": "n2"}, [{"node": "n2", "onset": _ONSET - 99.0, "end": _ONSET}], False),
    ],
)
def test_what_is_reported_of_another_fault_is_not_about_this_one(
    line: dict[str, Any], others: list[dict[str, Any]], right: bool
) -> None:
    fault = _fault(job="7")
    faults = [fault, *(_fault(**each) for each in others)]
    lines = [_line(20, job="7", **line), _line(30)]
    assert judge(lines, faults, [], 1.0).results[0].right is right


@pytest.mark.parametrize(
    ("strength", "unit", "lasts", "strong"),
    [
        (8.0, "sd", 600, True),
        (7.9, "sd", 600, False),
        (8.0, "sd", 599, False),
        (10.0, "rate", 600, True),
        (9.9, "rate", 600, False),
    ],
)
def test_strong_precursors(strength: float, unit: str, lasts: float, strong: bool) -> None:
    fault = _fault(precursor_start=_ONSET - lasts, precursor_strength=strength, precursor_unit=unit)
    assert has_strong_precursor(fault) is strong
    assert not has_strong_precursor(_fault())


# False alarms.


def _false(*lines: Line, faults: list[Fault] | None = None, windows: Any = ()) -> int:
    return len(false_alarms(lines, faults or [], list(windows)))


def test_alerts_of_a_node_within_an_hour_of_one_another_are_one() -> None:
    assert _false(_line(0), _line(3600)) == 1
    assert _false(_line(0), _line(3601)) == 2
    assert _false(_line(0), _line(3600), _line(7200)) == 1
    assert _false(_line(0), _line(60, node="n2")) == 2


def test_alerts_of_a_job_merge_by_job_and_a_group_counts_once() -> None:
    jobs = [
        _line(at, scope="job", node=None, job=job) for at, job in ((0, "7"), (9, "7"), (9, "8"))
    ]
    assert _false(*jobs) == 2
    assert _false(_line(0, scope="group", node=None, nodes=["n1", "n2", "n3"])) == 1
    assert len(episodes(jobs)) == 2


def test_an_alert_on_a_node_with_a_fault_is_not_false() -> None:
    assert _false(_line(7200), faults=[_fault()]) == 0
    assert _false(_line(7201), faults=[_fault()]) == 1
    assert _false(_line(-1), faults=[_fault()]) == 1
    assert _false(_line(-1), faults=[_fault(precursor_start=_ONSET - 1.0)]) == 0
    assert _false(_line(30, node="n2"), faults=[_fault(job="7")]) == 1


def test_an_episode_that_started_before_and_reaches_into_a_fault_is_not_false() -> None:
    assert _false(_line(-60), _line(60), faults=[_fault()]) == 0


def test_a_job_or_group_with_a_fault_is_not_false() -> None:
    job = _line(30, scope="job", node=None, job="7")
    assert _false(job, faults=[_fault(job="7")]) == 0
    assert _false(job, faults=[_fault(job="8")]) == 1
    group = _line(30, scope="group", node=None, nodes=["n1", "n9"])
    assert _false(group, faults=[_fault("storage")]) == 0
    assert _false(group, faults=[_fault("storage", nodes=["n2"])]) == 1
    assert _false(_line(30), faults=[_fault("storage")]) == 0


def test_a_job_that_nobody_knows_is_not_the_one_with_the_fault() -> None:
    unknown = _line(30, scope="job", node=None, job=None)
    assert _false(unknown, faults=[_fault(job=None)]) == 1
    assert _found(_fault("hang", job=None), unknown) is None
    # By its nodes it is.
    assert _false(_line(30, scope="job", node=None, nodes=["n1"]), faults=[_fault()]) == 0


def test_groups_of_two_rules_are_two() -> None:
    group = {"scope": "group", "node": None, "nodes": ["n1", "n2"]}
    assert _false(_line(0, **group), _line(60, **group)) == 1
    assert _false(_line(0, **group), _line(60, rule="b", **group)) == 2


def test_maintenance_of_a_node_of_a_group_explains_its_alert() -> None:
    group = _line(30, scope="group", node=None, nodes=["n1", "n2"])
    start, end = int(_ONSET * 1000), int((_ONSET + 60.0) * 1000)
    assert _false(group, windows=[MaintenanceRow("n2", start, end, "")]) == 0
    assert _false(group, windows=[MaintenanceRow("n3", start, end, "")]) == 1


def test_maintenance_of_the_node_or_of_all_explains_an_alert() -> None:
    start, end = int(_ONSET * 1000), int((_ONSET + 60.0) * 1000)
    assert _false(_line(30), windows=[MaintenanceRow("n1", start, end, "")]) == 0
    assert _false(_line(30), windows=[MaintenanceRow(None, start, end, "")]) == 0
    assert _false(_line(30), windows=[MaintenanceRow("n2", start, end, "")]) == 1
    assert _false(_line(61), windows=[MaintenanceRow("n1", start, end, "")]) == 1
    assert _false(_line(-1), windows=[MaintenanceRow("n1", start, end, "")]) == 1


def test_to_exclude_a_node_for_a_programs_fault_is_false() -> None:
    app = _fault("app", job="7")
    assert _false(_line(30, advice=Advice.RESTART), faults=[app]) == 0
    assert _false(_line(30, advice=Advice.EXCLUDE), faults=[app]) == 1
    assert _false(_line(30, advice=Advice.REPLACE), faults=[app]) == 1
    assert _false(_line(30, advice=Advice.EXCLUDE), faults=[app, _fault()]) == 0


# Groups.


def _group(*lines: Line, faults: Any = ()) -> Result:
    return judge(lines, [_fault("storage"), *faults], [], 1.0).results[0]


def test_a_group_is_one_when_one_incident_says_it_and_no_node_does() -> None:
    one = _line(30, scope="group", node=None, nodes=["n1", "n2"])
    assert _group(one).is_single is True
    assert _group().is_single is False
    assert _group(one, _line(40, node="n2")).is_single is False
    assert _group(_line(40, node="n2")).is_single is False
    assert _group(one, _line(40, node="n9")).is_single is True
    assert _group(one, _line(40, node="n2"), faults=[_fault(node="n2")]).is_single is True
    assert _group(one, _line(40, node="n2", level="watch")).is_single is True


def test_nodes_of_a_group_that_somebody_would_exclude() -> None:
    out = [
        _line(at, node=node, advice=Advice.EXCLUDE)
        for at, node in ((1, "n1"), (2, "n2"), (3, "n2"))
    ]
    assert _group(*out).out == 2
    assert _group(_line(1, advice=Advice.WAIT)).out == 0
    assert _group(_line(1, advice=Advice.EXCLUDE, level="watch")).out == 1
    assert _group(_line(1, advice=Advice.EXCLUDE), faults=[_fault()]).out == 0


# The table.


def test_rows_of_the_table() -> None:
    assert group_of(_fault("nvlink")) == "xid"
    assert group_of(_fault("hang")) == "no_xid"
    assert group_of(_fault("slow_clock", magnitude=0.10)) == "no_xid"
    assert group_of(_fault("slow_clock", magnitude=0.09)) == "fail_slow_3_10"
    assert group_of(_fault("slow_link", magnitude=0.3)) == "no_xid"
    assert group_of(_fault("cooling")) == "group"
    assert group_of(_fault("fan")) == "fan"


def test_counts_and_rates_of_a_table() -> None:
    seen = _fault(precursor_start=_ONSET - 900.0, precursor_strength=20.0, precursor_unit="rate")
    first = judge([_line(-60), _line(30, node="n7"), _line(9, level="watch")], [seen], [], 2.0)
    second = judge([], [_fault(), _fault("sdc"), _fault("app")], [], 2.0)
    found = table([first, second])
    assert (found.recall["xid"].hits, found.recall["xid"].of) == (1, 2)
    assert (found.early.hits, found.early.of) == (1, 1)
    assert (found.early_of_all.hits, found.early_of_all.of) == (1, 2)
    assert found.by_class["sdc"].of == 1
    assert found.false_alarms_a_day == 0.25
    assert found.false_alarms_interval == interval(1, 4.0)
    assert found.watches_a_day == 0.25
    assert found.precision == 0.5
    assert found.precision_at_fleet_rate == pytest.approx(0.155 / (0.155 + 0.25))
    assert "0.25" in text({"mine": found})


def test_surface_by_strength_and_length() -> None:
    def weak(minutes: float, strength: float, opened: float | None) -> Result:
        fault = _fault(
            precursor_start=_ONSET - 60 * minutes, precursor_strength=strength, precursor_unit="sd"
        )
        return _result(fault, opened)

    results = [weak(30, 9, -600), weak(30, 9, None), weak(5, 3, 60), _result(_fault(), 30)]
    cells = precursor_surface(results)
    strong = cells["from 8 sd, 10 to 60 min"]
    assert (strong.faults, strong.found, strong.early, strong.lead) == (2, 1, 1, 600)
    assert cells["below 4 sd, below 10 min"].early == 0
    assert cells["none"].faults == 1
    assert "from 8 sd" in surface_text("mine", cells)


def test_curve_of_slow_devices() -> None:
    slow = [_result(_fault("slow_clock", magnitude=by), 60) for by in (0.04, 0.07, 0.3)]
    cells = fail_slow_curve([*slow, _result(_fault(), 0)])
    assert {name: cell.faults for name, cell in cells.items()} == {
        "below 0.05": 1,
        "0.05 to 0.1": 1,
        "from 0.2": 1,
    }
