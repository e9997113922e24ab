"""`/v1/avoid` of a real hub: which nodes new jobs should be kept off, and why."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from accelwatch.base.clock import ManualClock
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.avoid.page import AvoidPages
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from support.fleet.hub_peers import Running, agent, hub
from support.fleet.manual_fleet import THRESHOLDS
from support.machines import composed as machines

RULES = """\
version: 1
defaults: {keep: 0}
rules:
- {id: gpu.lost, title: A GPU is lost, when: state == "lost", severity: critical}
- {id: gpu.idle, title: A GPU is idle, when: power_watts > 0, severity: warning}
- {id: job.slow, title: A job is slow, scope: job, when: job.any(power_watts > 0), severity: critical}
"""


@contextlib.asynccontextmanager
async def judged(folder: Path) -> AsyncIterator[tuple[Running, str, str, str]]:
    """A hub over a node with a lost GPU, a well one, and one that never answers; their names."""
    file = folder / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    rules = RuleSettings(files=(str(file),), interval_s=0.1)
    broken = machines.snapshot(machines.view(0), machines.lost_view(1))
    async with agent(broken) as bad, agent() as well:
        silent = "127.0.0.1:1"
        async with hub(bad.address, well.address, silent, rules=rules) as running:
            await running.until(lambda: bool(running.hub.rules and len(running.hub.rules.open) > 3))
            await running.until(lambda: running.fault(silent) != "")
            yield running, bad.address, well.address, silent


def rows(page: dict[str, Any]) -> dict[str, list[str]]:
    return {row["node"]: [reason["kind"] for reason in row["reasons"]] for row in page["nodes"]}


def test_nodes_with_a_critical_incident_and_silent_ones_are_listed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with judged(tmp_path) as (running, bad, well, silent):
            page = await running.get("/v1/avoid")
            assert rows(page) == {bad: ["incident"], silent: ["unreachable"]}
            assert (page["rules"], page["nodes_total"]) == (3, 3)
            (reason,) = next(row for row in page["nodes"] if row["node"] == bad)["reasons"]
            assert (reason["rule"], reason["severity"]) == ("gpu.lost", "critical")
            assert (reason["text"], reason["device"]) == ("A GPU is lost", machines.device(1).name)
            assert reason["incident"].startswith("i")
            assert reason["since"].endswith("Z")
            (reason,) = next(row for row in page["nodes"] if row["node"] == silent)["reasons"]
            assert reason["text"].startswith("it has never answered: ")

            # An incident of less severity counts only when asked for, and a critical one still does.
            warned = rows(await running.get("/v1/avoid?severity=warning"))
            assert warned[well] == ["incident"] * len(warned[well])
            assert len(warned[bad]) > 1

            # A reason that is not asked for does not count, whichever of the two it is.
            assert rows(await running.get("/v1/avoid?reason=incident")) == {bad: ["incident"]}
            both = await running.get("/v1/avoid?reason=unreachable,maintenance")
            assert rows(both) == {silent: ["unreachable"]}

            assert "'loud' is not one of info, warning" in await running.get(
                "/v1/avoid?severity=loud", 400
            )
            # An empty value is a mistake, not a parameter that was left out.
            assert "severity: ''" in await running.get("/v1/avoid?severity=", 400)
            await running.get("/v1/avoid?within=", 400)
            assert "'broken' is not one of" in await running.get("/v1/avoid?reason=broken", 400)
            assert "no unit" in await running.get("/v1/avoid?within=4", 400)
            assert "no parameter 'reasons'" in await running.get("/v1/avoid?reasons=incident", 400)

    asyncio.run(scenario())


def test_maintenance_counts_while_it_lasts_and_before_it_on_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with judged(tmp_path) as (running, _, well, _):
            body = {"nodes": [well], "for": "1h", "reason": "new firmware", "by": "ana"}
            await running.post("/v1/maintenance", json=body)
            later = (datetime.now(UTC) + timedelta(days=30)).isoformat()
            await running.post(
                "/v1/maintenance", json={**body, "from": later, "reason": "new racks"}
            )
            (row,) = [
                row for row in (await running.get("/v1/avoid"))["nodes"] if row["node"] == well
            ]
            (reason,) = row["reasons"]
            assert (reason["kind"], reason["text"]) == ("maintenance", "new firmware")
            assert reason["since"] < reason["until"]
            both = rows(await running.get("/v1/avoid?within=31d"))
            assert both[well] == ["maintenance"] * 2

    asyncio.run(scenario())


def test_without_rules_it_says_so() -> None:
    fleet = Fleet(ManualClock(), THRESHOLDS, None)
    page = json.loads(AvoidPages(fleet).page({}, {}).body)
    assert (page["rules"], page["nodes_total"], page["nodes"]) == (0, 0, [])
    fleet.close()


def test_a_node_that_was_not_polled_yet_is_not_to_be_avoided() -> None:
    fleet = Fleet(ManualClock(), THRESHOLDS, None)
    fleet.set_targets(targets_of(["n1", "n2"], {}))
    page = json.loads(AvoidPages(fleet).page({}, {}).body)
    assert page["nodes"] == []
    assert page["problems"] == ["2 nodes have not been read yet: their faults are not in this list"]
    key = fleet.nodes["n1"].sources.copy().popitem()[1].target.key
    fleet.fail(key, TargetFault(Reason.CONNECT, "refused"))
    page = json.loads(AvoidPages(fleet).page({}, {}).body)
    assert [row["node"] for row in page["nodes"]] == ["n1"]
    fleet.close()
