"""A back-test knows by the uptime when a node was booted, and closes what a boot ends."""

from pathlib import Path

from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.run import final_lines
from support.archives.synthetic_fleet import Fault, Plan, archive

from .conftest import AT, Rules

NOT_RESPONDING = (0.0, None, "nfs_not_responding", "nfs: server fs1 not responding, still trying")


def test_a_boot_ends_what_a_file_server_left_waiting(tmp_path: Path, packs: Rules) -> None:
    faults = (
        Fault("logged", 0, AT, nodes=(0, 1), lines=(NOT_RESPONDING,)),
        Fault("booted", 0, AT + 900),
    )
    plan = Plan(nodes=3, devices=1, spare=0, seconds=7200, sessions=False, faults=faults)
    fleet = archive(tmp_path, plan)
    name = "storage.nfs.not_responding"
    found = Archive(tmp_path)
    lines = list(final_lines(found, Backtest(found, {name: packs[name]})))
    closed = {line.node: line.closed for line in lines}
    assert set(closed) == set(fleet.names[:2])
    booted, waiting = closed[fleet.names[0]], closed[fleet.names[1]]
    assert waiting is None
    assert booted is not None
    assert AT + 900 < booted - plan.start < AT + 1100
