"""Nodes by their names, and the one of each that was read last.

A step is sent with the version of the node that it was proposed from. That saves a read for each of a
thousand nodes, and the server refuses the patch where the node has changed since.
"""

from collections.abc import Callable
from urllib.parse import quote

from accelwatch.api_client.kubernetes.client import KubernetesClient
from accelwatch.api_client.kubernetes.errors import NOT_FOUND, ApiError
from accelwatch_kubernetes.access.answers import unavailable_if_unread
from accelwatch_kubernetes.objects.node import Node, node_of

# As many nodes as may be under way together; what is older is read again.
_MOST = 4096


def node_path(name: str) -> str:
    """Where a node is."""
    return f"/api/v1/nodes/{quote(name, safe='')}"


class NodeReader:
    """For one event loop."""

    def __init__(self, client: KubernetesClient, shown: Callable[[Node], None]) -> None:
        """`shown` gets each node as the server has shown it."""
        self._client = client
        self._shown = shown
        self._latest: dict[str, Node] = {}

    async def text(self, name: str) -> str:
        """A node as the server sends it; empty without one. Raises ActionUnavailableError."""
        self._latest.pop(name, None)
        with unavailable_if_unread():
            try:
                text = (await self._client.get(node_path(name))).decode()
            except ApiError as error:
                # What is between us and the server answers 404 as well, with a page of its own:
                # believed, it would end a release whose taint is there still.
                if error.status == 404 and error.reason == NOT_FOUND:
                    return ""
                raise
            node = node_of(text)
        self.keep(node)
        return text

    async def node(self, name: str) -> Node | None:
        """A node as it is now. Raises ActionUnavailableError."""
        return node_of(await self.text(name))

    def keep(self, node: Node | None) -> None:
        """The server has shown it so."""
        if node is None:
            return
        if len(self._latest) >= _MOST:
            self._latest.clear()
        self._latest[node.name] = node
        self._shown(node)

    def written(self, node: Node | None) -> None:
        """A write has left it so: a poll of all nodes must not show what was there before."""
        if node is not None:
            self._shown(node)

    def pop_latest(self, name: str) -> Node | None:
        """The node as it was read last, once: a change makes it out of date."""
        return self._latest.pop(name, None)
