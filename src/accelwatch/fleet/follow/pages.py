"""The pages of one target, requested one after the other and read within bounds."""

from collections.abc import Mapping

from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.target_client import TargetClient
from accelwatch.fleet.scrape_settings import Scrape

_ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"


class Pages:
    """Each is an exposition in Prometheus' text format."""

    def __init__(self, client: TargetClient, url: str, scrape: Scrape) -> None:
        self._client = client
        self._url = url
        self._timeout_s = scrape.timeout_s
        self._limit = scrape.body_size_limit_bytes

    async def next(self) -> bytes:
        """The page as it is now, unpacked. Raises TargetFault."""
        return await self._client.get(self._url, self._headers(), self._body, self._timeout_s)

    def _headers(self) -> Mapping[str, str]:
        return {
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{self._timeout_s:g}",
        }

    def _body(self, headers: Mapping[str, str]) -> Body:
        return Body(headers.get("content-encoding"), self._limit)
