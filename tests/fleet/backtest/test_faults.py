"""What the shipped rules say of a day with faults in samples of 30 s: one incident each, where it is."""

from pathlib import Path

import pytest

from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.archive.history.reading.reader import Archive
from accelwatch.fleet.backtest.incidents import Backtest
from accelwatch.fleet.backtest.run import final_lines
from support.archives.synthetic_fleet import Fault, Plan, archive

from .conftest import Play

FAULTS = (
    Fault("nvlink", 0, 3000.0, 900.0, 2),
    Fault("ecc", 1, 5000.0, 900.0, 3),
    Fault("lost", 2, 7000.0, 1500.0, 1),
    Fault("unreachable", 3, 10_000.0, 1200.0),
    Fault("hang", 4, 13_000.0, 1200.0, 0),
    Fault("straggler", 5, 15_500.0, 1200.0, 1),
    Fault("port", 6, 17_500.0, 600.0),
    Fault("gap", 7, 4000.0, 300.0),
    Fault("device_rows_gap", 8, 4000.0, 600.0),
    Fault("recorder_gap", 0, 18_500.0, 900.0),
    Fault("application", 9, 16_000.0),
    Fault("storage", 0, 20_000.0, 900.0),
)


def test_each_fault_is_one_incident_where_it_is(play: Play) -> None:
    played = play(*FAULTS, seconds=21_600, missing=0.02)
    alerts = {(one.node, one.rule.split(",")[0]) for one in played.alerts}
    name = played.fleet.names
    assert alerts == {
        (name[0], "nvidia.xid.nvlink"),
        (name[1], "nvidia.xid.contained_error"),
        (name[2], "nvidia.missing"),
        (name[3], "jobs.silent_hang"),
        (name[4], "jobs.silent_hang"),
        (name[5], "jobs.straggler.clock_of_job"),
        (name[6], "fabric.port_down"),
        (None, "storage.nfs.not_responding"),
    }
    assert len(played.alerts) == len(alerts)
    watched = {(one.node, one.rule) for one in played.lines if one.level == "watch"}
    # The silence of node 3 is of the hang of its job, what ended on node 9 of that held back by node 5.
    assert watched == {(name[7], "service.node_silent")}
    starts = {played.fleet.names[one.node]: one.at for one in FAULTS if one.device is not None}
    for line in played.alerts:
        if line.node in starts:
            since = line.opened - played.fleet.plan.start - starts[line.node]
            assert 0 < since <= 600, line


def test_announced_work_wakes_nobody(play: Play) -> None:
    """Nodes are away while they are worked on, a fault of that time is notified afterwards."""
    played = play(
        Fault("unreachable", 5, 2000.0, 3000.0),
        seconds=6000,
        maintenance=((None, 900.0, 1500.0), (5, 1900.0, 3200.0)),
    )
    (line,) = played.alerts
    assert line.node == played.fleet.names[5]
    assert line.opened - played.fleet.plan.start >= 3200
    assert played.lines == [line]


@pytest.mark.parametrize(("for_s", "nodes"), [(80, 3), (110, 2)])
def test_a_sample_is_true_for_two_steps(tmp_path: Path, for_s: int, nodes: int) -> None:
    """One node of three is recorded for a minute and a half, then not for ten; a step is 30 s."""
    file = tmp_path / "rules.yaml"
    rule = f'{{id: a, title: T, when: "power_watts >= 0", for: {for_s}s, keep: 1d}}'
    file.write_text(f"version: 1\nrules:\n- {rule}\n", encoding="utf-8")
    gap = Fault("gap", 0, 100.0, 600.0)
    plan = Plan(nodes=3, devices=1, spare=0, seconds=500, sessions=False, faults=(gap,))
    archive(tmp_path / "archive", plan)
    found = Archive(tmp_path / "archive")
    lines = list(final_lines(found, Backtest(found, dict(load([file]).rules))))
    assert len({line.node for line in lines}) == nodes
