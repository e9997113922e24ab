"""What people do about incidents through a hub, or an agent: silence them, end that, close them."""

import contextlib
import getpass
from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

import msgspec

from accelwatch.alerting.evaluation.paths import INCIDENTS, SILENCES
from accelwatch.alerting.evaluation.silences.documents import Closed, SilenceChanged
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.hub_client.connection.session import HubSession

Changed = TypeVar("Changed", SilenceChanged, Closed)


class IncidentChanges:
    """Implements `picture.changing.IncidentChanges`; what is done is said in words."""

    def __init__(self, session: HubSession) -> None:
        self._session = session

    async def silence(self, matchers: Sequence[str], lasts: str, reason: str) -> str:
        """Silence incidents for a while (`2h`). Raises AccelwatchError."""
        document = {"matchers": matchers, "for": lasts, "reason": reason, "by": user_name()}
        reply = await self._change(SilenceChanged, "silenced", "POST", SILENCES, document=document)
        silence = reply.silence
        return f"silence {silence.id}: {', '.join(silence.matchers)} for {lasts}"

    async def expire_silence(self, id_: str) -> str:
        """End a silence. Raises AccelwatchError."""
        path = f"{SILENCES}/{quote(id_, safe='')}"
        await self._change(SilenceChanged, "ended", "DELETE", path, query={"by": user_name()})
        return f"silence {id_} is over"

    async def close(self, id_: str, reason: str) -> str:
        """Close an incident. Raises AccelwatchError."""
        path = f"{INCIDENTS}/{quote(id_, safe='')}/close"
        document = {"reason": reason, "by": user_name()}
        await self._change(Closed, "closed", "POST", path, document=document)
        return f"{id_} closed"

    async def _change(
        self,
        kind: type[Changed],
        done: str,
        method: str,
        path: str,
        *,
        document: Mapping[str, object] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Changed:
        body = None if document is None else msgspec.json.encode(document)
        try:
            answer = await self._session.change(method, path, query, body)
            reply = msgspec.json.decode(answer, type=kind)
        except TargetFault as fault:
            raise AccelwatchError(f"not {done}: {fault}") from fault
        except DECODE_ERRORS as error:
            raise AccelwatchError(f"{done}, but the answer cannot be read: {error}") from error
        if reply.problem:
            raise AccelwatchError(f"{done}, but not written down: {reply.problem}")
        return reply


def user_name() -> str:
    """The name of the user of this process; empty when he has none."""
    with contextlib.suppress(OSError, KeyError):
        return getpass.getuser()
    return ""
