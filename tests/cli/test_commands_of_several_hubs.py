"""Commands with several `--hub`: lists of all, and each request at the hub that it is about."""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.config.model import RuleSettings
from support.fleet.hub_peers import Running, agent
from support.fleet.several_hubs import hub_of, other_machine
from support.machines import composed as machines
from support.processes.warm_command import accelwatch

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""
Run = subprocess.CompletedProcess[str]


class Pods(NamedTuple):
    """Two hubs with a lost device each."""

    first: Running
    second: Running

    async def run(self, *words: str, more: str = "") -> Run:
        """A command over both, and over one more."""
        hubs = ["--hub", f"pod-1={self.first.base}", "--hub", f"pod-2={self.second.base}"]
        hubs += ["--hub", more] if more else []
        return await asyncio.to_thread(lambda: accelwatch(*words, *hubs))


def mutes(running: Running) -> int:
    judging = running.hub.rules
    assert judging is not None
    return len(judging.incident_store.muting.silences)


@contextlib.asynccontextmanager
async def pods(folder: Path) -> AsyncIterator[Pods]:
    file = folder / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    other = other_machine(1).devices[0].device
    lost = msgspec.structs.replace(machines.lost_view(0), device=other)
    async with (
        agent(machines.snapshot(machines.lost_view(0))) as one,
        agent(machines.snapshot(lost)) as two,
        hub_of(folder / "a", {"n1": one.address}, rules=rules, state_dir=folder / "a") as first,
        hub_of(folder / "b", {"n2": two.address}, rules=rules, state_dir=folder / "b") as second,
    ):
        for running in (first, second):
            judging = running.hub.rules
            assert judging is not None
            await running.until(lambda judging=judging: bool(judging.open))  # type: ignore[misc]
        yield Pods(first, second)


def test_incidents_and_silences_of_both_hubs(tmp_path: Path) -> None:
    async def main() -> None:
        async with pods(tmp_path) as found:
            run = await found.run("incidents", "--json")
            assert run.returncode == 0, run.stderr
            page = json.loads(run.stdout)
            assert {one["id"] for one in page["incidents"]} == {"i1@pod-1", "i1@pod-2"}
            assert page["problems"] == []

            run = await found.run("incidents", "i1@pod-2", "--json")
            shown = json.loads(run.stdout)
            assert (shown["id"], shown["node"]) == ("i1@pod-2", "n2")
            run = await found.run("incidents", "i1")
            assert run.returncode != 0
            assert "'i1' does not name its hub (pod-1, pod-2), as i7@pod-1 does" in run.stderr

            run = await found.run(
                "silence", "add", "node=n2", "--for", "2h", "--reason", "cables", "--json"
            )
            assert run.returncode == 0, run.stderr
            assert json.loads(run.stdout)["silence"]["id"].endswith("@pod-2")
            assert (mutes(found.first), mutes(found.second)) == (0, 1)
            run = await found.run(
                "silence", "add", "rule=gpu.lost", "--for", "2h", "--reason", "known"
            )
            assert run.returncode == 2
            assert f"ask one at a time, --hub {found.first.base}" in run.stderr
            assert (mutes(found.first), mutes(found.second)) == (0, 1)
            run = await found.run("silence", "list", "--json")
            (silence,) = json.loads(run.stdout)["silences"]
            assert silence["id"].endswith("@pod-2")
            run = await found.run("silence", "end", silence["id"])
            assert run.returncode == 0, run.stderr
            assert mutes(found.second) == 0

    asyncio.run(main())


def test_why_is_answered_over_both_hubs(tmp_path: Path) -> None:
    async def main() -> None:
        async with pods(tmp_path) as found:
            run = await found.run("why", "n2", "--json")
            assert run.returncode == 0, run.stderr
            assert "n2" in run.stdout
            assert "gpu.lost" in run.stdout or "lost" in run.stdout
            run = await found.run("why", "n9")
            assert run.returncode != 0
            run = await found.run("why", "n1", more="pod-3=127.0.0.1:1")
            assert run.returncode == 0, run.stderr
            assert "  missing:    hub pod-3: cannot connect" in run.stdout
            run = await found.run("why", "--json")
            assert json.loads(run.stdout)["missing"] == []

    asyncio.run(main())


def test_a_name_that_only_a_silent_hub_may_know_is_not_called_unknown(tmp_path: Path) -> None:
    async def main() -> None:
        async with pods(tmp_path) as found:
            silence = ("silence", "add", "node=n9", "--for", "2h", "--reason", "cables")
            for words in (("why", "n9"), silence):
                run = await found.run(*words)
                assert run.returncode == 4, run.stderr
                assert "pod-" not in run.stderr
                run = await found.run(*words, more="pod-3=127.0.0.1:1")
                assert run.returncode == 1, run.stderr
                assert "pod-3" in run.stderr

    asyncio.run(main())


def test_a_list_of_nodes_to_avoid_without_a_hub_is_exit_1(tmp_path: Path) -> None:
    async def main() -> None:
        async with pods(tmp_path) as found:
            run = await found.run("avoid", "--format", "slurm")
            assert (run.returncode, run.stdout) == (0, "n[1-2]\n"), run.stderr
            run = await found.run("avoid", "--format", "slurm", more="pod-3=127.0.0.1:1")
            assert (run.returncode, run.stdout) == (1, "n[1-2]\n")
            assert "hub pod-3: cannot connect" in run.stderr
            run = await found.run("avoid", "--format", "json", more="pod-3=127.0.0.1:1")
            assert (run.returncode, json.loads(run.stdout)["whole"]) == (1, False)

    asyncio.run(main())


def test_usage_of_both_hubs_and_of_one_that_does_not_answer(tmp_path: Path) -> None:
    async def main() -> None:
        async with pods(tmp_path) as found:
            run = await found.run("usage", "--json", more="pod-3=127.0.0.1:1")
            assert run.returncode == 0, run.stderr
            report = json.loads(run.stdout)
            assert report["whole"] is False
            assert any(
                note.startswith("pod-3 is missing: cannot connect") for note in report["notes"]
            )

    asyncio.run(main())


def test_of_hubs_without_actions_the_one_that_answers_is_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            agent() as one,
            hub_of(tmp_path / "a", {"n1": one.address}) as first,
            hub_of(tmp_path / "b", {"n1": one.address}) as second,
        ):
            for running in (first, second):
                await running.devices("n1", 8)
            run = await Pods(first, second).run("remedy", "quarantine", "n1", "--reason", "dead")
            assert run.returncode == 1
            assert run.stderr == (
                "accelwatch: hub pod-1: nothing is done here: "
                "there are no remedy.actions in hub.yaml\n"
            )

    asyncio.run(main())


def test_what_is_not_of_several_hubs_names_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with pods(tmp_path) as found:
            run = await found.run("rules", "list")
            assert run.returncode == 0
            assert "this is not asked of several hubs at once" in run.stderr
            run = await found.run("odd")
            assert run.returncode == 2
            assert "this is not asked of several hubs at once" in run.stderr
            for hub in (found.first, found.second):
                assert f"--hub {hub.base}" in run.stderr

    asyncio.run(main())
