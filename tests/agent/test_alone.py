"""The whole way on one node without a hub: a fault in the driver, an incident, signed notices."""

import asyncio
import base64
import json
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from standardwebhooks.webhooks import Webhook

from support.machines.nvml_stand_ins import NvmlScenario
from support.servers.agent_processes import AgentProcess
from support.servers.receivers import Receiver, receiver

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
RULES = """\
version: 1
defaults: {keep: 0, cooldown: 0}
rules:
- id: gpu.lost
  title: GPU has fallen off the bus
  when: state == "lost"
  severity: critical
- id: gpu.xid
  title: the driver reports an Xid
  when: event("xid", trusted or not trusted, within="10m")
  severity: critical
"""
XID = "NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
# Warnings of the kernel itself, and of somebody who wrote to /dev/kmsg.
KERNEL, USER = 4, 12


class Node:
    """An agent over the stand-in driver and a kernel log, which tells a receiver."""

    def __init__(self, folder: Path, there: Receiver, hanging: Receiver) -> None:
        self.there = there
        self.driver = NvmlScenario.of(folder / "node.scenario", "h100x8")
        self.driver.write()
        self.log = folder / "root" / "dev" / "kmsg"
        self.log.parent.mkdir(parents=True)
        self.log.touch()
        (folder / "rules.yaml").write_text(RULES)
        (folder / "secret").write_text(SECRET)
        config = f"""\
collect: {{backends: [nvidia, kernel_log], interval: 200ms, root: root}}
state_dir: state
rules: {{files: [rules.yaml]}}
alerts:
  storm_wait: 0
  external_url: http://n01:9877/
  sinks:
  - name: hangs
    type: webhook
    options: {{url: "{hanging.base}/in"}}
  - name: good
    type: webhook
    options: {{url: "{there.base}/in", secret_file: {folder}/secret}}
"""
        self.agent = AgentProcess(folder, config, self.driver.environment())
        self.lines = 0

    def say(self, text: str, prefix: int) -> None:
        self.lines += 1
        now = int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
        with self.log.open("a") as log:
            log.write(f"{prefix},{self.lines},{now},-;{text}\n")

    def incidents(self, query: str = "") -> Any:
        return json.loads(self.agent.get(f"/v1/incidents{query}"))["incidents"]

    async def until(self, condition: Callable[[], bool]) -> None:
        await asyncio.to_thread(self.agent.wait_for, condition)

    async def notified(self, count: int) -> Any:
        """The latest notice, when so many have come; its signature is checked as receivers do."""
        request = (await self.there.wait_for(count))[count - 1]
        return Webhook(SECRET).verify(request.body, request.headers)


@asynccontextmanager
async def node(folder: Path) -> AsyncIterator[Node]:
    async with receiver() as there, receiver("hang") as hanging:
        one = Node(folder, there, hanging)
        try:
            await one.until(one.agent.ready)
            yield one
        finally:
            one.agent.kill()


def test_a_fault_is_an_incident_and_a_signed_notice_and_so_is_its_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with node(tmp_path) as one:
            one.driver.lose(3).write()
            await one.until(lambda: bool(one.incidents()))
            (incident,) = one.incidents()
            assert (incident["provenance"], incident["trusted"]) == ("authenticated", True)
            assert (incident["id"], incident["device_name"]) == ("i1", "nvidia3")
            opened = await one.notified(1)
            host = incident["node"]
            assert opened["type"] == "incident.opened"
            assert opened["data"]["key"] == f"{host}/i1"
            assert opened["data"]["link"] == "http://n01:9877/v1/incidents/i1"
            # One sink hangs, and nobody else waits for it.
            one.driver.unset(3, "lost").write()
            closed = await one.notified(2)
            assert (closed["type"], closed["data"]["key"]) == ("incident.closed", f"{host}/i1")
            await one.until(lambda: one.incidents() == [])
            (over,) = one.incidents("?state=closed")
            assert over["closed"] is not None

            # What a person wrote to the kernel's log is shown, and wakes nobody.
            bus = one.driver.values["device.1.pci_bus_id"][4:14].lower()
            one.say(XID.format(bus=bus), USER)
            await one.until(lambda: len(one.incidents()) == 1)
            (forged,) = one.incidents()
            assert (forged["severity"], forged["trusted"]) == ("info", False)
            assert forged["evidence"][0]["trusted"] is False
            # The kernel itself says it of another device.
            bus = one.driver.values["device.2.pci_bus_id"][4:14].lower()
            one.say(XID.format(bus=bus), KERNEL)
            alert = await one.notified(3)
            assert alert["data"]["severity"] == "critical"
            assert alert["data"]["where"].startswith(f"{host} nvidia2")
            notices = [json.loads(sent.body)["data"] for sent in one.there.requests]
            assert f"{host}/{forged['id']}" not in [notice["key"] for notice in notices]

            # After a restart nothing is told again.
            before = len(one.there.requests)
            assert one.agent.end(signal.SIGTERM) == 0
            again = AgentProcess(tmp_path, one.agent.config, one.driver.environment())
            one.agent = again
            await one.until(again.ready)
            await one.until(lambda: len(one.incidents()) == 2)
            one.driver.lose(5).write()
            last = await one.notified(before + 1)
            assert last["data"]["where"].startswith(f"{host} nvidia5")
            assert len(one.there.requests) == before + 1
            assert len(one.incidents()) == 3

    asyncio.run(scenario())
