"""The hub's account on a cluster, with the rights of the example's manifests and no others."""

import asyncio
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.access import Account
from support.kubernetes.served import ServedCluster

MANIFESTS = Path(__file__).resolve().parents[3] / "examples" / "kubernetes"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_PATCHES_NODES = {"verb": "patch", "resource": "nodes"}


async def allow_actions(cluster: ServedCluster) -> None:
    """Let it do what an acting hub may; the server's authorizer knows when this returns."""
    await cluster.apply(MANIFESTS / "hub-actions.yaml")
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": _PATCHES_NODES},
    }
    async with asyncio.timeout(60):
        while True:
            status, answer = await cluster.request("POST", _REVIEWS, review, account=Account.HUB)
            if status == 201 and answer["status"]["allowed"]:
                return
            await asyncio.sleep(0.02)
