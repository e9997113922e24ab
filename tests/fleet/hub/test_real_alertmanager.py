"""A rule of a hub notifies a real Alertmanager, and a rule reads what that sends to the hub."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import bcrypt

from accelwatch.base.clock import SystemClock
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.web.protection.web_config import Protection
from support.fleet.hub_peers import Running, agent, hub
from support.machines import composed as machines
from support.servers.alertmanager import Alertmanager, alertmanager
from support.servers.ports import free_port

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, family: gpu, title: A GPU is lost, when: 'state == "lost"', runbook: 'https://wiki/lost'}
- id: gpu.told
  family: gpu
  title: A GPU of which others say that it is bad
  when: 'event("alertmanager", code == "alertmanager_BadGpu", severity == "critical")'
  severity: critical
"""
HASH = bcrypt.hashpw(b"secret-word", bcrypt.gensalt(4)).decode()
SHOWN = {"summary": "ECC of the other exporter", "description": "many"}


async def _until(there: Alertmanager, right: Any, **labels: str) -> Any:
    """What it knows of alerts with these labels, once it is right."""
    async with asyncio.timeout(60):
        while not right(received := await there.alerts(**labels)):
            await asyncio.sleep(0.05)
    return received


def _rules_of(running: Running) -> list[tuple[str, ...]]:
    return [one.rules for one in running.hub.rules.open] if running.hub.rules else []


def test_incidents_arrive_change_and_end_and_others_alerts_come_in(
    tmp_path: Path,
) -> None:
    """One incident: the hub's own finding, made worse by somebody else's alert, and both ends."""
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    port = free_port()
    sink = SinkSettings(name="am", type="alertmanager", options={"url": f"http://127.0.0.1:{port}"})
    lost = machines.snapshot(machines.view(0), machines.lost_view(1))
    bad = machines.view(1).device

    async def scenario() -> None:
        async with contextlib.AsyncExitStack() as stack:
            one = await stack.enter_async_context(agent(machines.snapshot()))
            running = await stack.enter_async_context(
                hub(
                    one.address,
                    rules=RuleSettings(files=(str(file),), interval_s=0.1),
                    alerts=Alerts(sinks=(sink,), hub="west", storm_wait_s=0.0),
                    state_dir=tmp_path,
                    protection=Protection(users={"am": HASH}),
                    clock=SystemClock(),
                )
            )
            webhook = {
                "url": f"{running.base}/v1/evidence/alertmanager",
                "http_config": {"basic_auth": {"username": "am", "password": "secret-word"}},
            }
            there = await stack.enter_async_context(alertmanager(tmp_path, port, webhook))

            one.feed.put(lost)
            (active,) = await _until(there, bool, alertname="gpu.lost")
            assert active["labels"]["device"] == bad.name
            assert active["labels"]["severity"] == "warning"
            assert active["annotations"]["runbook_url"] == "https://wiki/lost"
            assert "A GPU is lost" in active["annotations"]["summary"]

            # As Prometheus would report the finding of another exporter; the uuid is enough.
            other = {"alertname": "BadGpu", "severity": "critical", "UUID": str(bad.uuid)}
            await there.post_alert(other, annotations=SHOWN)
            await running.until(lambda: [set(one) for one in _rules_of(running)] == [
                {"gpu.lost", "gpu.told"}
            ])  # fmt: skip
            incident = running.hub.rules.open[0] if running.hub.rules else None
            assert incident is not None
            assert "alertmanager_BadGpu: ECC of the other exporter" in [
                one.text for one in incident.evidence
            ]
            assert "pushed" in [one.source for one in incident.evidence]
            (worse,) = await _until(
                there,
                lambda received: received and received[0]["annotations"]["severity"] == "critical",
                incident=active["labels"]["incident"],
            )
            assert worse["fingerprint"] == active["fingerprint"]
            # The alert that we sent to it came back and proves nothing.
            assert [one.event.code for one in running.hub.fleet.evidence.all()] == [
                "alertmanager_BadGpu"
            ]

            one.feed.put(machines.snapshot(machines.view(0), machines.view(1)))
            await running.until(lambda: _rules_of(running) == [("gpu.told",)])
            await there.post_alert(other, annotations=SHOWN, endsAt="2020-01-01T00:00:00Z")
            await running.until(lambda: _rules_of(running) == [])
            await _until(
                there, lambda received: not received, incident=active["labels"]["incident"]
            )
            assert len(running.hub.fleet.evidence) == 0

    asyncio.run(scenario())
