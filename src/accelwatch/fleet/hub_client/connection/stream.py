"""One connection to a hub's stream, from request to end."""

from collections.abc import Callable, Mapping

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.hub_client.connection.messages import Received, message
from accelwatch.fleet.hub_client.connection.plausible import check_hello, check_tick
from accelwatch.fleet.hub_client.connection.session import HubSession, Prolong
from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.wire import FleetHello, FleetTick
from accelwatch.schema.stream.frames import FrameSizeError, Splitter
from accelwatch.web.http.stream import INCIDENTS, MSGPACK, STREAM

_MAX_FRAME = 256 << 20
# Of one message: what any has at least room for, and what a tick has for each device that is kept.
_LEAST_FRAME, _BYTES_A_DEVICE = 8 << 20, 400
NO_HUB = "it answers, but not as a hub does; agents are followed with --targets"
_NO_STREAM = (404, 405, 406)
_REFUSED = 400
# An older hub knows no incidents in its stream and sends it without.
_WITH_INCIDENTS = f"{INCIDENTS}, {MSGPACK};q=0.9"


async def follow(
    session: HubSession,
    condition: str,
    receive: Callable[[Received], None],
    needs_decoding: Callable[[bytes], bool],
    *,
    incidents: bool = False,
) -> None:
    """Hand every message over until the stream ends, which raises TargetFault.

    A hub that knows incidents sends them only on request. A frame for which
    `needs_decoding` is false is left out undecoded. No message may keep us waiting for longer than the
    session's timeout, or three intervals of the hub.
    """
    query = {"fields": ",".join(FIELDS)} | ({"filter": condition} if condition else {})
    accept = _WITH_INCIDENTS if incidents else MSGPACK
    headers = {"Accept": accept, "Accept-Encoding": "identity"}

    def open_messages(answered: Mapping[str, str], prolong: Prolong) -> _Messages:
        kind = answered.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (MSGPACK, INCIDENTS):
            raise TargetFault(Reason.GARBAGE, NO_HUB)
        most = min(_MAX_FRAME, _LEAST_FRAME + _BYTES_A_DEVICE * session.endpoint.device_limit)
        return _Messages(receive, needs_decoding, session.timeout_s, prolong, most)

    try:
        await session.stream(STREAM, query, headers, open_messages)
    except TargetFault as fault:
        if fault.reason is Reason.TIMEOUT:
            raise TargetFault(Reason.TIMEOUT, "not responding") from fault
        if fault.code in _NO_STREAM or (fault.code == _REFUSED and not condition):
            raise TargetFault(Reason.GARBAGE, NO_HUB) from fault
        raise
    raise TargetFault(Reason.CLOSED, "it ended the stream")


class _Messages:
    """The body of a stream: nothing of it is kept."""

    def __init__(
        self,
        receive: Callable[[Received], None],
        needs_decoding: Callable[[bytes], bool],
        least_s: float,
        prolong: Prolong,
        most_bytes: int,
    ) -> None:
        self._splitter = Splitter(most_bytes)
        self._receive = receive
        self._needs_decoding = needs_decoding
        self._least_s = self._silence_s = least_s
        self._prolong = prolong

    def feed(self, chunk: bytes) -> None:
        """Hand over what has become complete. Raises TargetFault."""
        try:
            for body in self._splitter.feed(chunk):
                self._prolong(self._silence_s)
                if self._needs_decoding(body):
                    self._dispatch(body)
        except FrameSizeError as error:
            raise TargetFault(Reason.TOO_LARGE, str(error)) from error

    def read_all(self) -> bytes:
        """Nothing."""
        return b""

    def _dispatch(self, body: bytes) -> None:
        received = message(body)
        if isinstance(received, FleetTick):
            check_tick(received)
        if isinstance(received, FleetHello):
            check_hello(received)
            self._silence_s = max(self._least_s, 3 * min(received.interval_s, 600.0))
        if received is not None:
            self._receive(received)
