"""A whole hub: a message with a link, a yes by it, and a restart that does not revive it."""

import asyncio
import re
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import aiohttp
import pytest

from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.remediation.settings import ActionSettings, DataGuard, LinkSettings, RemedySettings
from accelwatch.web.protection.web_config import Protection
from remediation.fake_scheduler import FakeScheduler
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines
from support.processes.idle_loop import IdleClock
from support.servers.receivers import Receiver, receiver

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
LOCKED = Protection(users={"ana": "$2b$04$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"})


async def link_in(running: Running, there: Receiver) -> str:
    """The link that was sent, at the address where this hub is."""
    links: list[str] = []

    def came() -> bool:
        requested = [one for request in there.requests for one in request.json()["data"]["asks"]]
        links.extend(one["link"] for one in requested)
        return bool(links)

    await running.until(came)
    return links[0].replace("https://hub.example.org", running.base)


async def page(session: aiohttp.ClientSession, address: str) -> tuple[int, str]:
    async with session.get(address) as answer:
        return answer.status, await answer.text()


def test_a_link_is_sent_decides_once_and_not_again_after_a_restart(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(tmp_path / "rules.yaml"),), interval_s=0.1)
    world = FakeScheduler(IdleClock(), ["n1"])
    world.nodes["n1"].boot_id = machines.snapshot().boot_id
    fake_plugin.append(world)

    async def scenario() -> None:
        broken = machines.snapshot(machines.view(0), machines.lost_view(1))
        async with agent(broken) as one, receiver() as there, aiohttp.ClientSession() as visitor:
            remedy = RemedySettings(
                ceiling="resume",
                actions=(ActionSettings(type="fake"),),
                nodes={one.address: "n1"},
                data_guard=DataGuard(startup_grace_s=0.0, calm_s=0.0, late_s=60.0, silent=1.0),
                stop_file=str(tmp_path / "STOP"),
                links=LinkSettings(sinks=("oncall",)),
            )
            options: dict[str, object] = {"url": f"{there.base}/x"}
            alerts = Alerts(
                external_url="https://hub.example.org",
                sinks=(SinkSettings(name="oncall", type="webhook", options=options),),
            )

            def whole() -> AbstractAsyncContextManager[Running]:
                return hub(
                    one.address,
                    rules=rules,
                    alerts=alerts,
                    state_dir=tmp_path,
                    remedy=remedy,
                    protection=LOCKED,
                )

            async with whole() as running:
                address = await link_in(running, there)
                assert len(there.requests) == 1, "one message, and it has the plan"
                code, html = await page(visitor, address)
                assert (code, "take " in html) == (200, True)
                fields = dict(re.findall(r'name="(form|node|plan)" value="([^"]+)"', html))
                fields["verb"] = "approve"
                async with visitor.post(address, data=fields) as answer:
                    assert answer.status == 200
                    assert "Approved." in await answer.text()
                await running.until(lambda: world.nodes["n1"].mark is not None)
            key = tmp_path / "links.key"
            assert key.stat().st_mode & 0o777 == 0o600
            async with whole() as running:
                address = address.replace(address.partition("/incidents")[0], running.base)
                code, html = await page(visitor, address)
                assert (code, "used already" in html) == (200, True)
                async with visitor.post(address, data=fields) as answer:
                    assert answer.status == 403
                assert running.hub.remedies is not None
                assert running.hub.remedies.problems == ()
                remedies = running.hub.remedies.engine
                await running.until(lambda: remedies.state.remedies[one.address].hold is not None)

    asyncio.run(scenario())


@pytest.mark.parametrize("sinks", [(), ("oncall",)])
def test_a_hub_without_rules_has_no_page_and_makes_no_key(
    tmp_path: Path, sinks: tuple[str, ...]
) -> None:
    async def scenario() -> None:
        remedy = RemedySettings(links=LinkSettings(sinks=sinks))
        async with hub(state_dir=tmp_path, remedy=remedy) as running:
            async with aiohttp.ClientSession() as visitor:
                code, text = await page(visitor, f"{running.base}/incidents/i1")
            assert (code, text) == (404, "no incident 'i1'\n")
        assert not (tmp_path / "links.key").exists()

    asyncio.run(scenario())


def test_a_hub_loads_what_acts_and_signs_only_when_somebody_comes() -> None:
    code = (
        "import sys, accelwatch.fleet.hub.serve, accelwatch.fleet.incident_page.approval_requests\n"
        "heavy = ('accelwatch.remediation.', 'itsdangerous', 'accelwatch.fleet.incident_page.')\n"
        "print(*[name for name in sys.modules if name.startswith(heavy)])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("accelwatch.") for name in run.stdout.split()}
    # The settings, the structs of a plan and of what a node has measured, by which the API is described,
    # and the folders that they are in.
    plan = ("policy", "policy.plan", "policy.plan.model", "policy.guards", "policy.guards.denial")
    state = ("policy.state", "policy.state.stage", "policy.state.node_tests")
    light = {f"remediation.{name}" for name in ("settings", "active_tests", *plan, *state)}
    first = {f"fleet.incident_page.{name}" for name in ("door", "approval_requests")}
    assert loaded - first == light
