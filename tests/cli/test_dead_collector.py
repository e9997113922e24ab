"""A collector that dies at its start, or reports nothing: is there an accelerator?"""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

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


class Ended(NamedTuple):
    """Two commands that have ended, and the recording of the second."""

    watch: "subprocess.CompletedProcess[str]"
    record: "subprocess.CompletedProcess[str]"
    path: Path


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a machine on which no collector gets beyond the start of its interpreter."""
    folder = tmp_path_factory.mktemp("dying")
    (folder / "sitecustomize.py").write_text(DIES)
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return {"PYTHONPATH": path}


@pytest.fixture(scope="module")
def ended(dying: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A watch and a recorder on that machine, at once: each waits until its deadline."""
    path = tmp_path_factory.mktemp("recorder") / "r.ndjson"
    words = (
        ("--watch", "250ms", "-n", "2"),
        ("record", "-o", str(path), "-n", "1", "--interval", "250ms"),
    )
    with ThreadPoolExecutor() as pool:
        watch, record = pool.map(lambda one: command(*one, *DEADLINE, *WORDS, environ=dying), words)
    return Ended(watch, record, path)


def test_a_watch_fails_and_says_why(ended: Ended) -> None:
    watch = ended.watch
    assert watch.returncode == 1
    assert watch.stderr.splitlines().count(MESSAGE) == 1
    assert "no device could be read (nvidia)" in watch.stdout
    assert "no accelerator found" not in watch.stdout


def test_a_recorder_fails_and_says_why(ended: Ended) -> None:
    record = ended.record
    assert record.returncode == 1
    assert record.stderr.splitlines()[-2:] == [
        "accelwatch: neither a device nor the host could be read",
        MESSAGE,
    ]
    with Recording.open(ended.path) as recording:
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
    with ThreadPoolExecutor() as pool:
        other = pool.submit(asyncio.run, awaited())
        shots = (first_of(blocking), other.result())
    for shot in shots:
        assert [(one.name, one.state) for one in shot.backends] == [("nvidia", BackendState.FAILED)]
