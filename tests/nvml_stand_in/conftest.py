"""A scenario file, and two devices that are read through the binding."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nvml_stand_in.binding import nvml
from support.machines.nvml_stand_ins import NvmlScenario, build_nvml, preloaded_nvml


@pytest.fixture
def scenario(tmp_path: Path) -> NvmlScenario:
    build_nvml()
    return NvmlScenario(tmp_path / "nvml.scenario")


@pytest.fixture
def h100x2(scenario: NvmlScenario) -> Iterator[NvmlScenario]:
    with preloaded_nvml(scenario.devices(2)):
        nvml.nvmlInit()
        yield scenario
