"""Findings as lines of a back-test."""

import msgspec
import pytest

from accelwatch.detection.finding import Finding, Level, Scope, Signal
from accelwatch.fleet.detection.backtest_lines import FindingLines, line_of

SIGNAL = Signal(
    name="host_nfs_backlog_total./mnt/a\\.b",
    value=1.0,
    expected=None,
    low=None,
    high=None,
    usual=2.0,
    z=-9.0,
    since=90.0,
    channel="peer",
)
FINDING = Finding(
    key="node/n1",
    level=Level.WATCH,
    scope=Scope.DEVICE,
    node="n1",
    device="nvidia:GPU-1",
    job="",
    nodes=("n1",),
    family="power",
    channels=("peer",),
    advice="none",
    score=6.0,
    onset=90.0,
    opened=100.0,
    updated=100.0,
    cleared=None,
    signals=(SIGNAL,),
    sentence="",
)


def later(updated: float, **fields: object) -> Finding:
    return msgspec.structs.replace(FINDING, updated=updated, **fields)


def test_a_line_has_the_fields_of_the_contract() -> None:
    assert msgspec.to_builtins(line_of(FINDING)) == {
        "opened": 100.0,
        "closed": None,
        "level": "watch",
        "scope": "device",
        "node": "n1",
        "device": "nvidia:GPU-1",
        "job": None,
        "nodes": ["n1"],
        "rule": "detector.power",
        "channels": ["peer"],
        "advice": "none",
        "explanation": [
            {
                "signal": "host_nfs_backlog_total./mnt/a.b",
                "value": 1.0,
                "expected": 2.0,
                "z": -9.0,
                "since": 90.0,
            }
        ],
    }


def test_peers_go_before_the_own_past() -> None:
    compared = msgspec.structs.replace(SIGNAL, expected=3.0)
    assert line_of(later(100.0, signals=(compared,))).explanation[0].expected == 3.0


@pytest.mark.parametrize("field", ["node", "device", "job"])
def test_what_does_not_apply_is_null(field: str) -> None:
    assert getattr(line_of(later(100.0, **{field: ""})), field) is None


def test_a_rise_is_a_second_line_and_both_close() -> None:
    lines = FindingLines()
    (watch,) = lines.step([FINDING])
    assert lines.step([later(130.0, nodes=("n1", "n2"))]) == []
    (alert,) = lines.step([later(160.0, level=Level.ALERT)])
    assert (alert.opened, alert.level, watch.closed) == (160.0, "alert", None)

    assert lines.step([later(190.0, level=Level.ALERT, cleared=190.0)]) == []
    assert (watch.closed, alert.closed) == (190.0, 190.0)


def test_a_finding_that_comes_back_goes_on_in_its_line() -> None:
    lines = FindingLines()
    (line,) = lines.step([FINDING])
    lines.step([later(190.0, cleared=190.0)])

    assert lines.step([later(400.0)]) == []
    assert line.closed is None


def test_another_finding_of_the_same_subject_is_another_line() -> None:
    lines = FindingLines()
    (first,) = lines.step([FINDING])
    lines.step([later(190.0, cleared=190.0)])

    (second,) = lines.step([later(9000.0, opened=9000.0)])
    assert (first.closed, second.opened, second.closed) == (190.0, 9000.0, None)
