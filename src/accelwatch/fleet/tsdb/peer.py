"""Requests to one Prometheus-compatible server: credentials, headers, deadline; failures as faults."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.by_aiohttp import faults, open_session
from accelwatch.fleet.follow.http.resolver import Resolver
from accelwatch.fleet.tsdb.settings import RemoteWrite, Store, scrape_of
from accelwatch.located_yaml.nodes import read_file

_CONNECTIONS = 32
_TENANT = "X-Scope-OrgID"


class Peer:
    """One server. Header files are read for every request: they are small and may change."""

    def __init__(self, settings: Store | RemoteWrite) -> None:
        assert settings.url is not None
        self.url = settings.url.rstrip("/")
        self._settings = settings
        self._access = Access(scrape_of(settings))
        self._https = self.url.startswith("https:")
        self._session = open_session(Resolver(), connections=_CONNECTIONS)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    @contextlib.asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, whatever its code, within the deadline. Raises TargetFault."""
        try:
            ticket = await self._access.ticket(secure=self._https)
            own = await self._headers()
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error
        with faults():
            async with (
                asyncio.timeout(self._settings.timeout_s),
                self._session.request(
                    method,
                    self.url + path,
                    headers={**own, **ticket.headers, **headers},
                    params=params,
                    data=body,
                    allow_redirects=False,
                    ssl=ticket.tls if self._https else True,
                    server_hostname=ticket.server_name if self._https else None,
                ) as response,
            ):
                yield response

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
