"""Repeat offenders of a real hub: its journal, its page, the command, nodes and plans."""

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelwatch.alerting.incidents.journal.records import (
    Batch,
    IncidentRecord,
    MaintenanceRecord,
    Record,
)
from accelwatch.alerting.incidents.journal.sqlite.file import FILE, open_file
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from accelwatch.plugins import entry_points as plugins
from accelwatch.remediation.settings import ActionSettings, DataGuard, RemedySettings
from remediation.fake_scheduler import FakeAction, FakeScheduler
from support.fleet.hub_peers import agent, hub
from support.incidents.hardware_faults import DAY_S, failed
from support.incidents.incident_samples import over
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- id: gpu.lost
  title: A GPU is lost
  when: state == "lost"
  severity: critical
  advice: reboot
"""
SICK = machines.device(1)
BROKEN = machines.snapshot(machines.view(0), machines.lost_view(1))
# Of other serial numbers.
OTHER = machines.snapshot(machines.view(5))


def rules_of(folder: Path, text: str = RULES) -> RuleSettings:
    file = folder / "rules.yaml"
    file.write_text(text, encoding="utf-8")
    return RuleSettings(files=(str(file),), interval_s=0.1)


def earlier(number: int, days: float, node: str, **fields: Any) -> Incident:
    """A closed incident of the device that is lost now, of so many days ago."""
    started = time.time() - days * DAY_S
    identity = {"serial": SICK.serial, "slot": SICK.pci_bus_id, "name": SICK.name}
    made = failed(number, days, now=time.time(), **{"node": node, **identity, **fields})
    return over(made, started + 600)


def journal(folder: Path, records: Sequence[Record]) -> Path:
    state = folder / "state"
    state.mkdir(mode=0o700)
    file = open_file(state / FILE)
    file.write([Batch(time=time.time(), records=list(records))])
    file.close()
    return state


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    result = await asyncio.to_thread(CliRunner().invoke, build(), words)
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def test_faults_of_the_journal_and_of_now_are_one_offender_everywhere(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent(BROKEN) as bad, agent(OTHER) as well:
            node = bad.address
            in_window = earlier(3, 10.0, node)
            window = Maintenance(
                id="m1",
                nodes=(node,),
                starts=in_window.opened - 60,
                ends=in_window.opened + 60,
                by="ana",
                reason="new firmware",
            )
            records: list[Record] = [
                IncidentRecord(earlier(1, 20.0, node)),
                IncidentRecord(earlier(2, 40.0, node)),
                IncidentRecord(in_window),
                MaintenanceRecord(window),
            ]
            state = journal(tmp_path, records)
            async with hub(
                node, well.address, rules=rules_of(tmp_path), state_dir=state
            ) as running:
                options = ("--hub", running.base)
                # It is open before it is written down, and counts from then on.
                await running.until(lambda: bool(running.hub.rules and running.hub.rules.version))
                # That of 40 days ago and that of the window do not count.
                page = await running.get("/v1/lemons")
                assert (page["days"], page["rules"], page["faults"]) == (28, 1, 2)
                assert page["problems"] == []
                (lemon,) = page["lemons"]
                assert (lemon["blamed"], lemon["node"]) == ("device or slot", node)
                assert (lemon["device"], lemon["serial"]) == (SICK.name, SICK.serial)
                assert lemon["slot"] == SICK.pci_bus_id
                assert lemon["faults"] == 2
                assert [note["rule"] for note in lemon["evidence"]] == [
                    "gpu.lost",
                    "nvidia.gpu.lost",
                ]

                single = await running.get(f"/v1/nodes/{node}")
                note = {key: lemon[key] for key in ("blamed", "device", "faults", "score", "last")}
                assert {**single["lemon"], "score": 0} == {**note, "score": 0}
                assert (await running.get(f"/v1/nodes/{well.address}"))["lemon"] is None

                code, out, errors = await typed("lemons", *options)
                assert (code, errors) == (0, "")
                head, line = out.splitlines()
                assert head.split() == [
                    *("SCORE", "FAULTS", "BLAMED", "WHERE", "SERIAL", "SLOT", "LAST", "WHY")
                ]
                assert f"device or slot  {node}/{SICK.name}  {SICK.serial}" in line
                assert line.split()[1] == "2"
                _, out, _ = await typed("lemons", "--evidence", *options)
                _, _, newest, oldest = out.splitlines()
                assert f"{node}/{SICK.name}: A GPU is lost (gpu.lost), serial" in newest
                assert "GPU has fallen off the bus (nvidia.gpu.lost)" in oldest
                code, out, _ = await typed("lemons", "--json", *options)
                assert (code, json.loads(out)["lemons"][0]["faults"]) == (0, 2)

                code, out, errors = await typed("lemons", "--least", "3", *options)
                assert (code, out) == (0, "")
                assert "nothing failed 3 times in 28 days (2 confirmed hardware faults)" in errors

    asyncio.run(main())


def test_parameters_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as well, hub(well.address, rules=rules_of(tmp_path)) as running:
            for least in ("0", "many", "-1"):
                text = "least: a number of faults, at least 1"
                assert text in await running.get(f"/v1/lemons?least={least}", 400)
            assert "no parameter 'node'" in await running.get("/v1/lemons?node=n1", 400)
            code, _, errors = await typed("lemons", "--least", "0", "--hub", running.base)
            assert code != 0
            assert "--least: a number of faults, at least 1" in errors

    asyncio.run(main())


def test_it_says_what_is_missing(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as well, hub(well.address, rules=rules_of(tmp_path)) as running:
            page = await running.get("/v1/lemons")
            assert "no journal is kept here" in page["problems"][0]
            code, out, errors = await typed("lemons", "--least", "1", "--hub", running.base)
            assert (code, out) == (0, "")
            assert "no journal is kept here" in errors
            assert "nothing failed once in 28 days (0 confirmed hardware faults)" in errors
        async with agent() as well, hub(well.address) as running:
            code, _, errors = await typed("lemons", "--agent", well.address)
            assert code != 0
            assert "no such page: faults are counted by hubs; name one with --hub" in errors
            assert (await running.get("/v1/lemons"))["rules"] == 0
            code, out, errors = await typed("lemons", "--hub", running.base)
            assert (code, out) == (0, "")
            assert "no rules are configured, so no faults are counted" in errors

    asyncio.run(main())


ACTING = """\
version: 1
rules:
- id: gpu.lost
  title: A GPU is lost
  when: state == "lost"
  severity: critical
  confidence: high
  advice: reboot
  mode: approve
  trust: any
  action: {quarantine: {level: node, when: now}}
"""


def test_a_plan_shows_the_record_of_the_node_and_is_no_other_plan_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = FakeScheduler(IdleClock(), ["n1"])
    world.nodes["n1"].boot_id = machines.snapshot().boot_id
    load = plugins.load

    def loaded(group: str, name: str) -> Any:
        is_action = group == plugins.ACTIONS
        return (lambda _: FakeAction(world)) if is_action else load(group, name)

    monkeypatch.setattr(plugins, "load", loaded)

    async def main() -> None:
        async with agent(BROKEN) as bad:
            node = bad.address
            state = journal(tmp_path, [IncidentRecord(earlier(1, 20.0, node))])
            remedy = RemedySettings(
                ceiling="resume",
                actions=(ActionSettings(type="fake"),),
                nodes={node: "n1"},
                data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0, silent=1.0),
                stop_file=str(tmp_path / "STOP"),
            )
            async with hub(
                node, rules=rules_of(tmp_path, ACTING), state_dir=state, remedy=remedy
            ) as running:
                remedies = running.hub.remedies
                assert remedies is not None
                engine = remedies.engine
                await running.until(
                    lambda: any(each.approval.asked for each in engine.state.remedies.values())
                )
                await running.hub.faults.refresh()
                plan = remedies.plan(node)
                assert plan.record.startswith("2 confirmed faults in 28 days, the last on ")
                assert plan.record.endswith(f"; all on serial {SICK.serial}")
                approved_plan = engine.state.remedies[node].approval.asked
                assert plan.digest == approved_plan
                _, out, _ = await typed("remedy", "plan", node, "--hub", running.base)
                assert f"record: {plan.record}" in out.splitlines()
                page = await running.get(f"/v1/plan?node={node}")
                assert page["plan"]["record"] == plan.record

    asyncio.run(main())
