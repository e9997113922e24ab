"""One request of remote write: how it is sent, and which answers may be others later."""

import time
from collections.abc import Mapping

from accelwatch.alerting.delivery.transport.push_queue import (
    Counts,
    NotAccepted,
    PushQueue,
    Request,
)
from accelwatch.base.backoff import retry_after
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.http.body import BodyPrefix
from accelwatch.fleet.tsdb.peer import Peer

_HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "Accept-Encoding": "identity",
}
_MAX_REASON_BYTES = 64 << 10
_SHOWN = 200


def shard(peer: Peer, counts: Counts, limit_bytes: int, max_backoff_s: float) -> PushQueue:
    """A queue of requests to a receiver of remote write."""

    async def send(request: Request) -> int:
        try:
            await _send(peer, request)
        except TargetFault as fault:  # no answer at all
            raise NotAccepted(str(fault), passes=True, label=f"reason={fault.reason}") from fault
        return 0

    return PushQueue("remote write", send, counts, limit_bytes, max_backoff_s)


async def _send(peer: Peer, request: Request) -> None:
    """Raises TargetFault without an answer, NotAccepted for one that refuses the request."""
    answer = await peer.request("POST", "", _HEADERS, _open_answer, body=request.body)
    code = answer.status
    if _accepted(code):
        return
    text = " ".join(answer.body().decode("utf-8", "replace").split())[:_SHOWN]
    passes = code == 429 or code >= 500
    raise NotAccepted(
        f"answered {code}: {text}",
        passes=passes,
        label="reason=busy" if passes else f"code={code}",
        retry_after_s=retry_after(answer.headers.get("retry-after"), time.time()),
    )


def _accepted(code: int) -> bool:
    return 200 <= code < 300


def _open_answer(code: int, headers: Mapping[str, str]) -> BodyPrefix | None:
    if _accepted(code) or "content-encoding" in headers:
        return None
    return BodyPrefix(_MAX_REASON_BYTES)
