"""One collection of a cluster as a mirror reads it: on the connections of the cluster's client."""

from collections.abc import Callable, Mapping

from accelwatch.api_client.kubernetes.client import KubernetesClient


class Collection:
    """A path below which all objects of a kind are, such as /api/v1/pods."""

    def __init__(self, client: KubernetesClient, path: str) -> None:
        self._client = client
        self._path = path

    async def list(self, query: Mapping[str, str], accept: str) -> bytes:
        """A page. Raises KubernetesError."""
        return await self._client.get(self._path, query, accept=accept)

    async def watch(
        self,
        query: Mapping[str, str],
        accept: str,
        opened: Callable[[], None],
        feed: Callable[[bytes], None],
    ) -> None:
        """The changes, until the server ends the watch. Raises KubernetesError."""
        await self._client.watch(self._path, query, opened=opened, feed=feed, accept=accept)

    def close(self) -> None:
        """Nothing: the client belongs to the cluster."""
