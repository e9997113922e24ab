"""`--root`, `--backend` and `--collect` mean one thing: each command reads the same composed machine."""

import asyncio
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelwatch.archive.recording import Recording
from accelwatch.cli.servers.serve import ServeOptions, dashboard_argv
from accelwatch.cli.startup.dashboard_command import dashboard_command
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.app import Dashboard
from support.machines.packed_trees import FakeTree
from support.processes.installed_command import PATIENT
from support.processes.warm_command import accelwatch

NAMES = ["amd0", "amd1", *(f"amd1/xcp{part}" for part in range(8))]
Machine = tuple[str, ...]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Flags that name AMD's devices, with their links, of a machine that has Intel's as well."""
    root = tmp_path / "host"
    tree = FakeTree(root)
    tree.lay_out("amd/mi300x-x2")
    tree.lay_out("intel/arc-b580")
    return "--root", str(root), "--backend", "amd", "--collect", "links"


def assert_is_it(document: dict[str, Any]) -> None:
    """Only that backend's devices, with the values of the group."""
    assert [device["name"] for device in document["devices"]] == NAMES
    first = document["devices"][0]
    assert first["link_bytes_total"] or first["link_up"]


def test_a_snapshot(machine: Machine) -> None:
    run = accelwatch("--json", *PATIENT, *machine)
    assert run.returncode == 0, run.stderr
    assert_is_it(json.loads(run.stdout))


def test_a_recording(machine: Machine, tmp_path: Path) -> None:
    file = tmp_path / "one.ndjson"
    run = accelwatch("record", "-o", str(file), "-n", "1", *PATIENT, *machine)
    assert run.returncode == 0, run.stderr
    assert_is_it(json.loads(file.read_text().splitlines()[0]))
    recording = Recording.open(file)
    assert [view.device.name for view in recording.at(0).devices] == NAMES
    recording.close()


def test_a_choice_for_a_job(machine: Machine) -> None:
    run = accelwatch("pick", "--format", "json", "-f", "index == 0", *PATIENT, *machine)
    assert run.returncode == 0, run.stderr
    chosen = json.loads(run.stdout)
    assert chosen["variable"] == "ROCR_VISIBLE_DEVICES"
    run = accelwatch("pick", *PATIENT, *machine, "--backend", "intel", "--vendor", "intel")
    assert run.stdout == "ZE_AFFINITY_MASK=0\n", run.stderr


def test_the_agent(machine: Machine, tmp_path: Path) -> None:
    agent = ("accelwatch", "agent", "--web.listen-address", "127.0.0.1:0")
    words = (sys.executable, "-m", *agent, "--state-dir", str(tmp_path))
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        (*words, *machine), stderr=subprocess.PIPE, text=True, env=environ
    ) as one:
        assert one.stderr is not None
        try:
            address = re.search(r"address=(\S+)", one.stderr.readline())
            assert address is not None
            assert "devices=10 backends=amd" in one.stderr.readline()
            with urllib.request.urlopen(f"http://{address[1]}/v1/snapshot") as answer:
                assert_is_it(json.load(answer))
        finally:
            one.terminate()


def test_the_dashboard(machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    seen: list[Snapshot] = []

    def whole(shot: Snapshot | None) -> bool:
        return shot is not None and [view.device.name for view in shot.devices] == NAMES

    async def follow(source: Any) -> None:
        def changed() -> None:
            shot = source.snapshot()
            if whole(shot) and shot.devices[0].reading.values:
                seen.append(shot)
                running.cancel()

        running = asyncio.create_task(source.run(changed))
        async with asyncio.timeout(60):
            await asyncio.gather(running, return_exceptions=True)

    monkeypatch.setattr("accelwatch.cli.startup.dashboard_command.on_terminal", lambda: True)
    monkeypatch.setattr(Dashboard, "run", lambda app: asyncio.run(follow(app.source)))
    result = CliRunner().invoke(dashboard_command, list(machine))
    assert result.exit_code == 0, result.output
    values = seen[0].devices[0].reading.values
    assert any(series[0].startswith("link_") for series in values)


def test_a_visitor_s_dashboard(machine: Machine) -> None:
    from accelwatch.cli.collect_flags import MachineOptions

    flags = MachineOptions(root=machine[1], backend=["amd,host", "intel"], collect=["links"])
    words = dashboard_argv(ServeOptions(machine=flags, replay="demo", condition="index == 0"))
    assert words[words.index("dashboard") :] == [
        *("dashboard", "--readonly", "--served", "--replay", "demo", "--filter", "index == 0"),
        *("--root", machine[1], "--backend", "amd,host", "--backend", "intel"),
        *("--collect", "links"),
    ]
    assert dashboard_argv(ServeOptions())[-3:] == ["dashboard", "--readonly", "--served"]
