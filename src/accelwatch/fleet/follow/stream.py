"""The stream of one target: its messages, as they come."""

from collections.abc import Callable, Mapping

from accelwatch.fleet.follow.failures.faults import NotOurs, Reason, TargetFault
from accelwatch.fleet.follow.frames import FrameReader, RawTick, Received
from accelwatch.fleet.follow.target_client import TargetClient
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.schema.stream.compact import Hello
from accelwatch.web.http.stream import MSGPACK, PACKED

# Packed values, or from an agent that does not know them the same as arrays of MessagePack.
_HEADERS = {"Accept": f"{PACKED}, {MSGPACK};q=0.9", "Accept-Encoding": "identity"}
_NO_STREAM = (404, 405, 406)
# Gets a message and its size in bytes. Raises TargetFault.
Receive = Callable[[Received, int], None]


class Stream:
    """Read until it ends; no tick may keep us waiting for long, however many bytes drip in."""

    def __init__(
        self, client: TargetClient, url: str, scrape: Scrape, hello: Mapping[str, str]
    ) -> None:
        """`hello` are headers that are shown beside those of every stream."""
        self._client = client
        self._url = url
        self._scrape = scrape
        self._headers = {**_HEADERS, **hello}

    async def follow(self, receive: Receive) -> None:
        """Hand every message over until it ends, which raises TargetFault; NotOurs without a stream.

        The next tick has to come within the timeout, or three intervals of the target.
        """

        def open_body(headers: Mapping[str, str]) -> _Messages:
            _check_type(headers)
            reader = FrameReader(self._scrape.body_size_limit_bytes)
            return _Messages(reader, receive, self._client.prolong, self._scrape.timeout_s)

        try:
            await self._client.get(self._url, self._headers, open_body, self._scrape.timeout_s)
        except TargetFault as fault:
            raise _named(fault) from fault
        raise TargetFault(Reason.CLOSED, "the target ended the stream")


class _Messages:
    """The body of a stream: nothing of it is kept."""

    def __init__(
        self,
        reader: FrameReader,
        receive: Receive,
        prolong: Callable[[float], None],
        least_s: float,
    ) -> None:
        self._reader = reader
        self._receive = receive
        self._prolong = prolong
        self._least_s = self._silence_s = least_s

    def feed(self, chunk: bytes) -> None:
        """Hand over what has become complete. Raises TargetFault."""
        for message, size in self._reader.feed(chunk):
            self._receive(message, size)
            if isinstance(message, RawTick):
                self._prolong(self._silence_s)
            elif isinstance(message, Hello) and message.interval_s:
                self._silence_s = max(self._least_s, 3 * min(message.interval_s, 600.0))

    def read_all(self) -> bytes:
        """Nothing."""
        return b""


def _check_type(headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (MSGPACK, PACKED):
        raise NotOurs(Reason.STATUS, "answers, but with no stream")
    if headers.get("content-encoding", "identity") != "identity":
        raise TargetFault(Reason.GARBAGE, "the stream is compressed, which was not requested")


def _named(fault: TargetFault) -> TargetFault:
    """A fault that says "no such page" means another exporter."""
    if fault.reason is Reason.STATUS and fault.code in _NO_STREAM:
        return NotOurs(fault.reason, str(fault))
    if fault.reason is Reason.TIMEOUT:
        return TargetFault(Reason.TIMEOUT, "no answer in time")
    return fault
