"""An hour in which nothing is wrong: nobody is woken, whoever reports the fleet."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from accelwatch_lab.simulator.nodes import FleetSize
from support.rules.healthy_fleet import EXPORTERS, WINDOW, healthy_hour
from support.rules.simulated_hub import Write

MINUTE = 60.0


@pytest.mark.parametrize(
    ("size", "exporters", "seconds"),
    [
        (FleetSize(vendor="mixed"), (), 60 * MINUTE),
        (FleetSize(vendor="nvidia", devices=1), EXPORTERS, 40 * MINUTE),
    ],
    ids=["agents", "dcgm-exporter and node_exporter"],
)
def test_nothing_above_a_note_is_opened(
    tmp_path: Path, size: FleetSize, exporters: Sequence[Write], seconds: float
) -> None:
    hour = asyncio.run(healthy_hour(size, tmp_path, MINUTE, exporters, seconds))
    assert [(one.rule, one.nodes) for one in hour.serious] == []
    assert hour.problems == ()
    # The rack that is worked on is silent, which the announced window mutes.
    assert {one.rule for one in hour.announced} == {"service.node_silent"}
    assert {node for one in hour.announced for node in one.nodes} == set(WINDOW.nodes)
    assert {one.rule for one in hour.notes} <= {"host.started"}
