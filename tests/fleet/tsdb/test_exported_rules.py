"""Exported rules in a real Prometheus fire for whom the rules of a hub fire, over the same nodes."""

import asyncio
from pathlib import Path
from typing import Any

from accelwatch.alerting.rules.loading.rule_files import load
from accelwatch.alerting.rules.prometheus.alerting_rules import exported
from accelwatch.alerting.rules.prometheus.rule_file import rule_file
from accelwatch.config.model import RuleSettings
from accelwatch.expr.promql import Assumed
from accelwatch.fleet.hub.model import DetectorSettings
from accelwatch.fleet.targets.settings import Targets
from support.fleet.hub_peers import Running
from support.servers.prometheus_servers import StoreServer

SCENARIO = """\
scenario: 1
noise: 0
jobs:
- {name: train, id: "4711", nodes: "n[001-002]", user: ana, at: 0s, warm_up: 0s, load: 0.9}
faults:
- {kind: lost, nodes: n001, device: 3, at: 0s}
- {kind: throttle, nodes: n001, device: 1, at: 0s, reason: power, factor: 0.3}
- {kind: event, nodes: n002, device: 2, at: 1s, code: 79}
- {kind: ecc, nodes: n002, device: 5, at: 0s, severity: uncorrected, count: 2}
- {kind: straggler, nodes: n002, device: 6, at: 0s, factor: 0.3}
- {kind: absent, nodes: n003, device: 0, at: 0s, quantity: power_watts, reason: unsupported}
- {kind: hang, nodes: n003, device: 4, at: 0s}
"""
RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: lost, title: a, when: state == "lost", select: {vendor: nvidia}}
- {id: hung, title: a, when: state == "unresponsive"}
- {id: event, title: a, when: 'event("xid", code == 79, within="1h")'}
- {id: errors, title: a, when: 'delta(ecc_errors_total.uncorrected, "10s") > 0'}
- {id: duty, title: a, when: 'duty(throttle_active.power, "10s") > 0.5'}
- {id: frugal, title: a, when: 'rate(energy_joules_total, "10s") > 10 and missing(power_watts)'}
- {id: health, title: a, when: health == "failed" and not device_up}
- id: straggler
  title: a
  when: avg(power_watts, "10s") < 0.7 * peer_median(avg(power_watts, "10s"), by="job")
- id: node
  title: a
  scope: node
  when: 'node.count(state in ("lost", "unresponsive")) >= 1 and not node.any(event("xid", code == 79))'
- id: job
  title: a
  scope: job
  select: {user: ana}
  when: job.share(max(utilization_ratio, "10s") > 0.5) > 0.8
"""
EXPECTED = {
    ("lost", "n001", "nvidia3"),
    ("hung", "n003", "nvidia4"),
    ("event", "n002", "nvidia2"),
    ("errors", "n002", "nvidia5"),
    ("duty", "n001", "nvidia1"),
    ("frugal", "n003", "nvidia0"),
    ("health", "n001", "nvidia3"),
    ("health", "n003", "nvidia4"),
    ("straggler", "n001", "nvidia1"),
    ("straggler", "n002", "nvidia6"),
    ("node", "n001", ""),
    ("node", "n003", ""),
    ("job", "", "4711"),
}
Firing = set[tuple[str, str, str]]


async def of_prometheus(store: StoreServer) -> Firing:
    alerts = [one["metric"] for one in await store.query('ALERTS{alertstate="firing"}')]
    return {
        (one["alertname"], one.get("node", ""), one.get("device", one.get("job_id", "")))
        for one in alerts
    }


def of_hub(running: Running, names: dict[str, str]) -> Firing:
    rules = running.hub.rules
    return {
        (rule, names.get(one.entity.node, ""), one.facts.device_name or one.entity.job)
        for one in (rules.open if rules is not None else ())
        if not one.entity.group
        for rule in one.rules
    }


def test_a_real_prometheus_fires_for_the_same_devices(
    tmp_path: Path, stores: Any, start_exporters: Any, start_hub: Any
) -> None:
    """Judged every half second on both sides; each item fires for some and not for others."""
    file, scenario, alerting = (tmp_path / name for name in ("r.yaml", "s.yaml", "p.yml"))
    file.write_text(RULES, encoding="utf-8")
    scenario.write_text(SCENARIO, encoding="utf-8")
    rules = load([file]).rules
    assumed = Assumed(scrape_s=0.5, node_label="node")
    alerting.write_text(rule_file(exported(rules, assumed)), encoding="utf-8")

    async def main() -> None:
        async with (
            start_exporters(scenario=scenario, nodes=3, devices=8, dialect="own") as exporters,
            stores.prometheus(exporters.job(), rule_files=[alerting]) as store,
        ):
            names = {one["targets"][0]: one["labels"]["node"] for one in exporters.groups}
            judged = RuleSettings(files=(str(file),), interval_s=0.5)
            async with start_hub(
                targets=Targets(static=tuple(names)),
                rules=judged,
                # What it finds in the scenario after a minute has no rule in Prometheus.
                detector=DetectorSettings(enabled=False),
            ) as running:
                theirs: Firing = set()
                ours: Firing = set()
                try:
                    async with asyncio.timeout(90):
                        while not (theirs == ours == EXPECTED):
                            await asyncio.sleep(0.2)
                            theirs, ours = await of_prometheus(store), of_hub(running, names)
                except TimeoutError:
                    difference = (
                        f"theirs {sorted(theirs ^ EXPECTED)}, ours {sorted(ours ^ EXPECTED)}"
                    )
                    raise AssertionError(
                        f"what differs from what is expected: {difference}"
                    ) from None

    asyncio.run(main())
