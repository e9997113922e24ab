"""The shipped rule on a node that differs from the many, judged by a hub."""

import asyncio
from pathlib import Path

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.alerting.rules.document import Severity
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.schema.snapshot import DeviceView
from support.fleet.uniform_fleet import AlikeFleet, views

ODD = views(driver="550.2")
USUAL = views()
# Minutes: longer than a node must differ.
STEPS = 90


async def judged(
    folder: Path, reports: dict[str, list[tuple[DeviceView, ...]]], minutes: int = STEPS
) -> list[Incident]:
    """Open incidents of the rule after so many minutes in which nodes report one thing, then another."""
    site = AlikeFleet()
    settings = RuleSettings(packs=("host",))
    runner = RuleRunner(FleetEvaluator(site.fleet), settings, folder)
    await runner.start()
    for minute in range(minutes * 2):
        for node in site.nodes:
            reported = reports.get(node, [USUAL])
            site.report(
                node, *reported[min(minute * len(reported) // (minutes * 2), len(reported) - 1)]
            )
        await runner.tick()
        site.clock.advance(30.0)
    found = [one for one in runner.open if "host.odd_one_out" in one.rules]
    await runner.stop()
    return found


def test_a_node_that_differs_for_an_hour_is_an_incident_of_info(tmp_path: Path) -> None:
    (found,) = asyncio.run(judged(tmp_path, {"b": [ODD]}))
    assert (found.entity.node, found.severity) == ("b", Severity.INFO)
    text = "driver 550.2 (3 of 4 nodes have 570.1)"
    assert found.title == f"A node differs from most nodes like it: {text}"
    assert [line.text for line in found.evidence] == [text]


def test_nodes_that_are_alike_are_none(tmp_path: Path) -> None:
    assert asyncio.run(judged(tmp_path, {})) == []


def test_half_of_the_fleet_on_each_version_is_none(tmp_path: Path) -> None:
    assert asyncio.run(judged(tmp_path, {"b": [ODD], "c": [ODD]})) == []


def test_a_roll_out_of_half_an_hour_is_none(tmp_path: Path) -> None:
    timeline = {node: [USUAL] * at + [ODD] * (8 - at) for at, node in enumerate("abcd", 1)}
    assert asyncio.run(judged(tmp_path, timeline)) == []


def test_it_is_over_when_the_node_is_like_the_others(tmp_path: Path) -> None:
    assert asyncio.run(judged(tmp_path, {"b": [ODD] * 8 + [USUAL]}, 120)) == []
