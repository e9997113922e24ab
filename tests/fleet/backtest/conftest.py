"""Small archives of a fleet that never was, and what the shipped rules say of them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.pack_files import pack_file, pack_names
from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.rule import Rule
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.line import Line
from accelwatch.fleet.backtest.run import final_lines
from support.archives.synthetic_fleet import Fault, Plan, SyntheticFleet, archive

Rules = Mapping[str, Rule]
AT = 3607.0
HOURS = 7200


@pytest.fixture(scope="session")
def packs() -> Rules:
    """All rules that are shipped, without those about what a detector finds, which has its own tests."""
    names = [name for name in pack_names() if name != "detector"]
    return load([pack_file(name) for name in names], tests=False).rules


class Played:
    """What was printed of an archive."""

    def __init__(self, fleet: SyntheticFleet, lines: list[Line]) -> None:
        self.fleet, self.lines = fleet, lines

    @property
    def alerts(self) -> list[Line]:
        return [line for line in self.lines if line.level == "alert"]

    def after(self, line: Line) -> float:
        """Seconds from the fault to the telling."""
        return line.opened - self.fleet.plan.start - AT


Play = Callable[..., Played]


@pytest.fixture
def play(tmp_path: Path, packs: Rules) -> Play:
    """Plays a fleet of twelve nodes of four devices with one fault on node 5."""

    def played(*faults: Fault, **plan: object) -> Played:
        made: dict[str, object] = {
            "nodes": 12, "devices": 4, "spare": 2, "seconds": HOURS, "seed": 3, "sessions": False,
        }  # fmt: skip
        fleet = archive(tmp_path / "archive", Plan(faults=faults, **{**made, **plan}))  # type: ignore[arg-type]
        found = Archive(tmp_path / "archive")
        return Played(fleet, list(final_lines(found, Backtest(found, packs))))

    return played
