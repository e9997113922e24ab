"""What the key may do, by the role of its user, which is read without writing anything.

Only a superadmin sees agents and sets them unschedulable, and acts for the owners of sessions;
Backend.AI has no narrower role. Anybody else's `modify_agent` is answered with 200 and `ok: false`.
"""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import IntentKind
from accelwatch.api_client.backendai.client import BackendAiClient, decoded
from accelwatch.api_client.backendai.credentials import secret_key_in
from accelwatch.api_client.backendai.errors import BackendAiError
from accelwatch.api_client.backendai.releases import Ability, ManagerRelease, Release
from accelwatch.api_client.backendai.server import ServerOptions
from accelwatch.base.clock import Clock
from accelwatch.base.errors import ConfigError
from accelwatch.base.untrusted_text import printable

SUPERADMIN = "superadmin"
# Who has just been made a superadmin waits for a minute at most; roles change seldom.
_AGAIN_S, _AGAIN_REFUSED_S = 600.0, 60.0
_QUERY = "{ user { role } keypair { is_active } }"
# Of a monitor's key, to whom 26.9 answers no query, not even about itself.
_NO_ROLE = "Unknown client role"
_UNREADABLE = "monitor, or of another that may not ask for itself"
# What needs a specification of the session.
_CREATES = (IntentKind.MOVE_JOB, IntentKind.RESTORE_JOB)


class _User(msgspec.Struct, frozen=True):
    role: str


class _Keypair(msgspec.Struct, frozen=True):
    is_active: bool | None = None


class _Data(msgspec.Struct, frozen=True):
    user: _User
    keypair: _Keypair | None = None


class Permissions:
    """For one event loop."""

    def __init__(
        self,
        client: BackendAiClient,
        release: ManagerRelease,
        clock: Clock,
        intents: frozenset[IntentKind],
        *,
        specified: bool,
    ) -> None:
        """`specified`: whether the options have specifications of sessions."""
        self._client = client
        self._manager = release
        self._clock = clock
        self._intents = intents
        self._specified = specified
        self._due = float("-inf")
        self._role = ""
        self._release: Release | None = None

    async def refresh(self) -> None:
        """Read the role again, if it is time to; what is not answered is as it was."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        try:
            data = decoded(await self._client.graphql(_QUERY), _Data)
            self._release = await self._manager.current()
        except BackendAiError as error:
            if _NO_ROLE in error.problem.message:
                self._role = _UNREADABLE
            self._due = now + _AGAIN_REFUSED_S
            return
        is_active = data.keypair is None or data.keypair.is_active is not False
        self._role = data.user.role if is_active else "(its keypair is inactive)"
        self._due = now + (_AGAIN_S if self._role == SUPERADMIN else _AGAIN_REFUSED_S)

    @property
    def problem(self) -> str:
        """Why the key is of no use, with the mend; empty where it is, and before the first answer."""
        if self._role in ("", SUPERADMIN):
            return ""
        return (
            f"server.access_key is a key of the role {printable(self._role)[:60]}: Backend.AI shows and "
            "changes agents for superadmins only; create a keypair of a superadmin for the hub"
        )

    @property
    def impossible(self) -> Mapping[IntentKind, str]:
        """What would be refused, and why; empty before the first answer."""
        if problem := self.problem:
            return dict.fromkeys(self._intents, problem)
        release = self._release
        if release is None or release.can(Ability.V2) or self._specified:
            return {}
        text = (
            f"release {release} of the manager does not show how sessions were made, which 26.4 and "
            "newer do; name files in `specifications`"
        )
        return {kind: text for kind in _CREATES if kind in self._intents}

    @property
    def rights(self) -> str:
        """What the key may do, for people; empty where it may not, and before the first answer."""
        if self._role != SUPERADMIN or self._release is None:
            return ""
        return (
            f"release {self._release}; access_key is the key of a superadmin, with which everything may "
            "be done at this manager, also in the name of each user; the hub uses it to set agents "
            "schedulable or not, to move idle spares between resource groups, to end sessions, and to "
            "create them again for their owners"
        )


def complaints_of(options: ServerOptions) -> list[str]:
    """What would keep the key from being used, with the mend; sends nothing."""
    try:
        secret_key_in(options.secret_key_file)
    except ConfigError as error:
        return [f"server.secret_key_file: {error}"]
    return []
