"""Who may do what: keypairs, their users' roles, and the signature of a request."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from accelwatch.base.clock import Clock
from accelwatch_lab.cluster.backendai.access import Account, keys_of
from accelwatch_lab.cluster.backendai.api_server import problems

# A request's Date may be so far from the server's clock.
WINDOW_S = 15 * 60
_SCHEME = "BackendAI signMethod=HMAC-SHA256, credential="


class Keypair(msgspec.Struct, frozen=True, kw_only=True):
    """An account's key."""

    access_key: str
    secret_key: str
    email: str
    user_id: str
    role: str

    @property
    def is_superadmin(self) -> bool:
        """Whether it may do all."""
        return self.role == "superadmin"


# Of the fixtures' users: e-mail, id, and what the API calls their role.
_USERS = {
    Account.SUPERADMIN: ("admin@lablup.com", "f38dea23-50fa-42a0-b5ae-338f5f4693f4", "superadmin"),
    Account.DOMAIN_ADMIN: (
        "domain-admin@lablup.com",
        "4f13d193-f646-425a-a340-270c4d2b9860",
        "admin",
    ),
    Account.USER: ("user@lablup.com", "dfa9da54-4b28-432f-be29-c0d680c7a412", "user"),
    Account.MONITOR: ("monitor@lablup.com", "2e10157d-20ca-4bd0-9806-3f909cbcd0e6", "monitor"),
}


class Accounts:
    """The keypairs of a server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.keypairs: dict[str, Keypair] = {}

    def read(self, folder: Path) -> None:
        """Know those that were written for a folder. Raises AccelwatchError."""
        for account, (email, user_id, role) in _USERS.items():
            keys = keys_of(folder, account)
            self.keypairs[keys.access_key] = Keypair(
                access_key=keys.access_key,
                secret_key=keys.secret_key,
                email=email,
                user_id=user_id,
                role=role,
            )

    def signed_by(self, method: str, path: str, headers: Mapping[str, str]) -> Keypair:
        """Whose a request is; `path` has its query, as it was sent. Raises RequestError."""
        authorization = headers.get("Authorization", "")
        if not authorization.startswith(_SCHEME):
            raise problems.unauthorized("Unauthorized access")
        access_key, _, signature = authorization.removeprefix(_SCHEME).partition(":")
        date = headers.get("Date", "")
        self._check_date(date)
        keypair = self.keypairs.get(access_key)
        if keypair is None:
            raise problems.unauthorized("Access key not found in HMAC")
        expected = _signature(keypair, method, path, date, headers)
        if not hmac.compare_digest(signature.encode(errors="replace"), expected.encode()):
            raise problems.unauthorized("HMAC signature mismatch")
        return keypair

    def acting_for(self, caller: Keypair, access_key: str | None) -> Keypair:
        """For whom a request is; `access_key` is its `owner_access_key`. Raises RequestError."""
        if access_key is None or access_key == caller.access_key:
            return caller
        owner = self.keypairs.get(access_key)
        if owner is None:
            raise problems.invalid("Unknown owner access key")
        if not caller.is_superadmin:
            raise problems.forbidden("Only admins can perform operations on behalf of other users.")
        return owner

    def _check_date(self, text: str) -> None:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            raise problems.out_of_sync() from None
        if abs(date.timestamp() - self._clock.wall()) > WINDOW_S:
            raise problems.out_of_sync()


def _signature(
    keypair: Keypair, method: str, path: str, date: str, headers: Mapping[str, str]
) -> str:
    """Bodies are not signed: the digest of nothing stands for them."""
    host = headers.get("Host", "")
    lines = (
        method,
        path,
        date,
        f"host:{host}",
        f"content-type:{headers.get('Content-Type', '')}",
        f"x-backendai-version:{headers.get('X-BackendAI-Version', '')}",
        hashlib.sha256(b"").hexdigest(),
    )
    day = datetime.fromisoformat(date).astimezone(UTC).strftime("%Y%m%d")
    key = keypair.secret_key.encode()
    for component in (day, host):
        key = hmac.digest(key, component.encode(), "sha256")
    return hmac.digest(key, "\n".join(lines).encode(), "sha256").hex()
