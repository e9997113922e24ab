"""A whole hub over one node of a cluster: from a bad reading to what it writes there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from accelwatch.fleet.remedies.runner import RemedyRunner
from accelwatch.remediation.policy.state.stage import Stage
from accelwatch.remediation.settings import ActionSettings
from accelwatch_kubernetes.marks.hold import HOLD
from accelwatch_lab.cluster.kubernetes.access import Account
from fleet.remedies.hub_site import HubSite
from support.kubernetes.action_on_cluster import Object, node_of
from support.kubernetes.hub_account import allow_actions
from support.kubernetes.served import ServedCluster

OURS = "accelwatch.io/quarantine"
BAD_W, WELL_W = 100.0, 400.0


@asynccontextmanager
async def hub_on(
    cluster: ServedCluster, folder: Path, *, spacing_s: float = 120.0, **options: Any
) -> AsyncIterator[tuple[HubSite, RemedyRunner]]:
    """A hub whose node `a` is `n1` in the cluster; `spacing_s` between two quarantines."""
    site = HubSite(folder)
    budget = msgspec.structs.replace(site.settings.budget, spacing_s=spacing_s)
    actions = (await settings_of(cluster, **options),)
    site.settings = msgspec.structs.replace(site.settings, actions=actions, budget=budget)
    async with site.running() as (_, remedies):
        yield site, remedies


async def settings_of(cluster: ServedCluster, name: str = "", **options: Any) -> ActionSettings:
    """The action of a hub that may act on a cluster."""
    await allow_actions(cluster)
    access = cluster.access(Account.HUB)
    server = {
        "api_server": access.url,
        "ca_file": str(access.ca_file),
        "token_file": str(cluster.token_file(Account.HUB)),
    }
    return ActionSettings(name=name, type="kubernetes", options={"server": server, **options})


def is_tainted(document: Object) -> bool:
    """Whether our mark is whole."""
    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
    return OURS in keys and HOLD in document["metadata"].get("annotations", {})


def is_clean(document: Object) -> bool:
    """Whether nothing of our mark is there."""
    keys = [taint["key"] for taint in document["spec"].get("taints", [])]
    return OURS not in keys and HOLD not in document["metadata"].get("annotations", {})


async def until(cluster: ServedCluster, is_so: Callable[[Object], bool]) -> Object:
    """The node once it is so."""
    async with asyncio.timeout(60):
        while not is_so(document := await node_of(cluster)):
            await asyncio.sleep(0.05)
    return document


async def stage(remedies: RemedyRunner, expected: Stage | None) -> None:
    """Until the engine has come to it; None: it knows nothing of the node any more."""
    async with asyncio.timeout(60):
        while True:
            remedy = remedies.engine.state.remedies.get("a")
            if (None if remedy is None else remedy.stage) is expected:
                return
            await asyncio.sleep(0.05)
