"""The lines of a back-test: what the contract in docs/history.md promises of them."""

from pathlib import Path

import msgspec

from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line
from accelwatch.fleet.backtest.run import final_lines
from support.archives.synthetic_fleet import Fault, Plan, archive

from .conftest import AT, Rules

PLAN = Plan(
    nodes=8,
    devices=2,
    spare=2,
    seconds=6300,
    seed=3,
    sessions=False,
    faults=(
        Fault("nvlink", 5, AT, 1500.0, 1),
        Fault("ecc", 2, AT + 600, 1500.0, 1),
        Fault("port", 1, AT + 1500, 600.0),
    ),
)


def lines(folder: Path, packs: Rules, end: float | None = None) -> list[Line]:
    found = Archive(folder)
    return list(final_lines(found, Backtest(found, packs, end=end)))


def test_it_keeps_the_contract(tmp_path: Path, packs: Rules) -> None:
    fleet = archive(tmp_path, PLAN)
    whole = lines(tmp_path, packs)
    first = whole[0]
    assert (first.level, first.scope, first.node) == ("alert", "device", fleet.names[5])
    assert (first.device, first.job, first.nodes) == (fleet.ids[5][1], "4000", [fleet.names[5]])
    assert (first.rule, first.channels, first.advice) == ("nvidia.xid.nvlink", ["log"], "reset")
    assert [one.signal for one in first.explanation] == ["xid_149"]
    assert 0 < first.opened - PLAN.start - AT <= 60, "not before it was recorded"
    assert [one.opened for one in whole] == sorted(one.opened for one in whole)
    assert {one.node for one in whole} == {fleet.names[one] for one in (1, 2, 5)}
    assert msgspec.json.encode(whole) == msgspec.json.encode(lines(tmp_path, packs))

    until = PLAN.start + AT + 900
    before = lines(tmp_path, packs, end=until)
    assert [_without_end(one) for one in before] == [
        _without_end(one) for one in whole if one.opened <= until
    ]
    assert before[-1].closed is None or before[-1].closed <= until


def _without_end(line: Line) -> Line:
    return msgspec.structs.replace(line, closed=None)
