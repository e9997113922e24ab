"""A real API server takes the manifests as they are, and gives the hub's account what it needs."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch_lab.cluster.kubernetes.access import Account
from support.kubernetes.permissions import ACTION, HUB, STATUS, Permission, needed
from support.kubernetes.real import RealCluster, real_cluster

FILES = ("daemonset.yaml", "hub.yaml", "hub-actions.yaml", "hub-status.yaml")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
NOT_NEEDED = (
    Permission("", "secrets", "get"),
    Permission("", "pods", "create"),
    Permission("", "pods/exec", "create"),
    Permission("", "nodes", "delete"),
    Permission("", "events", "create", "kube-system"),
    Permission("rbac.authorization.k8s.io", "clusterroles", "create"),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with real_cluster(tmp_path_factory.mktemp("kubernetes")) as running:
        yield running


def review(permission: Permission) -> dict[str, Any]:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": permission.namespace,
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


async def allowed(server: RealCluster, permission: Permission) -> bool:
    status, answer = await server.request("POST", REVIEWS, review(permission), account=Account.HUB)
    assert status == 201, answer
    return bool(answer["status"]["allowed"])


def test_every_field_is_known_and_the_hub_may_do_what_it_does(
    server: RealCluster, examples: Path
) -> None:
    """`apply` asks for strict validation: a field that is not known is an error."""

    async def scenario() -> None:
        for name in FILES:
            await server.apply(examples / "kubernetes" / name)
        wanted = needed(HUB) | needed(ACTION) | needed(STATUS)
        async with asyncio.timeout(60):
            # The authorizer hears of roles by a watch.
            while not all([await allowed(server, one) for one in sorted(wanted)]):
                await asyncio.sleep(0.1)
        assert not [one for one in NOT_NEEDED if await allowed(server, one)]

    asyncio.run(scenario())
