"""Targets of one cluster, for as long as the hub runs: mirrors of its objects and their targets."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from accelwatch.api_client.kubernetes import server
from accelwatch.api_client.kubernetes.mirror import Keyed, Mirror, unchanged
from accelwatch.base.errors import UsageError
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.http import endpoint
from accelwatch.fleet.targets.kubernetes.addresses import (
    SERVICE_LABEL,
    endpoint_addresses,
    pod_addresses,
)
from accelwatch.fleet.targets.kubernetes.collection import FollowedCollection
from accelwatch.fleet.targets.kubernetes.objects import Anything, EndpointSlice, Pod
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import KubernetesSd, scrape_for
from accelwatch.fleet.targets.watch import Publish

T = TypeVar("T", bound=Keyed)

_NODES = "/api/v1/nodes"
# Between two reads of the mirrors: a rollout changes pods many times a second.
_SETTLE_S = 1.0


def within_cluster(
    settings: KubernetesSd, environ: Mapping[str, str], account: Path = server.ACCOUNT
) -> KubernetesSd:
    """The settings, with what a pod is given where nothing is configured. Raises UsageError."""
    replace = msgspec.structs.replace
    if settings.api_server:
        return settings
    base = server.within_cluster(environ)
    if not base:
        raise UsageError("not within a cluster; name its API server with api_server")
    inside = replace(settings, api_server=base)
    if not settings.authorization.credentials_file:
        token = replace(settings.authorization, credentials_file=str(account / "token"))
        inside = replace(inside, authorization=token)
    if not settings.tls_config.ca_file:
        inside = replace(
            inside, tls_config=replace(settings.tls_config, ca_file=str(account / "ca.crt"))
        )
    return inside


class KubernetesTargets:
    """Lists and watches pods or endpoint slices, and nodes when their labels are wanted."""

    def __init__(
        self, settings: KubernetesSd, rules: Rules, environ: Mapping[str, str] = os.environ
    ) -> None:
        """Raises UsageError and ConfigError for settings that do not fit."""
        self._settings = within_cluster(settings, environ)
        self._rules = rules
        self._server = endpoint(self._settings.api_server, self._settings.tls_config)
        self._scrape = scrape_for(self._settings)
        self._access = Access(self._scrape)
        self._changed = asyncio.Event()
        self.kept = TargetCache()

    async def run(self, publish: Publish) -> None:
        """Publish the targets whenever they change, until cancelled."""
        client = Client(self._scrape, self._access)
        is_pod = self._settings.role == "pod"
        pods = [self._mirror(client, path, Pod) for path in self._paths() if is_pod]
        slices = [self._mirror(client, path, EndpointSlice) for path in self._paths() if not is_pod]
        nodes = [self._mirror(client, _NODES, Anything)]
        mirrors = (*pods, *slices, *(nodes if self._settings.node_labels else ()))
        async with asyncio.TaskGroup() as group:
            for mirror in mirrors:
                group.create_task(mirror.run())
            while True:
                await self._changed.wait()
                self._changed.clear()
                if self._has_synced(mirrors, len(pods) + len(slices)):
                    publish(await self._targets(pods, slices, nodes[0].objects))
                await asyncio.sleep(_SETTLE_S)

    @staticmethod
    def _has_synced(mirrors: Sequence[Mirror[Any]], count: int) -> bool:
        """Whether every list has been tried, and one of the first `count` has succeeded."""
        tried = all(mirror.listed or mirror.failed for mirror in mirrors)
        return tried and any(mirror.listed for mirror in mirrors[:count])

    async def _targets(
        self,
        pods: Sequence[Mirror[Pod]],
        slices: Sequence[Mirror[EndpointSlice]],
        nodes: Mapping[str, Anything],
    ) -> list[Target]:
        all_pods = [pod for mirror in pods for pod in mirror.objects.values()]
        all_slices = [
            endpoint_slice for mirror in slices for endpoint_slice in mirror.objects.values()
        ]
        # On a thread, of copies: thousands of pods need longer than the streams may have to wait.
        targets, refused = await asyncio.to_thread(self._made, all_pods, all_slices, dict(nodes))
        for address, error in refused.items():
            self.kept.refuse(address, error)
        self.kept.retain({*self._paths(), _NODES, *refused})
        return targets

    def _made(
        self,
        pods: Sequence[Pod],
        slices: Sequence[EndpointSlice],
        nodes: Mapping[str, Anything],
    ) -> tuple[list[Target], dict[str, UsageError]]:
        """The targets, and what is wrong with addresses that are none."""
        targets: dict[str, Target] = {}
        refused: dict[str, UsageError] = {}
        for address, labels in (
            *pod_addresses(pods, nodes, self._settings),
            *endpoint_addresses(slices, nodes, self._settings),
        ):
            try:
                targets.update(
                    (target.key, target) for target in self._rules.targets([address], labels)
                )
            except UsageError as error:
                refused[address] = error
        return list(targets.values()), refused

    def _mirror(self, client: Client, path: str, shape: type[T]) -> Mirror[T]:
        def changed(complaint: str) -> None:
            if complaint:
                self.kept.refuse(path, complaint)
            else:
                self.kept.update(path, [])
            self._changed.set()

        is_node = shape is Anything
        return Mirror(
            FollowedCollection(client, self._server, path),
            {} if is_node else self._query(),
            shape,
            compact=unchanged,
            changed=changed,
            only_metadata=is_node,
        )

    def _paths(self) -> list[str]:
        is_pod = self._settings.role == "pod"
        group = "/api/v1" if is_pod else "/apis/discovery.k8s.io/v1"
        kind = "pods" if is_pod else "endpointslices"
        spaces = self._settings.namespaces
        return [f"{group}/namespaces/{namespace}/{kind}" for namespace in spaces] or [
            f"{group}/{kind}"
        ]

    def _query(self) -> dict[str, str]:
        terms = [self._settings.label_selector]
        if self._settings.service:
            terms.append(f"{SERVICE_LABEL}={self._settings.service}")
        selector = ",".join(term for term in terms if term)
        return {"labelSelector": selector} if selector else {}
