"""Options before a command: counted by `snapshot`, refused by every other command, never thrown away."""

import json
from pathlib import Path

import pytest

from accelwatch.cli.node.snapshot_command import snapshot_command
from accelwatch.cli.startup.app import build
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

COMMANDS = [name for name in build().commands if name != "snapshot"]


def test_snapshot_counts_options_on_both_sides(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    before = ("--replay", "demo", "-o", str(target), "-i", "nvidia:0", "--fields", "name", *PATIENT)
    run = accelwatch(*before, "snapshot", "--json", "-d", "nvidia:1", "--fields", "index")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    devices = json.loads(target.read_text())["devices"]
    assert [one["index"] for one in devices] == [0, 1]
    assert all("uuid" not in one and one.get("name") is None for one in devices)


def test_a_flag_before_snapshot_counts(tmp_path: Path) -> None:
    del tmp_path
    run = accelwatch("--json", "--replay", "demo", *PATIENT, "snapshot")
    assert json.loads(run.stdout)["schema"].startswith("accelwatch/")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_other_command_throws_one_away(command: str) -> None:
    run = accelwatch("--visible", command)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        f"accelwatch: --visible stands before '{command}', where it is not read; "
        f"`accelwatch {command}` has no such option\n"
    )


@pytest.mark.parametrize(
    ("words", "mend"),
    [
        ("--replay demo pick", "write: accelwatch pick --replay ..."),
        ("-f index==0 pick", "write: accelwatch pick --filter ..."),
        ("--filter index==0 pick", "write: accelwatch pick --filter ..."),
        ("-o out.ndjson record", "write: accelwatch record --output ..."),
        ("--json doctor", "write: accelwatch doctor --json"),
        ("--replay demo dashboard", "write: accelwatch dashboard --replay ..."),
        ("-w fleet", "write: accelwatch fleet --watch ..."),
    ],
)
def test_the_refusal_says_the_mend(words: str, mend: str) -> None:
    run = accelwatch(*words.split())
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.endswith(f"; {mend}\n")
    assert run.stderr.count("\n") == 1


def test_every_option_has_a_long_flag_to_be_named_by() -> None:
    for option in snapshot_command.params:
        assert any(flag.startswith("--") for flag in option.opts), option.name
