"""What is typed at three in the morning: remedies, plan, quarantine, release, approve, stop."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from accelwatch.base.clock import SystemClock
from accelwatch.cli.remedy.remedy_outcome import code_of
from accelwatch.config.model import RuleSettings
from accelwatch.plugins import entry_points as plugins
from accelwatch.remediation.settings import ActionSettings, DataGuard, RemedySettings
from cli.test_silence_commands import typed
from remediation.fake_scheduler import FakeAction, FakeScheduler
from support.fleet.hub_peers import agent, hub
from support.incidents.remedy_documents import answered, remedy
from support.machines import composed as machines

RULES = """\
version: 1
rules:
- id: gpu.lost
  title: A GPU is lost
  when: state == "lost"
  severity: critical
  confidence: high
  mode: approve
  trust: any
  action: {quarantine: {level: node, when: now}}
"""


def test_a_night_from_the_plan_to_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ana")
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    world = FakeScheduler(SystemClock(), ["n1"])
    world.nodes["n1"].boot_id = machines.snapshot().boot_id
    load = plugins.load

    def loaded(group: str, name: str) -> Any:
        is_action = group == plugins.ACTIONS
        return (lambda _: FakeAction(world)) if is_action else load(group, name)

    monkeypatch.setattr(plugins, "load", loaded)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as one:
            node = one.address
            remedy = RemedySettings(
                ceiling="resume",
                actions=(ActionSettings(type="fake"),),
                nodes={node: "n1"},
                data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0, silent=1.0),
                stop_file=str(tmp_path / "STOP"),
            )
            async with hub(node, rules=rules, state_dir=tmp_path, remedy=remedy) as running:
                hub_option = ("--hub", running.base)
                why = ("--reason", "by hand", *hub_option)
                engine = running.hub.remedies
                assert engine is not None
                state = engine.engine
                await running.until(
                    lambda: any(one.approval.asked for one in state.state.remedies.values())
                )

                code, out, _ = await typed("remedy", "list", *hub_option)
                assert code == 0
                assert out.startswith(f"{node}  awaiting approval  since ")
                code, out, _ = await typed("remedy", "plan", node, *hub_option)
                lines = out.splitlines()
                assert lines[0] == f"{node} is awaiting approval"
                digest = lines[1].split()[1]
                assert lines[1] == f"plan {digest} of rule gpu.lost for i1"
                assert lines[2] == "mode approve, confidence high"
                assert lines[3] == f"1. take {node} out of the pool"
                code, _, errors = await typed("approve", node, *why)
                assert code != 0
                assert f"accelwatch remedy plan {node} shows it" in errors
                code, _, errors = await typed("approve", node, "--plan", digest, *hub_option)
                assert code != 0
                assert "--reason TEXT is required" in errors
                code, out, _ = await typed("approve", node, "--plan", "0" * 16, *why)
                assert code in (1, 4)
                assert world.nodes["n1"].mark is None
                code, out, _ = await typed("approve", node, "--plan", digest, *why)
                assert code == 0
                await running.until(lambda: world.nodes["n1"].mark is not None)

                code, out, errors = await typed("stop", *why)
                assert (code, out) == (0, "")
                assert "ana (unverified) stopped everything" in errors
                _, _, errors = await typed("remedies", *hub_option)
                assert "remedies are stopped by ana (unverified): by hand" in errors
                assert (await typed("start", *why))[0] == 0
                code, out, _ = await typed("breaker", *hub_option)
                assert (code, out) == (0, "closed\n")
                assert (await typed("breaker", "reset", *why))[0] == 0
                code, _, errors = await typed("breaker", "open", *hub_option)
                assert code != 0
                assert "`remedy breaker reset`" in errors

                code, out, _ = await typed("retry", node, *why)
                assert (code, out.startswith(f"{node}  quarantined")) == (1, True)
                code, out, _ = await typed("release", node, "--force", "--json", *why)
                assert (code, json.loads(out)["notes"] != []) == (0, True)
                await running.until(lambda: world.nodes["n1"].mark is None)
                assert (await typed("forget", node, *why))[:2] == (0, "")
                assert node not in state.state.remedies
                assert (await typed("hold", node, "--for", "4h", *why))[0] == 0
                _, _, errors = await typed("remedies", *hub_option)
                assert f"{node} is on hold: ana (unverified): by hand" in errors
                assert (await typed("hold", node, "--end", *why))[0] == 0
                code, _, errors = await typed("quarantine", "n9", *why)
                assert code != 0
                assert "no node 'n9'" in errors

    asyncio.run(main())


def test_a_hub_that_does_not_act_says_so() -> None:
    async def main() -> None:
        async with hub() as running:
            code, out, errors = await typed("remedies", "--hub", running.base)
            assert (code, out) == (0, "")
            assert "see remedy.actions in hub.yaml" in errors
            _, _, errors = await typed("breaker", "--hub", running.base)
            assert "see remedy.actions in hub.yaml" in errors
            code, _, errors = await typed("stop", "--reason", "x", "--hub", running.base)
            assert code != 0
            assert "there are no remedy.actions in hub.yaml" in errors

    asyncio.run(main())


@pytest.mark.parametrize(
    ("stage", "code"), [("quarantined", 0), ("awaiting_approval", 4), ("unknown", 3), (None, 0)]
)
def test_the_exit_code_is_the_state_of_the_node(stage: str | None, code: int) -> None:
    row = None if stage is None else remedy("n1", stage, "i1")
    assert code_of("release", answered("ana released it", row)) == code
    assert code_of("release", answered("this changes nothing", row)) == 1
