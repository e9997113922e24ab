"""A driver that answers with empty registers: no command shows them as facts, and people are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

ABSURD = {
    "power_usage_mw": 4294967295,
    "power_average_mw": 4294967295,
    "power_instant_mw": 4294967295,
    "clock_graphics_mhz": 4294967295,
    "memory_used_bytes": 2**64 - 1,
    "temperature_c": 4294967295,
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    for key, value in ABSURD.items():
        scenario.set(1, key, value)
    scenario.write()
    return dict(scenario.environment())


def devices(run_stdout: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run_stdout)["devices"]
    return found


def test_they_are_null_with_a_reason_and_the_neighbours_stay(environment: dict[str, str]) -> None:
    run = accelwatch("--json", *PATIENT, environ=environment)
    document = json.loads(run.stdout)
    _, absurd, *others = document["devices"]
    for path in ("power_watts", "memory_used_bytes"):
        assert (absurd[path], absurd["absent"][path]) == (None, "error")
    assert absurd["clock_hertz"]["graphics"] is None
    assert absurd["absent"]["clock_hertz.graphics"] == "error"
    assert all(device["power_watts"] > 0 for device in others)
    messages = [error["message"] for error in document["errors"] if error["code"] == "implausible"]
    assert {error["device_id"] for error in document["errors"]} == {absurd["id"]}
    assert any(text.startswith("power_watts: 4294967.295 is not believed") for text in messages)


def test_the_doctor_names_quantity_and_number(environment: dict[str, str]) -> None:
    run = accelwatch("doctor", *PATIENT, environ=environment)
    assert run.returncode == 1
    assert "power_watts: 4294967.295 is not believed; 0 to 50000 watts can be true" in run.stdout


@pytest.mark.parametrize("words", [(), ("--format", "csv"), ("--format", "prometheus")])
def test_no_text_has_them(environment: dict[str, str], words: tuple[str, ...]) -> None:
    text = accelwatch(*words, *PATIENT, environ=environment).stdout
    shown = [line for line in text.splitlines() if "is not believed" not in line]
    for number in ("4294967295", "4294967.295", "18446744073709551615", "1.8446744073709552e"):
        assert number not in "\n".join(shown)
