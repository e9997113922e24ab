"""The hub's pages about rules, over real agents: a fault is an incident, its end closes it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from accelwatch.config.model import RuleSettings
from accelwatch.fleet.hub import sampling
from support.fleet.hub_peers import agent, hub
from support.fleet.two_nodes import view
from support.machines import composed as machines

LOST = """\
version: 1
defaults: {keep: 0}
rules:
- id: gpu.lost
  title: A GPU is lost
  when: state == "lost"
  severity: critical
  advice: reboot
  what_to_do: reboot the node
  source: a test
- {id: gpu.hot, title: Hot, when: temperature_celsius > 200, severity: info}
"""


@pytest.fixture
def rules(tmp_path: Path) -> RuleSettings:
    file = tmp_path / "rules.yaml"
    file.write_text(LOST, encoding="utf-8")
    return RuleSettings(files=(str(file),), interval_s=0.1)


async def until(running: Any, path: str, fits: Callable[[Any], object]) -> Any:
    """The page once it fits."""
    while not fits(page := await running.get(path)):
        await asyncio.sleep(0.02)
    return page


def test_a_fault_is_an_incident_and_its_end_closes_it(tmp_path: Path, rules: RuleSettings) -> None:
    async def main() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with (
            agent(broken) as one,
            hub(one.address, rules=rules, state_dir=tmp_path) as running,
        ):
            page = await until(running, "/v1/incidents", lambda page: page["incidents"])
            assert (page["judged"], page["rules"], page["problems"]) == (True, 2, [])
            (incident,) = page["incidents"]
            assert (incident["id"], incident["state"]) == ("i1", "open")
            assert (incident["rule"], incident["severity"]) == ("gpu.lost", "critical")
            assert incident["device_name"] == machines.device(1).name
            assert incident["nodes"] == [one.address]
            assert incident["advice"] == "reboot"
            assert incident["closed"] is None
            assert incident["since"].endswith("Z")
            assert [line["kind"] for line in incident["timeline"]] == ["opened"]
            assert (await running.get("/v1/incidents/i1"))["id"] == "i1"
            listed = (await running.get("/v1/rules"))["rules"]
            assert [(row["id"], row["open"]) for row in listed] == [("gpu.lost", 1), ("gpu.hot", 0)]
            assert all(row["cost_us"] >= 0 for row in listed)

            one.feed.put(machines.snapshot(machines.view(0), machines.view(1)))
            done = "/v1/incidents?state=closed"
            page = await until(running, done, lambda page: page["incidents"])
            assert page["incidents"][0]["closed"] is not None
            assert (await running.get("/v1/incidents"))["incidents"] == []
            assert len((await running.get("/v1/incidents?state=all"))["incidents"]) == 1

    asyncio.run(main())


def test_incidents_are_chosen_by_severity_and_node(rules: RuleSettings) -> None:
    async def main() -> None:
        broken = machines.snapshot(machines.lost_view(0))
        async with agent(broken) as one, hub(one.address, rules=rules) as running:
            await until(running, "/v1/incidents", lambda page: page["incidents"])
            for query, count in (
                ("severity=critical", 1),
                ("severity=info", 0),
                (f"node={one.address}", 1),
                ("node=nobody", 0),
                ("state=closed", 0),
                ("limit=1", 1),
            ):
                page = await running.get(f"/v1/incidents?{query}")
                assert len(page["incidents"]) == count, query

    asyncio.run(main())


HOT = """\
version: 1
rules:
- {id: gpu.hot, title: Hot, when: temperature_celsius > 80, for: 0s, severity: warning}
"""


def test_the_graphs_of_an_incident_are_those_of_its_evidence_beside_the_peers(
    tmp_path: Path,
) -> None:
    (tmp_path / "hot.yaml").write_text(HOT, encoding="utf-8")
    hot = RuleSettings(files=(str(tmp_path / "hot.yaml"),), interval_s=0.1)
    degrees = {0: 45.0, 1: 50.0, 2: 47.0, 3: 91.0}
    views = [view(at, {("temperature_celsius", "gpu"): number}) for at, number in degrees.items()]

    async def main() -> None:
        async with agent(machines.snapshot(*views)) as one, hub(one.address, rules=hot) as running:
            await until(running, "/v1/incidents", lambda page: page["incidents"])
            page = await running.get("/v1/incidents/i1/graphs")
            assert (page["id"], page["line"]) == ("i1", f"{one.address} nvidia3")
            assert page["band"] == "other devices of model NVIDIA H100 80GB HBM3"
            graph, *beside = page["graphs"]
            assert [graph["evidence"], *(other["evidence"] for other in beside)] == [
                True,
                False,
                False,
            ]
            assert (graph["name"], graph["unit"]) == ("temperature_celsius.gpu", "celsius")
            assert graph["peers"] == 3
            assert (91.0, 47.0) in zip(graph["values"], graph["median"], strict=True)
            assert set(graph["values"]) <= {None, 91.0}
            assert set(graph["lower_quartile"]) <= {None, 46.0}
            assert set(graph["upper_quartile"]) <= {None, 48.5}
            assert page["step_s"] == 10.0
            assert page["since"].endswith("Z")
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"{running.base}/incidents/i1") as answer,
            ):
                html = await answer.text()
            assert 'class="band"' in html
            assert "3 other devices of model NVIDIA H100 80GB HBM3: 47" in html

    asyncio.run(main())


def test_a_hub_keeps_samples_of_what_its_rules_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "STEP_S", 0.1)
    rule = "{id: gpu.slow, title: Slow, when: clock_hertz.memory < 1e9, severity: warning}"
    (tmp_path / "slow.yaml").write_text(f"version: 1\nrules:\n- {rule}\n", encoding="utf-8")
    slow = RuleSettings(files=(str(tmp_path / "slow.yaml"),), interval_s=0.1)
    hertz = {0: 2.6e9, 1: 2.6e9, 2: 0.5e9}
    views = [view(at, {("clock_hertz", "memory"): number}) for at, number in hertz.items()]

    async def main() -> None:
        async with agent(machines.snapshot(*views)) as one, hub(one.address, rules=slow) as running:
            await until(running, "/v1/incidents", lambda page: page["incidents"])

            def drawn(page: Any) -> bool:
                one.feed.put(machines.snapshot(*views))
                return bool(page["graphs"][0]["name"] == "clock_hertz.memory")

            page = await until(running, "/v1/incidents/i1/graphs", drawn)
            graph = page["graphs"][0]
            assert graph["evidence"]
            assert graph["peers"] == 2
            assert set(graph["values"]) - {None} == {0.5e9}
            assert set(graph["median"]) - {None} == {2.6e9}

    asyncio.run(main())


def test_a_hub_without_rules_says_so() -> None:
    async def main() -> None:
        async with hub() as running:
            page = await running.get("/v1/incidents")
            assert (page["judged"], page["rules"], page["incidents"]) == (False, 0, [])
            assert await running.get("/v1/rules") == {"digest": "", "rules": []}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("/v1/incidents?state=over", 400, "state: 'over' is not one of open, closed, all"),
        (
            "/v1/incidents?severity=loud",
            400,
            "severity: 'loud' is not one of info, warning, critical",
        ),
        ("/v1/incidents?limit=0", 400, "limit"),
        ("/v1/incidents/i99", 404, "no incident 'i99'"),
        ("/v1/incidents/i99/graphs", 404, "no incident 'i99'"),
        ("/v1/incidents/i99/graphs?x=1", 400, "x"),
    ],
)
def test_what_makes_no_sense_is_reported(path: str, code: int, text: str) -> None:
    async def main() -> None:
        async with hub() as running:
            assert text in await running.get(path, code)

    asyncio.run(main())


def test_history_has_what_rules_have_windows_over(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "version: 1\nrules:\n"
        "- {id: size, title: Size, when: 'avg(memory_size_bytes, \"1m\") < 9', severity: info}\n"
        "- {id: use, title: Use, when: 'rate(energy_joules_total, \"1m\") > 9', severity: info}\n",
        encoding="utf-8",
    )

    async def main() -> None:
        rules = RuleSettings(files=(str(file),), interval_s=0.1)
        async with agent() as one, hub(one.address, rules=rules) as running:
            await running.devices(one.address, 8)
            path = f"/v1/nodes/{one.address}/history?device={machines.device(0).id}"
            energy = "energy_joules_total.hardware"

            def has_growth(page: Any) -> bool:
                """Growth takes two samples, and a step that has just started has none."""
                size = page["values"].get("memory_size_bytes", [None])
                return None not in (size[-1], page["growth"].get(energy, [None])[-1])

            page = await until(running, path, has_growth)
            size = page["values"]["memory_size_bytes"]
            assert size[-1] == pytest.approx(float(machines.values(0)["memory_size_bytes",]))
            assert len(size) == len(page["values"]["power_watts"])
            assert page["growth"][energy][-1] == 0.0

    asyncio.run(main())
