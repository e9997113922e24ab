"""Why a session waits, in the manager's own words."""

import msgspec

from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.errors import BackendAiRefusedError
from accelwatch.api_client.backendai.releases import Ability, Release
from accelwatch.base.untrusted_text import printable
from accelwatch_backendai.api.sessions import Session

# Of a text that names each kernel that found no agent.
_MOST_TEXT = 300
# A success among the tries says nothing of why it waits.
_WELL = "SUCCESS"


class _Try(msgspec.Struct, frozen=True):
    result: str | None = None
    message: str | None = None


class _History(msgspec.Struct, frozen=True):
    items: tuple[_Try, ...] = ()


async def why_pending(client: BackendAiClient, release: Release, session: Session) -> str:
    """The scheduler's words about its latest try; empty where it has none.

    Until 26.3 they stand in the session's `status_info`; later in its scheduling history (26.9), the
    newest first. Raises BackendAiUnavailableError; a history that may not be read says nothing.
    """
    text = session.status_info
    if release.can(Ability.V2) and session.status == "PENDING":
        path = f"/v2/scheduling-history/sessions/{session.id}/search"
        try:
            tries = decoded(await client.post(path, {}), _History).items
        except BackendAiRefusedError:
            tries = ()
        text = next((each.message or "" for each in tries if each.result != _WELL), text)
    return printable(" ".join(text.split()))[:_MOST_TEXT]
