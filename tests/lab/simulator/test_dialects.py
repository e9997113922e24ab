"""What the hub reads from the simulated dialects is what the devices have."""

from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.fleet.dialects.foreign import read_devices
from accelwatch_lab.simulator.exporters import all_smi, dcgm, node_exporter
from accelwatch_lab.simulator.fleet import Fleet, Instant
from accelwatch_lab.simulator.nodes import Node

_TEXTS: dict[str, Callable[[Fleet, Node, Instant], str]] = {
    "dcgm": lambda fleet, node, now: dcgm.text(fleet, node, now, legacy=True),
    "dcgm-4.9": lambda fleet, node, now: dcgm.text(fleet, node, now, legacy=False),
    "all-smi": all_smi.text,
}
# Percents without decimals, and whole mebibytes and megahertz.
_ROUNDED = 0.006


@pytest.mark.parametrize("dialect", _TEXTS)
def test_the_hub_reads_what_the_devices_have(fleet_of: Callable[..., Fleet], dialect: str) -> None:
    fleet = fleet_of()
    node, now = fleet.nodes[7], fleet.instant_at(100.0)
    truth = fleet.snapshot(node, now).devices
    found = read_devices(_TEXTS[dialect](fleet, node, now), fleet.start + 100)
    assert [view.device.uuid for view in found.devices] == [view.device.uuid for view in truth]
    for seen, true in zip(found.devices, truth, strict=True):
        assert seen.device.model == true.device.model
        shared = seen.reading.values.keys() & true.reading.values.keys()
        assert len(shared) >= 15
        for series in shared:
            expected = true.reading.values[series]
            assert seen.reading.values[series] == pytest.approx(
                expected, rel=_ROUNDED, abs=_ROUNDED
            ), series


def test_the_hub_reads_what_a_machine_has(fleet_of: Callable[..., Fleet], tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    file.write_text(
        "scenario: 1\njobs: [{name: a, nodes: '*'}]\n"
        "faults: [{kind: reboot, nodes: n001, at: 10s, back: 40s}]"
    )
    fleet = fleet_of(scenario=file)
    node, now = fleet.nodes[0], fleet.instant_at(100.0)
    truth = fleet.host_view(node, now, fleet.condition(node, now)).reading.values
    found = read_devices(node_exporter.text(fleet, node, now), fleet.start + 100).node
    assert found is not None
    values = found.reading.values
    assert values["host_uptime_seconds",] == pytest.approx(60.0)
    shared = values.keys() & truth.keys()
    assert len(shared) >= 9
    for series in shared:
        assert values[series] == pytest.approx(truth[series]), series


@pytest.mark.parametrize("dialect", _TEXTS)
@pytest.mark.parametrize("quantity", ["power_watts", "clock_hertz", "memory_used_bytes"])
def test_an_absent_quantity_is_absent_in_every_dialect(
    fleet_of: Callable[..., Fleet], tmp_path: Path, dialect: str, quantity: str
) -> None:
    file = tmp_path / "day.yaml"
    file.write_text(
        f"scenario: 1\nfaults: [{{kind: absent, nodes: n001, device: 2, quantity: {quantity}}}]"
    )
    fleet = fleet_of(scenario=file)
    text = _TEXTS[dialect](fleet, fleet.nodes[0], fleet.instant_at(100.0))
    keys = [
        {series[0] for series in view.reading.values}
        for view in read_devices(text, fleet.start + 100).devices
    ]
    assert quantity not in keys[2]
    assert quantity in keys[1]
