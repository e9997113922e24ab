"""The shipped Alertmanager configuration: people get one message when many nodes are gone at once."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.processes.waiting import GUARD_S
from support.servers.alertmanager import Alertmanager, alertmanager
from support.servers.ports import free_port
from support.servers.prometheus_servers import installed

Labels = dict[str, str]


def _shipped(examples: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(
        (examples / "prometheus/alertmanager.yml").read_text("utf-8")
    )
    return document


def _alert(name: str, **labels: str) -> Labels:
    return {"alertname": name, "job": "accelwatch", "severity": "warning", **labels}


MANY = _alert("AcceleratorManyExportersDown")
ONE = _alert("AcceleratorExporterDown", instance="n1:9877")
GONE = _alert("FleetNodesGone", job="hub", instance="h1", since="2026-01-01T00:00:00.000Z")
FROZEN = _alert("FleetRemedyFrozen", job="hub", instance="h1")
LATE = _alert("FleetEvaluationLate", job="hub", instance="h1")


async def held_back(server: Alertmanager, alert: Labels) -> bool:
    found = await server.alerts(alertname=alert["alertname"])
    (shown,) = [one for one in found if one["labels"] == alert]
    return bool(shown["status"]["inhibitedBy"])


@pytest.mark.parametrize(
    ("source", "target", "inhibited"),
    [
        (MANY, ONE, True),
        (MANY, {**ONE, "job": "accel-two"}, False),
        (MANY, _alert("AcceleratorLost", instance="n1:9877"), False),
        (GONE, MANY, False),
        (GONE, FROZEN, True),
        (LATE, FROZEN, True),
        (GONE, {**FROZEN, "instance": "h2"}, False),
        (GONE, {**FROZEN, "job": "hub-two"}, False),
        (GONE, _alert("FleetTargetDown", job="hub", instance="h1", node="n9"), False),
    ],
)
def test_what_is_held_back(
    examples: Path, tmp_path: Path, source: Labels, target: Labels, inhibited: bool
) -> None:
    async def main() -> None:
        rules = _shipped(examples)["inhibit_rules"]
        async with alertmanager(tmp_path, free_port(), inhibit_rules=rules) as server:
            await server.post_alert(source)
            await server.post_alert(target)
            # What holds back hears of alerts one after another, and later than who posts them.
            await server.post_alert({**MANY, "job": "last"})
            await server.post_alert({**ONE, "job": "last"})
            async with asyncio.timeout(GUARD_S):
                while not await held_back(server, {**ONE, "job": "last"}):
                    await asyncio.sleep(0.05)
            assert await held_back(server, target) is inhibited
            found = await server.alerts(alertname=source["alertname"])
            (first,) = [one for one in found if one["labels"] == source]
            assert first["status"]["state"] == "active"

    asyncio.run(main())


def test_it_is_valid(examples: Path) -> None:
    file = examples / "prometheus/alertmanager.yml"
    done = subprocess.run(
        [installed("amtool"), "check-config", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_that_it_names_is_shipped(examples: Path) -> None:
    shipped = {
        rule["alert"]
        for file in (examples / "prometheus/rules").glob("*alerts.yml")
        for group in yaml.safe_load(file.read_text("utf-8"))["groups"]
        for rule in group["rules"]
    }
    named = set()
    for rule in _shipped(examples)["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            named |= set(matcher.split('"')[1].split("|"))
    assert named <= shipped
    assert len(named) == 5
