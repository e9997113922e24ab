"""Every panel has a figure and every alert fires for the same device, in all three layouts.

Agents that are scraped, a hub that writes to the store, a hub that is federated: a real Prometheus each.
Windows of the shipped rules are shortened and `for` is left out, so that minutes become seconds.
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.config.model import RuleSettings
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from accelwatch.fleet.targets.settings import HttpSd, Targets
from accelwatch.fleet.tsdb.settings import Federation, RemoteWrite
from accelwatch.schema.timestamps import unix_seconds
from support.fleet.failing_fleet import AFFECTED, Node, nodes
from support.fleet.global_hubs import following_hubs
from support.fleet.hub_peers import served_hub
from support.remediation.failing_remedies import SickRemedies
from support.servers.ports import free_port
from support.servers.prometheus_servers import Stores, StoreServer

if TYPE_CHECKING:
    from accelwatch.fleet.remedies.runner import RemedyRunner

Labels = frozenset[tuple[str, str]]
Boards = dict[str, dict[str, Any]]
LAYOUTS = ("agents", "remote_write", "federation")
SHORT = {"[5m]": "[5s]", "[15m]": "[5s]", "[1h]": "[8s]", "[6h:5m]": "[2m:500ms]"}
VARIABLES = {"$__rate_interval": "5s", "$__range": "20s", "[1d]": "[20s]"}
# What agents tell only to who scrapes them, as the board that is `scraped`.
BY_SCRAPE = {"AcceleratorSeriesDropped"}
ABOUT_NODE = {"AcceleratorCollectorFailing", "AcceleratorCountDropped"}
HUB_ALERTS = {
    "FleetTargetDown",
    "FleetDevicesMissing",
    "FleetIdentityConflict",
    "FleetDiscoveryFailing",
    "FleetInventoryNotKept",
    "FleetJournalNotKept",
    "FleetEvaluationLate",
    "FleetRemedyOverdue",
    "FleetRemedyOutcomeUnknown",
    "FleetRemedyFailed",
    "FleetRemedyApprovalWaiting",
    "FleetRemedyBreakerOpen",
    "FleetRemedyFrozen",
    "FleetRemedyStopped",
    "FleetRemedyBudgetUsedUp",
    "FleetRemedyNoSpareReady",
}
MANY_GONE = {"AcceleratorManyExportersDown", "FleetNodesGone"}
GONE_HUB = {"FleetHubGone"}
# Of hubs that share a journal.
OF_SHARED_JOURNALS = {"FleetNoHubLeads", "FleetHubBehind"}
# Of a hub that follows hubs, in every layout.
OF_FOLLOWED_HUBS = {"FleetFollowedHubStale"}
# Of how a hub's servers do; their series go where all of the hub's go.
OF_STORES = {"FleetStoreFailing", "FleetRemoteWriteLosing"}
# The job by which Prometheus scrapes the hub.
HUB = "accelwatch-fleet"
WITHIN_S = 60.0


def shortened(examples: Path, folder: Path) -> list[Path]:
    """The rule files with seconds in the place of minutes."""
    made = []
    for name in ("recording", "alerts", "hub_alerts", "remedy_alerts"):
        document = yaml.safe_load((examples / f"prometheus/rules/{name}.yml").read_text("utf-8"))
        for group in document["groups"]:
            for rule in group["rules"]:
                rule.pop("for", None)
                for long, short in SHORT.items():
                    rule["expr"] = rule["expr"].replace(long, short)
        made.append(folder / f"{name}.yml")
        made[-1].write_text(yaml.safe_dump(document), encoding="utf-8")
    return made


class Fleet:
    """Two nodes, three without devices that go together, one that refuses; a store in each layout."""

    def __init__(self, healthy: Node, sick: Node, others: Sequence[Node], silent: str) -> None:
        self.healthy = healthy
        self.sick = sick
        self.others = others
        self.silent = silent
        self.stores: dict[str, StoreServer] = {}
        # Ends the three.
        self.rack = contextlib.AsyncExitStack()
        # Ends the hub.
        self.hub = contextlib.AsyncExitStack()
        self.rules: RuleRunner | None = None

    @property
    def addresses(self) -> list[str]:
        others = [node.address for node in self.others]
        return [self.healthy.address, self.sick.address, *others, self.silent]


def over_hubs(port: int) -> dict[str, Any]:
    """The job by which Prometheus learns how a hub over hubs finds those below, and nothing else."""
    return {
        "job_name": f"{HUB}-over",
        "scrape_timeout": "2s",
        "scrape_interval": "2s",
        "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
        # All else it has from the hub below, of which Prometheus has it already.
        "metric_relabel_configs": [
            {"source_labels": ["__name__"], "regex": "accel_fleet_hub_.*", "action": "keep"}
        ],
    }


@contextlib.asynccontextmanager
async def fleet(tmp_path: Path, examples: Path) -> AsyncIterator[Fleet]:
    """All three layouts over the same nodes at the same time."""
    rules, servers = shortened(examples, tmp_path), Stores(tmp_path)
    no_folder = tmp_path / "no_folder"
    no_folder.write_text("")
    async with contextlib.AsyncExitStack() as stack:
        healthy, sick = await stack.enter_async_context(nodes("n01", "n02"))
        rack = await stack.enter_async_context(contextlib.AsyncExitStack())
        others = await rack.enter_async_context(nodes("n03", "n04", "n05", devices=0))
        one = Fleet(healthy, sick, others, f"127.0.0.1:{free_port()}")
        one.rack = rack
        agents = {"job_name": "accelwatch", "static_configs": [{"targets": one.addresses}]}
        port = free_port()
        over = over_hubs(port)
        written = await stack.enter_async_context(servers.prometheus(over, rule_files=rules))
        settings = HubSettings(
            targets=Targets(static=tuple(one.addresses), http=(HttpSd(url="http://127.0.0.1:1/"),)),
            scrape=Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.3),
            remote_write=RemoteWrite(url=f"{written.url}/api/v1/write", interval_s=0.5),
            federation=Federation(enabled=True),
            rules=RuleSettings(packs=("storage",)),
        )
        await stack.enter_async_context(one.hub)
        hub = await one.hub.enter_async_context(
            served_hub(settings, interval_s=0.2, state_dir=no_folder)
        )
        await stack.enter_async_context(
            following_hubs([HubEndpoint(name="pod-1", base=hub.base)], port=port)
        )
        one.rules = hub.hub.rules
        hub.hub.leader.remedies = cast("RemedyRunner", SickRemedies())
        federated = {
            "job_name": HUB,
            "honor_labels": True,
            "metrics_path": "/federate",
            "static_configs": [{"targets": [hub.base.removeprefix("http://")]}],
        }
        one.stores["remote_write"] = written
        itself = {"job_name": f"{HUB}-itself", "static_configs": federated["static_configs"]}
        jobs: dict[str, list[dict[str, Any]]] = {
            "agents": [agents, over],
            "federation": [federated, itself, over],
        }
        for layout, scraped in jobs.items():
            server = servers.prometheus(*scraped, rule_files=rules)
            one.stores[layout] = await stack.enter_async_context(server)
        yield one


def labels_of(found: list[dict[str, Any]]) -> set[Labels]:
    """The series of an answer but the hub's own; the name of the node is a hub's addition."""
    return {
        frozenset((k, v) for k, v in series["metric"].items() if k not in ("node", "__name__"))
        for series in found
        if not series["metric"].get("job", "").startswith(HUB)
    }


def panels(boards: Boards) -> Iterator[tuple[str, str]]:
    """Every query of the boards that every layout fills, with the variables that choose all."""
    for board, document in boards.items():
        for panel in document["panels"]:
            for target in panel.get("targets", []):
                expr = target["expr"]
                for name, value in VARIABLES.items():
                    expr = expr.replace(name, value)
                yield f"{board}: {panel['title']}", re.sub(r"\$\w+", ".+", expr)


def variables(boards: Boards) -> Iterator[tuple[str, str]]:
    """Selector and label of every template variable."""
    for document in boards.values():
        for variable in document["templating"]["list"]:
            if variable["type"] == "query":
                query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["definition"])
                assert query is not None
                yield re.sub(r"\$\w+", ".+", query[1]), query[2]


@pytest.fixture
def filled(dashboards: Boards) -> Boards:
    """The boards that every layout fills."""
    partly = ("exporter", "hub")
    return {name: board for name, board in dashboards.items() if name not in partly}


def test_panels_and_alerts_are_alike_in_every_layout(
    tmp_path: Path, examples: Path, filled: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RuleRunner, "late_s", 45.0)

    async def main() -> None:
        async with fleet(tmp_path, examples) as one:
            for store in one.stores.values():
                await store.until("accel_device_up == 1", lambda found: len(found) == 16, WITHIN_S)
            one.sick.sick = True
            for layout in LAYOUTS:
                await _every_alert_fires(one, layout)
            await _panels_show_the_same(one, filled)
            await _variables_name_the_nodes(one, filled)
            await _every_alert_on_the_hub_fires(one)
            await _many_gone_are_one_alert(one)
            await _a_hub_that_is_gone_is_missed(one)

    asyncio.run(main())


async def _every_alert_fires(one: Fleet, layout: str) -> None:
    store, sick = one.stores[layout], one.sick.address
    expected = {(name, sick, device) for name, device in AFFECTED.items()}
    expected |= {(name, sick, "") for name in ABOUT_NODE}
    expected.add(("AcceleratorExporterDown", one.silent, ""))
    if layout == "agents":
        expected |= {(name, sick, "") for name in BY_SCRAPE}
    query = 'ALERTS{alertstate="firing", alertname=~"Accelerator.+"}'

    def firing(found: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
        return {
            (alert["alertname"], alert.get("instance", ""), alert.get("device", ""))
            for alert in (series["metric"] for series in found)
        }

    # One that was late once may fire for a moment.
    await store.until(query, lambda answer: firing(answer) == expected, WITHIN_S)


async def _every_alert_on_the_hub_fires(one: Fleet) -> None:
    one.sick.uuids_of = "n01"  # a machine that was copied: its own devices are missing
    for layout in ("remote_write", "federation"):
        firing = 'count by (alertname) (ALERTS{alertstate="firing", alertname=~"Fleet.+"})'
        await one.stores[layout].until(firing, lambda found: _names(found) >= HUB_ALERTS, WITHIN_S)


async def _many_gone_are_one_alert(one: Fleet) -> None:
    await one.rack.aclose()
    for layout in LAYOUTS:
        many = 'ALERTS{alertstate="firing", alertname="AcceleratorManyExportersDown"}'
        (alert,) = await one.stores[layout].until(many, bool, WITHIN_S)
        assert alert["metric"]["job"] == "accelwatch", layout
    for layout in ("remote_write", "federation"):
        gone = 'ALERTS{alertstate="firing", alertname="FleetNodesGone"}'
        (outage,) = await one.stores[layout].until(gone, lambda found: len(found) == 1, WITHIN_S)
        assert unix_seconds(outage["metric"]["since"]) > 0, layout
        down = 'ALERTS{alertstate="firing", alertname="FleetTargetDown"}'
        await one.stores[layout].until(
            down,
            lambda found: [series["metric"]["node"] for series in found] == [one.silent],
            WITHIN_S,
        )


async def _nobody_is_paged_about_a_node_in_maintenance(one: Fleet) -> None:
    assert one.rules is not None
    now = time.time()
    await one.rules.incident_store.mutes.mute(
        Maintenance(
            id="m1", nodes=(one.silent,), starts=now, ends=now + 3600, by="ana", reason="BIOS"
        )
    )
    down = 'ALERTS{alertstate="firing", alertname=~"FleetTargetDown|AcceleratorExporterDown"}'
    for layout in ("remote_write", "federation"):
        await one.stores[layout].until(
            down, lambda found: not any(_is_of(series, one.silent) for series in found), WITHIN_S
        )
    found = await one.stores["agents"].query(down)
    assert any(_is_of(series, one.silent) for series in found), "no hub tells Prometheus of it"


def _is_of(series: dict[str, Any], node: str) -> bool:
    return node in (series["metric"].get("node"), series["metric"].get("instance"))


async def _a_hub_that_is_gone_is_missed(one: Fleet) -> None:
    silent = 'ALERTS{alertstate="firing", alertname="FleetFollowedHubStale"}'
    for layout in LAYOUTS:
        await one.stores[layout].until("accel_fleet_hub_fresh == 1", bool, WITHIN_S)
        await one.stores[layout].until(silent, lambda found: not found, WITHIN_S)
    await one.hub.aclose()
    stale = 'ALERTS{alertstate="firing", alertname="AcceleratorReadStale"}'
    for layout in ("remote_write", "federation"):
        gone = 'ALERTS{alertstate="firing", alertname="FleetHubGone"}'
        await one.stores[layout].until(gone, bool, WITHIN_S)
        await one.stores[layout].until(stale, lambda found: not found, WITHIN_S)
    for layout in LAYOUTS:
        (alert,) = await one.stores[layout].until(silent, bool, WITHIN_S)
        assert alert["metric"]["hub"] == "pod-1", layout


def _names(found: list[dict[str, Any]]) -> set[str]:
    return {series["metric"]["alertname"] for series in found}


def test_every_alert_is_tried(examples: Path) -> None:
    shipped = set()
    for name in ("alerts", "hub_alerts", "remedy_alerts"):
        document = yaml.safe_load((examples / f"prometheus/rules/{name}.yml").read_text("utf-8"))
        shipped |= {rule["alert"] for group in document["groups"] for rule in group["rules"]}
    of_nodes = {*AFFECTED, *ABOUT_NODE, *BY_SCRAPE, "AcceleratorExporterDown"}
    of_hubs = HUB_ALERTS | GONE_HUB | OF_STORES | OF_SHARED_JOURNALS | OF_FOLLOWED_HUBS
    assert shipped == of_nodes | of_hubs | MANY_GONE


async def _panels_show_the_same(one: Fleet, boards: Boards) -> None:
    for name, expr in panels(boards):
        shown: dict[str, set[Labels]] = {}
        try:
            async with asyncio.timeout(WITHIN_S):
                # A rate needs two samples: one layout may have it later than the others.
                while not shown or any(series != shown["agents"] for series in shown.values()):
                    for layout in LAYOUTS:
                        found = await one.stores[layout].until(expr, bool, WITHIN_S)
                        shown[layout] = labels_of(found)
        except TimeoutError:
            raise AssertionError(f"{name}: {expr} is of {shown}") from None


async def _variables_name_the_nodes(one: Fleet, boards: Boards) -> None:
    for selector, label in set(variables(boards)):
        values = {}
        for layout in LAYOUTS:
            found = await one.stores[layout].query(selector)
            values[layout] = {series["metric"].get(label, "") for series in found}
        assert values["agents"] - {""}, (selector, label)
        assert values["remote_write"] == values["federation"] == values["agents"], (selector, label)
