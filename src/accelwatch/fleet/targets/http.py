"""Targets from a URL, in the JSON of Prometheus' HTTP service discovery.

As https://prometheus.io/docs/prometheus/latest/http_sd/ has it: GET, code 200, `application/json` in
UTF-8, the whole list each time; an answer that is anything else leaves the targets before.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.fleet.follow.access import Access
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.http.url import server_url
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import TargetClient, target_client
from accelwatch.fleet.scrape_settings import TlsConfig
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.cache import TargetCache
from accelwatch.fleet.targets.groups import targets_in
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import HttpSd, scrape_for
from accelwatch.fleet.targets.watch import Polled, Publish

_TYPE = re.compile(r'application/json(\s*;\s*charset=("utf-8"|utf-8))?', re.IGNORECASE)


def endpoint(url: str, tls: TlsConfig | None = None) -> Target:
    """The server of a URL, which is no target itself. Raises UsageError."""
    server = server_url(url, tls)
    base = server.path.rstrip("/")
    return Target(node="", scheme=server.scheme, address=server.netloc, base=base)


class Listed(NamedTuple):
    """What an answer names."""

    targets: list[Target]
    # Why some that it names cannot be followed; empty where all can.
    note: str = ""


class HttpTargets:
    """Polls one URL."""

    def __init__(
        self, settings: HttpSd, rules: Rules, read: Callable[[object], Listed] | None = None
    ) -> None:
        """`read`: what a parsed document names, where it is not a plain list of targets; on a thread.

        Raises UsageError for a URL that makes no sense, ConfigError for access that does not fit.
        """
        self._settings = settings
        self._rules = rules
        self._read = read or self._listed
        self._server = endpoint(settings.url, settings.tls_config)
        self._scrape = scrape_for(settings)
        self._access = Access(self._scrape)
        self.kept = TargetCache()

    async def run(self, publish: Publish) -> None:
        """Poll until cancelled."""
        client = target_client(Client(self._scrape, self._access), self._server)
        try:
            every_s = self._settings.refresh_s
            await Polled(lambda: self._poll(client), every_s, self.kept).run(publish)
        finally:
            client.close()

    async def _poll(self, client: TargetClient) -> Sequence[Target]:
        # Without the query, in which sites keep secrets.
        location = self._settings.url.partition("?")[0]
        try:
            body = await self._request(client)
            # On a thread: ten thousand targets need longer than the streams may have to wait.
            targets, note = await asyncio.to_thread(self._targets, body)
            self.kept.update(location, targets)
            self.kept.note(location, note)
        except AccelwatchError as error:
            self.kept.refuse(location, error)
        return self.kept.targets()

    async def _request(self, client: TargetClient) -> bytes:
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "X-Prometheus-Refresh-Interval-Seconds": f"{self._settings.refresh_s:g}",
        }
        return await client.get(
            self._settings.url, headers, self._open_body, self._settings.timeout_s
        )

    def _open_body(self, headers: Mapping[str, str]) -> Body:
        media = headers.get("content-type", "")
        if not _TYPE.fullmatch(media.strip()):
            text = f"answered with {media[:60]!r}; expected application/json"
            raise TargetFault(Reason.GARBAGE, text)
        return Body(headers.get("content-encoding"), self._settings.body_size_limit_bytes)

    def _targets(self, body: bytes) -> Listed:
        try:
            document = msgspec.json.decode(body)
        except DECODE_ERRORS as error:
            raise UsageError(f"bad JSON: {error}") from error
        return self._read(document)

    def _listed(self, document: object) -> Listed:
        return Listed(targets_in(document, self._rules, self._settings.labels))
