"""A collector that dies at its start, or reports nothing: is there an accelerator?"""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import accelwatch
from accelwatch.archive.recording import Recording
from accelwatch.schema.snapshot import BackendState, Snapshot
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import accelwatch as command

DIES = """
import os, sys
if "accelwatch.node.sampler.child" in sys.orig_argv:
    os._exit(7)
"""
MESSAGE = "accelwatch: nvidia: the collector process ended with exit_7"
WORDS = ("-b", "nvidia")
# So long, at least one collector has begun and died, however busy the machine is.
DEADLINE_S = 10.0
DEADLINE = ("--timeout", "10s")


@pytest.fixture
def dying(tmp_path: Path) -> dict[str, str]:
    """Variables of a machine on which no collector gets beyond the start of its interpreter."""
    (tmp_path / "sitecustomize.py").write_text(DIES)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    return {"PYTHONPATH": path}


def test_a_watch_fails_and_says_why(dying: dict[str, str]) -> None:
    ended = command("--watch", "250ms", "-n", "2", *DEADLINE, *WORDS, environ=dying)
    assert ended.returncode == 1
    assert ended.stderr.splitlines().count(MESSAGE) == 1
    assert "no device could be read (nvidia)" in ended.stdout
    assert "no accelerator found" not in ended.stdout


def test_a_recorder_fails_and_says_why(dying: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    words = ("record", "-o", str(path), "-n", "1", "--interval", "250ms", *DEADLINE, *WORDS)
    ended = command(*words, environ=dying)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-2:] == [
        "accelwatch: neither a device nor the host could be read",
        MESSAGE,
    ]
    with Recording.open(path) as recording:
        assert [one.state for one in recording.at(0).backends] == [BackendState.FAILED]


def test_a_driver_that_hangs_is_not_one_that_is_not_there(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8").fault("nvmlInit_v2", "hang")
    scenario.write()
    words = ("--watch", "250ms", "-n", "1", "--timeout", "1s", "--json", *WORDS)
    ended = command(*words, environ=scenario.environment())
    assert ended.returncode == 1
    (status,) = json.loads(ended.stdout)["backends"]
    assert (status["name"], status["state"], status["reason"]) == (
        "nvidia",
        "unavailable",
        "timeout",
    )
    assert "accelwatch: nvidia: nothing answered within 1 s; " in ended.stderr


def first_of(shots: Iterator[Snapshot]) -> Snapshot:
    (one,) = shots
    return one


def test_programs_are_reported_as_well(
    dying: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", dying["PYTHONPATH"])

    async def awaited() -> Snapshot:
        ticks = accelwatch.watch_async(0.25, count=1, backends=["nvidia"], timeout_s=DEADLINE_S)
        return first_of(iter([one async for one in ticks]))

    blocking = accelwatch.watch(0.25, count=1, backends=["nvidia"], timeout_s=DEADLINE_S)
    for shot in (first_of(blocking), asyncio.run(awaited())):
        assert [(one.name, one.state) for one in shot.backends] == [("nvidia", BackendState.FAILED)]
