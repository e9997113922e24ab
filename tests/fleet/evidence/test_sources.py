"""Clusters are read as the settings in force say; what is left of others ends."""

import asyncio
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from accelwatch.fleet.evidence import sources as sources_module
from accelwatch.fleet.evidence.intake import EvidenceIntake
from accelwatch.fleet.evidence.sources import EvidenceSources
from accelwatch.fleet.evidence_settings import Evidence, KubernetesEvidence, SlurmEvidence
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.target import targets_of
from support.processes.idle_loop import IdleClock

LINE = "NodeName=n1 NodeAddr=n1 NodeHostName=n1 State=IDLE+DRAIN Reason=NHC: bad [root@1]"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_module, "_POLL_S", 0.01)


def scontrol(folder: Path, line: str = LINE) -> str:
    """A program that knows no JSON and prints one node."""
    file = folder / "scontrol"
    json = 'case "$*" in *--json*) echo "unrecognized option" >&2; exit 1;; esac'
    file.write_text(f"#!/bin/sh\n{json}\necho '{line}'\n", "utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


class World:
    def __init__(self, settings: Evidence) -> None:
        self.settings = settings
        self.fleet = Fleet(IdleClock(), Thresholds(), None)
        self.fleet.set_targets(targets_of(["n1:9877"]))
        intake = EvidenceIntake(self.fleet)
        self.sources = EvidenceSources(intake, lambda: self.settings, environ={})

    def play(self, scenario: Callable[[], Awaitable[None]]) -> None:
        async def run() -> None:
            task = asyncio.create_task(self.sources.run())
            try:
                async with asyncio.timeout(30):
                    await scenario()
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        asyncio.run(run())

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(0.01)


def test_a_cluster_that_is_configured_no_more_leaves_no_evidence(tmp_path: Path) -> None:
    world = World(Evidence(slurm=(SlurmEvidence(scontrol=scontrol(tmp_path)),)))

    async def scenario() -> None:
        await world.until(lambda: len(world.fleet.evidence) == 1)
        world.settings = Evidence()
        await world.until(lambda: len(world.fleet.evidence) == 0)

    world.play(scenario)


def test_a_cluster_that_cannot_be_queried_is_logged(tmp_path: Path) -> None:
    missing = SlurmEvidence(scontrol=str(tmp_path / "nothing"))
    world = World(Evidence(slurm=(missing,), kubernetes=(KubernetesEvidence(name="alpha"),)))

    async def scenario() -> None:
        await world.until(lambda: len(world.sources.problems) == 2)
        outside, absent = world.sources.problems
        assert outside.startswith("evidence of alpha: not within a cluster")
        assert absent.startswith("evidence of slurm: scontrol: ")

    world.play(scenario)


def test_one_whose_task_ends_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs: list[int] = []

    class Broken:
        problem = ""

        def __init__(self, *_: object) -> None:
            pass

        async def run(self) -> None:
            runs.append(1)
            raise RuntimeError("broken")

    monkeypatch.setattr(sources_module, "SlurmPolling", Broken)
    world = World(Evidence(slurm=(SlurmEvidence(),)))
    world.play(lambda: world.until(lambda: len(runs) > 2))
    assert "restarted: RuntimeError('broken')" in caplog.text
