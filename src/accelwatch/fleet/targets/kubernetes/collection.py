"""One collection as a mirror reads it, with the hub's own requests: by the settings of its section.

Not on the client of `accelwatch.api_client.kubernetes`: a hub that only follows targets loads no
aiohttp, and the texts of its failures are those of every other target.
"""

from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from accelwatch.api_client.kubernetes.errors import KubernetesError
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.body import Body
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.target_client import target_client
from accelwatch.fleet.target import Target


class FollowedCollection:
    """A path below which all objects of a kind are, on a connection of its own."""

    def __init__(self, client: Client, server: Target, path: str) -> None:
        self._limits = client.scrape
        self._http = target_client(client, server)
        self._url = server.url(path)

    async def list(self, query: Mapping[str, str], accept: str) -> bytes:
        """A page. Raises KubernetesError."""

        def open_body(answered: Mapping[str, str]) -> Body:
            return Body(answered.get("content-encoding"), self._limits.body_size_limit_bytes)

        headers = {"Accept": accept, "Accept-Encoding": "gzip"}
        url = f"{self._url}?{urlencode(query)}"
        try:
            return await self._http.get(url, headers, open_body, self._limits.timeout_s)
        except TargetFault as fault:
            raise _error_of(fault) from fault

    async def watch(
        self,
        query: Mapping[str, str],
        accept: str,
        opened: Callable[[], None],
        feed: Callable[[bytes], None],
    ) -> None:
        """The changes, until the server ends the watch. Raises KubernetesError."""

        def open_body(_answered: Mapping[str, str]) -> _Events:
            opened()
            return _Events(feed)

        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        url = f"{self._url}?{urlencode(query)}"
        longest_s = float(query["timeoutSeconds"]) + self._limits.timeout_s
        try:
            await self._http.get(url, headers, open_body, longest_s)
        except TargetFault as fault:
            if fault.reason is Reason.TIMEOUT:
                raise KubernetesError("the watch does not end") from fault
            raise _error_of(fault) from fault

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()


class _Events:
    """A body of which nothing is kept."""

    def __init__(self, feed: Callable[[bytes], None]) -> None:
        self._feed = feed

    def feed(self, chunk: bytes) -> None:
        """Another piece. Raises TargetFault, which is what makes its connection be closed."""
        try:
            self._feed(chunk)
        except KubernetesError as error:
            raise TargetFault(Reason.STATUS, str(error), code=error.status) from error

    def read_all(self) -> bytes:
        """Nothing."""
        return b""


def _error_of(fault: TargetFault) -> KubernetesError:
    return KubernetesError(str(fault), status=fault.code, retry_after_s=fault.retry_after_s)
