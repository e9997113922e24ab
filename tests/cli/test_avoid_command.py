"""`accelwatch avoid`, asked of a running hub: a table, JSON, and what launchers read."""

import asyncio
import json
from pathlib import Path

import yaml
from click.testing import CliRunner

from accelwatch.base.names.host_ranges import expand, listed
from accelwatch.cli.startup.app import build
from accelwatch.config.model import RuleSettings
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
"""


async def typed(*words: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    result = await asyncio.to_thread(CliRunner().invoke, build(), ["avoid", *words])
    return result.exit_code, result.stdout, result.stderr or str(result.exception or "")


def test_each_form_names_the_same_nodes(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)

    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as bad, agent() as well:
            targets = (bad.address, well.address, "127.0.0.1:1")
            async with hub(*targets, rules=rules, state_dir=tmp_path) as running:
                hub_option = ("--hub", running.base)
                await running.until(lambda: bool(running.hub.rules and running.hub.rules.open))
                await running.until(lambda: running.fault("127.0.0.1:1") != "")
                names = sorted(["127.0.0.1:1", bad.address])

                code, out, errors = await typed(*hub_option)
                assert (code, errors) == (0, "")
                head, *lines = out.splitlines()
                assert head.split() == ["NODE", "REASON", "SINCE", "INCIDENT", "WHAT"]
                cells = [line.split(maxsplit=4) for line in lines]
                assert [row[:2] for row in cells] == [
                    ["127.0.0.1:1", "unreachable"],
                    [bad.address, "incident"],
                ]
                assert cells[1][3:] == ["i1", f"{machines.device(1).name}: A GPU is lost"]

                code, out, _ = await typed("--format", "json", *hub_option)
                assert [row["node"] for row in json.loads(out)["nodes"]] == names

                code, out, _ = await typed("--format", "hostfile", *hub_option)
                assert out.splitlines() == names

                code, out, _ = await typed("--format", "slurm", *hub_option)
                (line,) = out.splitlines()
                assert sorted(host for part in listed(line) for host in expand(part)) == names

                code, out, _ = await typed("--format", "k8s", *hub_option)
                terms = yaml.safe_load(out)["nodeAffinity"][
                    "requiredDuringSchedulingIgnoredDuringExecution"
                ]["nodeSelectorTerms"]
                assert terms == [
                    {
                        "matchExpressions": [
                            {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": names}
                        ]
                    }
                ]

                code, out, _ = await typed(
                    "--reason", "incident", "--format", "hostfile", *hub_option
                )
                assert out.splitlines() == [bad.address]
                code, _, errors = await typed("--severity", "loud", *hub_option)
                assert code != 0
                assert "'loud' is not one of" in errors

    asyncio.run(main())


def test_a_fleet_without_faults_gives_forms_without_nodes(tmp_path: Path) -> None:
    async def main() -> None:
        async with agent() as well, hub(well.address) as running:
            await running.until(lambda: running.mode(well.address) == "stream")
            hub_option = ("--hub", running.base)
            outs = {}
            for form in ("table", "slurm", "hostfile", "k8s"):
                code, outs[form], errors = await typed("--format", form, *hub_option)
                assert code == 0
                assert "no rules are configured" in errors
            assert outs == {"table": "", "slurm": "\n", "hostfile": "", "k8s": "{}\n"}

    asyncio.run(main())


def test_a_list_of_all_nodes_comes_with_a_warning() -> None:
    async def main() -> None:
        async with hub("127.0.0.1:1") as running:
            await running.until(lambda: running.fault("127.0.0.1:1") != "")
            code, out, errors = await typed("--format", "hostfile", "--hub", running.base)
            assert (code, out) == (0, "127.0.0.1:1\n")
            assert "every node is in this list" in errors

    asyncio.run(main())
