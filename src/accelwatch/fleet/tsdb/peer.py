"""Requests to one Prometheus-compatible server: credentials, headers, deadline; failures as faults."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import USER_AGENT
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.http.exchange import Exchange, OpenAnswer
from accelwatch.fleet.follow.http.link import Link
from accelwatch.fleet.follow.http.request import Request, path_of
from accelwatch.fleet.follow.http.server import server_of
from accelwatch.fleet.tsdb.settings import RemoteWrite, Store, scrape_of
from accelwatch.system.located_yaml.nodes import read_file

# Requests at a time; others wait for their turn.
_CONNECTIONS = 32
_TENANT = "X-Scope-OrgID"


class Peer:
    """One server. Header files are read for every request: they are small and may change."""

    def __init__(self, settings: Store | RemoteWrite) -> None:
        assert settings.url is not None
        self.url = settings.url.rstrip("/")
        self._settings = settings
        self._access = Access(scrape_of(settings))
        self._server = server_of(self.url)
        self._connector = Connector()
        self._room = asyncio.Semaphore(_CONNECTIONS)
        self._idle: list[Link] = []
        self._busy: set[Link] = set()

    def close(self) -> None:
        """Close every connection."""
        for link in (*self._idle, *self._busy):
            link.close()

    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        open_answer: OpenAnswer,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Exchange:
        """The complete answer, whatever its code, within the deadline. Raises TargetFault."""
        try:
            ticket = await self._access.ticket(secure=self._server.secure)
            own = await self._headers()
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error
        url = self.url + path + (f"?{urlencode(params)}" if params else "")
        fields = {"User-Agent": USER_AGENT, **own, **ticket.headers, **headers}
        request = Request(method, path_of(url), self._server.authority, fields, body)
        until = asyncio.get_running_loop().time() + self._settings.timeout_s
        try:
            async with asyncio.timeout_at(until), self._room:
                link = self._idle.pop() if self._idle else Link(self._connector, self._server)
                self._busy.add(link)
                try:
                    return await link.fetch(request, ticket, open_answer, until)
                finally:
                    self._busy.discard(link)
                    self._idle.append(link)
        except TimeoutError as error:
            raise TargetFault(Reason.TIMEOUT, "no answer in time") from error

    async def _headers(self) -> dict[str, str]:
        headers = dict(self._settings.headers)
        if self._settings.tenant:
            headers[_TENANT] = self._settings.tenant
        if self._settings.header_files:
            headers.update(await asyncio.to_thread(self._from_files))
        return headers

    def _from_files(self) -> dict[str, str]:
        return {name: _line(path) for name, path in self._settings.header_files.items()}


def _line(name: str) -> str:
    text = read_file(Path(name)).decode("utf-8", "replace").strip()
    if not text or not text.isprintable():
        raise ConfigError(f"{name}: a header's value is one line of printable characters")
    return text
