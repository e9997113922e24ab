"""Whether the hub quarantines this node in its scheduler: `GET /v1/avoid`, on each health check."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from accelwatch.api_client.session import Session
from accelwatch.api_client.tls import tls_context
from accelwatch.base.clock import Clock
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.config.node_health import NodeHealth
from accelwatch.system.files.secret_file import read_secret

logger = logging.getLogger(__name__)

_PAGE = "/v1/avoid?reason=quarantined"
# A launcher waits for us, and its ranks for it.
_TIMEOUT_S = 2.0
_FRESH_S = 5.0
_MAX_BODY_BYTES = 4 << 20


class _Reason(msgspec.Struct, frozen=True):
    text: str


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    host: str = ""
    scheduler_name: str = ""
    reasons: tuple[_Reason, ...] = ()


class _AvoidPage(msgspec.Struct, frozen=True):
    """What is read of the hub's page, which may be of another version."""

    nodes: tuple[_Node, ...]


class HubHold:
    """Queries the hub at most once in five seconds; a hub that does not answer quarantines nothing."""

    def __init__(self, settings: NodeHealth, host: Callable[[], str], clock: Clock) -> None:
        """`host` is this node's name. Raises ConfigError where a certificate cannot be used."""
        assert settings.hub is not None
        base = settings.hub.rstrip("/")
        self._tls = tls_context(base, settings.hub_ca_file or "")
        self._token_file = settings.hub_token_file
        self._session = Session(base, _MAX_BODY_BYTES)
        self._host = host
        self._clock = clock
        self._request: asyncio.Task[tuple[str, ...]] | None = None
        self._fresh_until = 0.0
        self._failing = False

    async def failures(self) -> tuple[str, ...]:
        """Why the hub holds this node; empty where it does not, or does not answer."""
        if self._request is None or (
            self._request.done() and self._clock.monotonic() >= self._fresh_until
        ):
            self._request = asyncio.get_running_loop().create_task(self._ask())
        # A caller that stops waiting does not cancel the request of the others.
        return await asyncio.shield(self._request)

    async def close(self) -> None:
        """Give the connection back."""
        await self._session.close()
        if self._request is not None:
            self._request.cancel()
            await asyncio.gather(self._request, return_exceptions=True)

    async def _ask(self) -> tuple[str, ...]:
        try:
            reasons = self._reasons(await self._page())
        except (*DECODE_ERRORS, AccelwatchError) as error:
            if not self._failing:
                logger.warning("the hub cannot be asked whether it holds this node: %s", error)
            self._failing, reasons = True, ()
        else:
            self._failing = False
        self._fresh_until = self._clock.monotonic() + _FRESH_S
        return reasons

    async def _page(self) -> bytes:
        token = await asyncio.to_thread(_token, self._token_file) if self._token_file else ""
        answer = await self._session.request(
            "GET",
            _PAGE,
            tls=self._tls,
            timeout_s=_TIMEOUT_S,
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )
        if not answer.well:
            raise AccelwatchError(f"it answers {answer.status}")
        return answer.body

    def _reasons(self, body: bytes) -> tuple[str, ...]:
        page = msgspec.json.decode(body, type=_AvoidPage)
        ours = _short(self._host())
        return tuple(
            f"held by the hub: {reason.text}"
            for node in page.nodes
            if ours
            in {_short(name) for name in (node.node, node.host, node.scheduler_name) if name}
            for reason in node.reasons
        )


def _token(file: str | Path) -> str:
    """Read each time: it may have been exchanged. Raises ConfigError."""
    secret = read_secret(Path(file), "the hub's token", follow_links=True)
    return secret.decode("ascii", "replace")


def _short(name: str) -> str:
    """A host name without its domain: hub, scheduler and kernel may each have another of them."""
    return name.partition(".")[0].lower()
