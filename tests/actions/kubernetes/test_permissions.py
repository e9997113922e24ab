"""What the cluster does not let us do is known before it is needed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from accelwatch.action.contract import ActionContext, FindsLimits, HasComplaints
from accelwatch.action.intent import IntentKind
from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.server import ServerOptions, server_of
from accelwatch.base.clock import ManualClock
from accelwatch_kubernetes import KubernetesAction
from accelwatch_kubernetes.access.permissions import NEEDED, REVIEWS, Permissions
from accelwatch_lab.cluster.kubernetes.access import Account
from accelwatch_lab.cluster.kubernetes.api_server.faults import Fault
from support.kubernetes.action_on_cluster import action_on
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
QUARANTINE, MOVE = IntentKind.QUARANTINE, IntentKind.MOVE_JOB


async def grant(cluster: ServedCluster, rules: Sequence[dict[str, Any]]) -> None:
    """Bind a role with these rules to the hub."""
    meta = {"name": "some-of-it"}
    await cluster.ask("POST", f"{_RBAC}/clusterroles", {"metadata": meta, "rules": list(rules)})
    await cluster.ask(
        "POST",
        f"{_RBAC}/clusterrolebindings",
        {
            "metadata": meta,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "some-of-it",
            },
            "subjects": [
                {"kind": "ServiceAccount", "namespace": "accelwatch", "name": "accelwatch-hub"}
            ],
        },
    )


def rule(resource: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}


READS = [rule("nodes", "get", "list", "watch"), rule("pods", "get", "list", "watch")]


@asynccontextmanager
async def permissions_on(cluster: ServedCluster, clock: ManualClock) -> AsyncIterator[Permissions]:
    """What the hub's account may do."""
    access = cluster.access(Account.HUB)
    server = ServerOptions(
        api_server=access.url,
        ca_file=str(access.ca_file),
        token_file=str(cluster.token_file(Account.HUB)),
    )
    client = KubernetesClient(server_of(server, {}))
    try:
        yield Permissions(client, clock)
    finally:
        await client.close()


async def until(permissions: Permissions, clock: ManualClock, refused: set[str]) -> None:
    """A role is in force a moment after it was bound."""
    async with asyncio.timeout(30):
        while {str(permission) for permission in permissions.refused} != refused:
            await asyncio.sleep(0.05)
            clock.advance(60.0)
            await permissions.refresh()


def test_a_request_that_no_role_allows_is_named_with_what_it_makes_impossible(
    cluster: ServedCluster,
) -> None:
    async def run() -> None:
        clock = ManualClock()
        async with permissions_on(cluster, clock) as permissions:
            assert permissions.impossible == {}
            await permissions.refresh()
            assert {str(permission) for permission in permissions.refused} == set(map(str, NEEDED))
            await grant(cluster, [*READS, rule("pods/eviction", "create")])
            await until(permissions, clock, {"patch nodes"})
            text = "the cluster does not allow the hub to patch nodes (RBAC)"
            assert permissions.impossible[QUARANTINE] == text
            assert MOVE not in permissions.impossible

    asyncio.run(run())


def test_it_is_queried_again_after_a_while_and_sooner_where_something_is_missing(
    stand_in: StandInCluster,
) -> None:
    def queries() -> int:
        return len(stand_in.server.log.writes(REVIEWS))

    async def run() -> None:
        clock = ManualClock()
        async with permissions_on(stand_in, clock) as permissions:
            for _ in range(2):
                await permissions.refresh()
            assert queries() == len(NEEDED)
            clock.advance(60.0)
            await grant(stand_in, [*READS, rule("nodes", "patch"), rule("pods/eviction", "create")])
            await permissions.refresh()
            assert (queries(), permissions.impossible) == (2 * len(NEEDED), {})
            clock.advance(60.0)
            await permissions.refresh()
            assert queries() == 2 * len(NEEDED)
            clock.advance(600.0)
            await permissions.refresh()
            assert queries() == 3 * len(NEEDED)

    asyncio.run(run())


def test_a_server_that_does_not_say_changes_nothing(stand_in: StandInCluster) -> None:
    async def run() -> None:
        clock = ManualClock()
        async with permissions_on(stand_in, clock) as permissions:
            await permissions.refresh()
            before = permissions.refused
            assert before
            stand_in.server.faults.add(Fault(path=REVIEWS, status=500, times=None))
            clock.advance(60.0)
            await permissions.refresh()
            assert permissions.refused == before

    asyncio.run(run())


def test_the_action_says_what_is_impossible_after_its_first_look(cluster: ServedCluster) -> None:
    async def run() -> None:
        async with action_on(cluster, Account.ADMIN) as action:
            assert isinstance(action, FindsLimits)
            await action.observe_all()
            assert action.impossible == {}

    asyncio.run(run())


def test_files_that_cannot_be_read_are_complained_of(tmp_path: Path) -> None:
    there = tmp_path / "token"
    there.write_text("t")
    server = {
        "api_server": "https://k8s.example:6443",
        "token_file": str(there),
        "ca_file": "/nonexistent/ca.crt",
    }
    action = KubernetesAction(ActionContext(name="c", options={"server": server}))
    assert isinstance(action, HasComplaints)
    (complaint,) = action.complaints()
    assert complaint.startswith("server.ca_file: /nonexistent/ca.crt cannot be read")
