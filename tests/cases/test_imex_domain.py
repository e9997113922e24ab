"""The driver asks to recover the IMEX domain: no GPU is to be reset, and no node taken out."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

import pytest

from support.machines.nvidia_bus import lay_out_gpu
from support.machines.packed_trees import FakeTree
from support.processes.installed_command import accelwatch

from .conftest import Case

pytestmark = pytest.mark.oracle
PATIENT = ("--timeout", "50s")


BUSES = ("0000:1b:00.0", "0000:43:00.0")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(case: Case, tmp_path: Path) -> Run:
    """Runs the command on a node whose nvidia-smi prints the file, and that has no NVML."""
    copyfile(case("07-recover-the-imex-domain/nvidia-smi-q-x.xml"), tmp_path / "answer.xml")
    tree = FakeTree(tmp_path / "root")
    for minor, bus in enumerate(BUSES):
        lay_out_gpu(tree, bus, f"GPU-c0ffee00-0000-4000-8000-{minor + 1:012d}", minor)
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "nvidia-smi"
    program.write_text(f'#!/bin/sh\ncat "{tmp_path}/answer.xml"\n')
    program.chmod(0o755)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}"}
    options = ("-b", "nvidia", "--root", str(tmp_path / "root"), *PATIENT)

    def command(*words: str) -> "subprocess.CompletedProcess[str]":
        return accelwatch(*words, *options, environ=environ)

    return command


def test_no_reason_drains_the_node(run: Run) -> None:
    slurm = run("check", "--agent", "none", "--slurm")
    assert slurm.returncode in (0, 1), slurm.stdout + slurm.stderr
    whole = run("check", "--agent", "none")
    assert "IMEX" in whole.stdout


def test_health_and_flag_ask_for_no_reset(run: Run) -> None:
    devices = json.loads(run("--once", "--json").stdout)["devices"]
    assert len(devices) == len(BUSES)
    for device in devices:
        assert device["health"] == "ok"
        assert device["reset_required"] == 0
        assert device["recovery_action_info"] == {"recover_imex_domain": 1}


def test_the_table_says_no_reset(run: Run) -> None:
    table = run("--once")
    assert table.returncode == 0, table.stderr
    assert "reset" not in table.stdout.lower()


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        ("Reset", "the driver asks for a reset of the GPU"),
        ("Reboot", "the driver asks for a reboot of the node"),
        ("Drain P2P", "the driver asks to end peer-to-peer work over the GPU"),
        ("Drain and Reset", "the driver asks to drain the GPU and to reset it"),
    ],
)
def test_any_other_action_is_named_and_critical(
    run: Run, tmp_path: Path, action: str, sentence: str
) -> None:
    text = (tmp_path / "answer.xml").read_text()
    start = text.index("<gpu_recovery_action>") + len("<gpu_recovery_action>")
    end = text.index("</gpu_recovery_action>")
    (tmp_path / "answer.xml").write_text(text.replace(text[start:end], action))
    device = json.loads(run("--once", "--json").stdout)["devices"][0]
    assert device["health_reasons"] == [sentence]
    assert device["reset_required"] == 1
    assert run("check", "--agent", "none").returncode == 2
