"""A simulated device tells nothing that the backend of its vendor never tells."""

from pathlib import Path

import pytest

from accelwatch_lab.simulator.models import MODELS
from support.machines.fixture_machines import MACHINES
from support.machines.polling import Poll, readings
from support.machines.staged_machines import FixtureMachine

# Their stand-in libraries are a matter of their own tests.
WITH_LIBRARIES = {"nvidia", "amd", "intel"}
# The kernel's files that its machines do not have.
NOT_COMPOSED = {"accel": {"pcie_link_generation", "pcie_link_width_lanes"}}


def machines(vendor: str) -> list[FixtureMachine]:
    return [
        one
        for one in MACHINES
        if one.healthy
        and (one.name.startswith("jetson") if vendor == "jetson" else one.vendor == vendor)
    ]


def reported(machine: FixtureMachine, folder: Path) -> set[str]:
    keys: set[str] = set()
    with machine.stage(folder) as stage:
        backend, poll = stage.backend(), Poll(stage.clock)
        backend.open()
        for _ in range(2):
            keys |= {series[0] for one in readings(poll(backend)) for series in one.values}
            stage.clock.advance(10.0)
        backend.close()
    return keys


def is_worked_out(key: str) -> bool:
    """Whether the owner of a reading makes it of what a backend tells (`node.store.accumulate`)."""
    return key.startswith("window_") or key in {
        "busy_seconds_total",
        "energy_joules_total",
        "throttle_seconds_total",
    }


@pytest.mark.parametrize("vendor", sorted(MODELS.keys() - WITH_LIBRARIES))
def test_a_model_says_what_its_backend_can_say(vendor: str, tmp_path: Path) -> None:
    known: set[str] = set(NOT_COMPOSED.get(vendor, ()))
    for at, machine in enumerate(machines(vendor)):
        known |= reported(machine, tmp_path / str(at))
    model = {row.series[0] for row in MODELS[vendor]().rows}
    assert {key for key in model - known if not is_worked_out(key)} == set()
