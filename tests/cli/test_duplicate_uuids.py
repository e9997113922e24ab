"""A driver that gives eight GPUs one uuid: eight rows, each with its own numbers, marked and told."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

UUID = "GPU-5ca1ab1e-0001-4000-8000-00000000dddd"
MESSAGE = f"duplicate uuid {UUID}: 3 devices report it"
TWINS = (1, 4, 6)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    for index in TWINS:
        scenario.set(index, "uuid", UUID)
    for index in range(8):
        scenario.set(index, "temperature_c", 50 + index)
        # Above every pid that Linux gives out: one that is given out may end while it is looked at.
        scenario.processes(index, [{"pid": 5_000_000 + index, "kind": "c", "memory": 1 << 30}])
    scenario.write()
    return dict(scenario.environment())


def document(environment: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(accelwatch("--json", *PATIENT, environ=environment).stdout)
    return found


def test_every_device_is_a_row_with_its_own_numbers(environment: dict[str, str]) -> None:
    devices = document(environment)["devices"]
    assert [device["temperature_celsius"]["gpu"] for device in devices] == [*range(50, 58)]
    assert [device["name"] for device in devices] == [f"nvidia{n}" for n in range(8)]
    assert len({device["id"] for device in devices}) == 8


def test_the_duplicates_are_marked_and_reported(environment: dict[str, str]) -> None:
    shot = document(environment)
    messages = {error["device_id"]: error["message"] for error in shot["errors"]}
    for index, device in enumerate(shot["devices"]):
        if index in TWINS:
            assert device["id"] == f"nvidia:{device['pci_bus_id']}"
            assert (device["uuid"], device["absent"]["uuid"]) == (None, "error")
            assert (device["health"], device["health_reasons"]) == ("degraded", [MESSAGE])
            assert messages.pop(device["id"]) == MESSAGE
        else:
            assert device["uuid"]
            assert device["id"] == f"nvidia:{device['uuid']}"
            assert device["health"] == "ok"
    assert not messages


def test_processes_stay_with_their_device(environment: dict[str, str]) -> None:
    shot = document(environment)
    ids = [device["id"] for device in shot["devices"]]
    assert sorted(ids) == sorted({process["device_id"] for process in shot["processes"]})


def test_series_of_twins_do_not_collide(environment: dict[str, str]) -> None:
    text = accelwatch("--format", "prometheus", *PATIENT, environ=environment).stdout
    names = [line.partition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(names) == len(set(names))
    labels = {line.partition(" ")[0] for line in text.splitlines() if "accel_power_watts{" in line}
    assert len({label.partition('uuid="')[2] for label in labels}) == 8
    assert UUID not in "".join(labels)


def test_tables_have_all_rows(environment: dict[str, str]) -> None:
    text = accelwatch(
        "--format", "csv", "--fields", "name,uuid,power_watts", *PATIENT, environ=environment
    )
    rows = list(csv.reader(io.StringIO(text.stdout)))[1:]
    assert [row[0] for row in rows] == [f"nvidia{n}" for n in range(8)]
    assert [row[0] for row in rows if not row[1]] == [f"nvidia{n}" for n in TWINS]
    shown = accelwatch(*PATIENT, environ=environment).stdout
    assert shown.count(MESSAGE) == len(TWINS)


def test_the_doctor_says_it(environment: dict[str, str]) -> None:
    run = accelwatch("doctor", *PATIENT, environ=environment)
    assert run.returncode == 1
    assert [line for line in run.stdout.splitlines() if f"nvidia1: ok; {MESSAGE}" in line]
    assert "nvidia0" not in run.stdout


def test_twins_are_never_picked(environment: dict[str, str]) -> None:
    run = accelwatch("pick", *PATIENT, "-n", "5", "--format", "value", environ=environment)
    assert run.returncode == 0
    assert UUID not in run.stdout
    run = accelwatch("pick", *PATIENT, "-n", "6", environ=environment)
    assert run.returncode == 4
    assert f"nvidia4: health is degraded: {MESSAGE}" in run.stderr


def test_the_uuid_selects_none_of_them(environment: dict[str, str]) -> None:
    assert accelwatch("-d", UUID, *PATIENT, environ=environment).returncode == 4
    run = accelwatch("-d", "4", "--json", *PATIENT, environ=environment)
    assert [device["index"] for device in json.loads(run.stdout)["devices"]] == [4]
