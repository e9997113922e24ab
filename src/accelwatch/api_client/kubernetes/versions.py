"""Which versions of an API group a server serves, and which of them have a resource.

A group may be served without a resource of it: resource.k8s.io/v1 has no DeviceTaintRule before 1.37.
"""

from collections.abc import Callable

import msgspec

from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import ApiError, decoded
from accelwatch.base.clock import Clock, SystemClock

# An upgrade of the cluster changes it; a version that is gone answers 404 until then.
_KEEP_S = 300.0
_NOT_FOUND = 404


class _GroupVersion(msgspec.Struct, frozen=True):
    version: str


class _Group(msgspec.Struct, frozen=True):
    versions: tuple[_GroupVersion, ...] = ()


class _Resource(msgspec.Struct, frozen=True):
    name: str


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] | None = ()


class ServedVersions:
    """Of one cluster; what was read is kept for five minutes."""

    def __init__(self, client: KubernetesClient, clock: Clock | None = None) -> None:
        self._client = client
        self._clock = clock or SystemClock()
        # By path: when it was read, and the names that it had.
        self._kept: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def of_group(self, group: str) -> tuple[str, ...]:
        """Versions, the server's preferred first; none where the group is not served.

        Raises ApiError, ApiUnavailableError.
        """
        return await self._names(f"/apis/{group}", _versions)

    async def resources(self, group: str, version: str) -> frozenset[str]:
        """Names of the resources of a version, such as devicetaintrules and pods/eviction.

        Raises ApiError, ApiUnavailableError.
        """
        return frozenset(await self._names(f"/apis/{group}/{version}", _resources))

    async def serving(self, group: str, resource: str) -> str:
        """The first version that has the resource; empty where none has.

        Raises ApiError, ApiUnavailableError.
        """
        for version in await self.of_group(group):
            if resource in await self.resources(group, version):
                return version
        return ""

    def forget(self) -> None:
        """Read all of it again: something that was served has answered 404."""
        self._kept.clear()

    async def _names(
        self, path: str, names_in: Callable[[bytes], tuple[str, ...]]
    ) -> tuple[str, ...]:
        now = self._clock.monotonic()
        read_at, names = self._kept.get(path, (float("-inf"), ()))
        if now - read_at < _KEEP_S:
            return names
        try:
            names = names_in(await self._client.get(path))
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
            names = ()
        self._kept[path] = (now, names)
        return names


def _versions(body: bytes) -> tuple[str, ...]:
    return tuple(entry.version for entry in decoded(body, _Group).versions)


def _resources(body: bytes) -> tuple[str, ...]:
    listed = decoded(body, _Resources).resources
    return tuple(resource.name for resource in listed or ())
