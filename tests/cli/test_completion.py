"""What the shells' completion functions get from the command, and the scripts that ask for it."""

from pathlib import Path

import pytest

from accelwatch.cli.completion import offered
from accelwatch.node import snapshots
from support.machines import composed as machines
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import accelwatch
from support.processes.waiting import wait_until


def test_lists_are_completed_word_by_word() -> None:
    assert offered("fields", "name,power_w") == ["name,power_watts"]
    assert offered("formats", "") == ["table", "json", "csv", "prometheus"]
    assert offered("groups", "all") == ["all"]
    assert offered("vendors", "nv") == ["nvidia"]
    assert offered("groupings", "u") == ["user"]
    assert "contrast" in offered("themes", "c")
    assert "memory.used" in offered("query_fields", "memory.u")


def test_devices_of_the_machine_are_offered(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.write()
    variables = {"COMP_WORDS": "accelwatch --device nvidia:7", "COMP_CWORD": "2"}
    environ = {**scenario.environment(), "_ACCELWATCH_COMPLETE": "complete_bash", **variables}
    # A shell waits a second at most, and gets no list then.
    wait_until(lambda: accelwatch(environ=environ).stdout.split() == ["nvidia:7"])


def test_a_device_whose_uuid_is_not_known_yet_is_offered_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = machines.device(7, id="nvidia:7", uuid=None)
    known = machines.snapshot(machines.view(7, device=device))
    monkeypatch.setattr(snapshots, "read_once", lambda _: known)
    assert offered("devices", "nvidia:7") == ["nvidia:7"]


@pytest.mark.parametrize(
    ("shell", "environ"),
    [
        ("bash", {"COMP_WORDS": "accelwatch --fields power_wat", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "accelwatch --fields power_wat"}),
        (
            "fish",
            {
                "_TYPER_COMPLETE_ARGS": "accelwatch --fields power_wat",
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
        ),
    ],
)
def test_each_shell_is_answered(shell: str, environ: dict[str, str]) -> None:
    run = accelwatch(environ={"_ACCELWATCH_COMPLETE": f"complete_{shell}", **environ})
    assert "power_watts" in run.stdout
    assert run.stderr == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    run = accelwatch(environ={"_ACCELWATCH_COMPLETE": f"source_{shell}"})
    assert (run.returncode, run.stderr) == (0, "")
    assert f"complete_{shell}" in run.stdout
