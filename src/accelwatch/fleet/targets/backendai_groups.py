"""Resource groups of agents, which a manager's page for Prometheus lacks but its API has."""

import asyncio

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import BackendAiError
from accelwatch.api_client.backendai.paging import PAGE, Page, all_rows
from accelwatch.api_client.backendai.server import Server, ServerOptions, server_of
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.settings import BackendAiServer

GROUP_LABEL = "resource_group"
_QUERY = """query($limit: Int!, $offset: Int!) {
 agent_list(limit: $limit, offset: $offset, order: "id") {
  total_count items { id scaling_group } } }"""


class _AgentGroup(msgspec.Struct, frozen=True):
    id: str
    scaling_group: str | None = None


class _List(msgspec.Struct, frozen=True):
    items: tuple[_AgentGroup, ...]
    total_count: int = 0


class _Data(msgspec.Struct, frozen=True):
    agent_list: _List


class ResourceGroups:
    """Of one manager's agents, by a superadmin's key."""

    def __init__(self, settings: BackendAiServer, every_s: float, kept: TargetCache) -> None:
        """Failures to read are reported through `kept`. Raises ConfigError."""
        self._server = server_in(settings)
        self._every_s = every_s
        self._kept = kept
        # By the agent's id; as they were where they cannot be read any more.
        self.by_agent: dict[str, str] = {}

    async def run(self, is_first_over: asyncio.Event) -> None:
        """Read again and again until cancelled; `is_first_over` is set after the first try."""
        client = BackendAiClient(self._server)
        try:
            while True:
                await self._poll(client)
                is_first_over.set()
                await asyncio.sleep(self._every_s)
        finally:
            await client.close()

    async def _poll(self, client: BackendAiClient) -> None:
        try:
            self.by_agent = await _groups(client)
        except BackendAiError as error:
            text = f"resource groups of the agents cannot be read: {error}"
            self._kept.refuse(self._server.base, AccelwatchError(text))
        else:
            self._kept.update(self._server.base, [])


def server_in(settings: BackendAiServer) -> Server:
    """The manager that settings name. Raises ConfigError, with the key."""
    options = ServerOptions(
        url=settings.url,
        access_key=settings.access_key,
        secret_key_file=str(settings.secret_key_file or ""),
        ca_file=str(settings.ca_file or ""),
        host=settings.host,
        timeout_s=settings.timeout_s,
    )
    return server_of(options)


async def _groups(client: BackendAiClient) -> dict[str, str]:
    """Raises BackendAiError."""

    async def page(offset: int) -> Page[_AgentGroup]:
        variables = {"limit": PAGE, "offset": offset}
        listed = decoded(await client.graphql(_QUERY, variables), _Data).agent_list
        return Page(listed.items, listed.total_count)

    rows = await all_rows(page, lambda row: row.id)
    return {row.id: row.scaling_group for row in rows if row.scaling_group}
