"""The example of a stranger's backend, installed as its author would and used as anybody's is."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes.installed_command import accelwatch

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples/backend-template"
CONTRACT = [
    f"tests/backends/contract/test_{what}.py"
    for what in ("damage", "identity", "lifecycle", "readings", "sleeping_devices", "vocabulary")
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the built package and its entry point are; no network, nothing left in the checkout."""
    folder = tmp_path_factory.mktemp("template")
    shutil.copytree(TEMPLATE, folder / "source")
    words = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--no-cache-dir"]
    target = folder / "target"
    run(sys.executable, "-m", "pip", "install", *words, "--target", target, folder / "source")
    return target


def run(*words: str | Path, **environ: str) -> str:
    """Output of a command that must succeed."""
    ended = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def pytest_in(installed: Path, *words: str | Path) -> str:
    """Output of pytest in a process that has the package and the example's machines."""
    path = os.pathsep.join(map(str, (installed, TEMPLATE)))
    quiet = ("-q", "-p", "no:cacheprovider")
    return run(sys.executable, "-B", "-m", "pytest", *quiet, *words, PYTHONPATH=path)


def test_the_template_passes_the_contract_suite(installed: Path) -> None:
    output = pytest_in(installed, *CONTRACT, "--machines", "template_machines", "-vv")
    for machine in ("two-cards", "without-identity", "damaged", "asleep"):
        assert f"test_identity_is_well_formed[template-{machine}] PASSED" in output
        assert f"test_every_number_is_believed[template-{machine}] PASSED" in output
        assert (
            f"test_damaged_files_raise_nothing_untyped[template-{machine}-empty] PASSED" in output
        )
        assert (
            f"test_no_value_is_invented_from_damaged_files[template-{machine}-empty] PASSED"
            in output
        )
    assert (
        "test_a_device_that_goes_is_no_longer_found_and_the_others_are_read_on[template" in output
    )
    assert "test_a_sleeping_device_is_not_touched[template-asleep] PASSED" in output
    assert "test_it_is_read_when_waking_is_allowed[template-asleep] PASSED" in output
    assert "[nvidia" not in output


def test_its_own_tests_pass(installed: Path) -> None:
    assert "3 passed" in pytest_in(installed, "examples/backend-template")


@pytest.mark.parametrize("backend", [(), ("--backend", "template")])
def test_its_devices_are_read_picked_and_hidden_as_ours(
    installed: Path, backend: tuple[str, ...]
) -> None:
    environ = {"PYTHONPATH": str(installed)}
    words = (*backend, "--root", str(TEMPLATE / "fixture"))
    document = json.loads(accelwatch("--json", *words, environ=environ).stdout)
    assert [one["uuid"] for one in document["devices"]] == ["TPL-5ca1ab00", "TPL-5ca1ab01"]
    assert document["devices"][1]["power_watts"] == 76.5
    assert document["devices"][0]["health"] == "ok"
    picked = accelwatch("pick", *words, environ=environ)
    assert picked.stdout == "TEMPLATE_VISIBLE_DEVICES=TPL-5ca1ab00\n", picked.stderr
    picked = accelwatch("pick", *words, "--vendor", "template", "-n", "2", environ=environ)
    assert picked.stdout == "TEMPLATE_VISIBLE_DEVICES=TPL-5ca1ab00,TPL-5ca1ab01\n"
    seen = {**environ, "TEMPLATE_VISIBLE_DEVICES": "TPL-5ca1ab01"}
    document = json.loads(accelwatch("--json", "--visible", *words, environ=seen).stdout)
    assert [one["index"] for one in document["devices"]] == [1]


def test_its_driver_is_reported_by_the_doctor(installed: Path) -> None:
    output = accelwatch("backends", environ={"PYTHONPATH": str(installed)}).stdout
    assert any(line.startswith("template ") for line in output.splitlines())
