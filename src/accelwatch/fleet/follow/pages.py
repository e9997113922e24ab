"""The pages of one target, asked for one after the other and read within bounds."""

from collections.abc import Mapping
from typing import NamedTuple

from accelwatch.fleet.follow.body import Body
from accelwatch.fleet.follow.target_client import TargetClient
from accelwatch.fleet.scrape_settings import Scrape

_ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"


class Prefetched(NamedTuple):
    """A page that another process has asked for."""

    body: bytes
    duration_s: float


class Pages:
    """Each is an exposition in Prometheus' text format."""

    def __init__(
        self,
        client: TargetClient,
        url: str,
        scrape: Scrape,
        *,
        prefetched: Prefetched | None = None,
    ) -> None:
        """The first one may be there already."""
        self.ahead_s = 0.0
        """How long the latest took when it was not asked for here."""
        self._prefetched = prefetched
        self._client = client
        self._url = url
        self._timeout_s = scrape.timeout_s
        self._limit = scrape.body_size_limit_bytes

    async def next(self) -> bytes:
        """The page as it is now, unpacked. Raises TargetFault."""
        if self._prefetched is not None:
            (body, self.ahead_s), self._prefetched = self._prefetched, None
            return body
        self.ahead_s = 0.0
        return await self._client.get(self._url, self._headers(), self._body, self._timeout_s)

    def _headers(self) -> Mapping[str, str]:
        return {
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{self._timeout_s:g}",
        }

    def _body(self, headers: Mapping[str, str]) -> Body:
        return Body(headers.get("content-encoding"), self._limit)
