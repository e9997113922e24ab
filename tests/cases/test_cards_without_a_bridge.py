"""PCIe cards of one model, two with an NVLink bridge and two without: links that never were up."""

import json
from pathlib import Path

import pytest

from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import accelwatch

from .conftest import Case

pytestmark = pytest.mark.oracle
PATIENT = ("--timeout", "50s")


@pytest.fixture
def cards(case: Case, tmp_path: Path) -> NvmlScenario:
    """Four cards, changed as the file says."""
    scenario = NvmlScenario(tmp_path / "node.scenario").devices(4, "a100")
    changes = case("06-cards-without-a-bridge/changes-to-a100.model.txt").read_text()
    for line in changes.splitlines():
        key, _, value = line.partition("=")
        scenario.system(key, value)
    scenario.write()
    return scenario


def check(cards: NvmlScenario, *words: str) -> tuple[int, str]:
    options = ("--agent", "none", "-b", "nvidia", *PATIENT, *words)
    run = accelwatch("check", *options, environ=cards.environment())
    return run.returncode, run.stdout


def test_the_node_is_well(cards: NvmlScenario) -> None:
    status, text = check(cards, "-v")
    assert status == 0, text
    assert "nvlink" not in text.split("not evaluated")[0]
    assert check(cards, "--slurm") == (0, "")


def test_the_links_are_read_as_they_are(cards: NvmlScenario) -> None:
    run = accelwatch("--once", "--json", "-b", "nvidia", *PATIENT, environ=cards.environment())
    links = [
        {state: device["interconnect_links"]["nvlink"][state] for state in ("up", "down")}
        for device in json.loads(run.stdout)["devices"]
    ]
    assert links == [{"up": 12, "down": 0}] * 2 + [{"up": 0, "down": 12}] * 2
