"""Whom the hub believes when several exporters of a node report one device."""

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import UsageError
from accelwatch.fleet.dialects.base.precedence import PRECEDENCE, precedence, ranker
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from accelwatch.schema.reading import Reading
from support.machines import composed as machines


def test_ours_come_first_then_the_configured_then_the_others() -> None:
    order = precedence(["all_smi", "dcgm"])
    assert order[:4] == ("accelwatch", "all-smi", "dcgm-exporter-4.9", "dcgm-exporter")
    assert sorted(order) == sorted(PRECEDENCE)
    assert precedence([]) == PRECEDENCE
    assert precedence(["xpum"])[1:3] == ("xpum", "dcgm-exporter-4.9")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("dcgm-exportr", "did you mean dcgm-exporter"), ("", "expected some of"), ("d", "expected")],
)
def test_an_unknown_dialect_is_refused(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        precedence([name])


def test_a_source_of_several_dialects_has_the_best_rank() -> None:
    rank = ranker(PRECEDENCE)
    assert rank("accelwatch") < rank("node_exporter+dcgm-exporter") == rank("dcgm-exporter")
    assert rank("dcgm-exporter") < rank("node_exporter") < rank("") == rank("new")


def test_the_configured_order_decides_between_two_targets_of_a_node() -> None:
    clock = ManualClock(wall=machines.NOW)
    fleet = Fleet(clock, Thresholds(), None)
    targets = targets_of(["n1:9400", "n1:9090"])
    fleet.set_targets(targets)
    for target, dialect, watts in zip(
        targets, ("dcgm-exporter", "all-smi"), (100.0, 200.0), strict=True
    ):
        source = fleet.source(target.key)
        assert source is not None
        source.dialect = dialect
        reading = Reading(device_id=machines.device(0).id, values={("power_watts",): watts})
        view = machines.view(0, reading=reading)
        fleet.read(target.key, [view], None, 5.0)

    def power() -> object:
        (held,) = fleet.nodes["n1"].devices.values()
        return held.number(("power_watts",))

    assert power() == 100.0
    fleet.believe(precedence(["all-smi"]))
    assert power() == 200.0
    fleet.close()
