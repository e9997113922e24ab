"""What a judge leaves out changes nothing that it says."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.rules.vectors.program import Program
from support.archives.synthetic_fleet import Fault, Plan, archive

from .conftest import Rules

PLAN = Plan(
    nodes=6,
    devices=4,
    spare=2,
    seconds=5400,
    seed=5,
    missing=0.02,
    faults=(
        Fault("nvlink", 0, 700.0, 600.0, 2),
        Fault("ecc", 1, 1500.0, 600.0, 3),
        Fault("unreachable", 2, 1800.0, 900.0),
        Fault("lost", 3, 2500.0, 900.0, 1),
        Fault("hang", 4, 2900.0, 900.0, 0),
        Fault("straggler", 5, 3300.0, 900.0, 1),
        Fault("port", 1, 3900.0, 600.0),
        Fault("storage", 0, 4300.0, 500.0),
    ),
)


def test_rules_worked_out_only_where_they_may_be_true_say_the_same(
    tmp_path: Path, packs: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(tmp_path, PLAN)

    def changes() -> list[bytes]:
        backtest = Backtest(Archive(tmp_path), packs)
        return [msgspec.json.encode(one) for one in backtest.incidents()]

    quick = changes()
    run = Program.run
    monkeypatch.setattr(Program, "run", lambda self, columns, _among, _: run(self, columns, _among))
    assert changes() == quick
    assert len({msgspec.json.decode(one)["rule"] for one in quick}) >= 6
