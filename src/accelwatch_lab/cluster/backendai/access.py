"""Who is known to a lab's manager, and what each needs to be it.

Creating a session there runs programs as root. So secret keys are random, in files that only
root reads. Database, Redis and etcd listen on loopback and let everybody in: nobody else is to be
logged in on the machine of a lab.
"""

import secrets
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError

# As many characters as the column of the database has.
_SECRET_BYTES = 20


class Account(StrEnum):
    """Who is known, all of one domain."""

    SUPERADMIN = "superadmin"
    DOMAIN_ADMIN = "domain-admin"
    USER = "user"
    # Sees what users do, and does nothing.
    MONITOR = "monitor"


# Those of the fixtures that the installer has.
ACCESS_KEYS = {
    Account.SUPERADMIN: "AKIAIOSFODNN7EXAMPLE",
    Account.DOMAIN_ADMIN: "AKIAHUKCHDEZGEXAMPLE",
    Account.USER: "AKIANABBDUSEREXAMPLE",
    Account.MONITOR: "AKIANAMONITOREXAMPLE",
}


class Keys(NamedTuple):
    """How an account reaches a manager."""

    # `http://127.0.0.1:PORT`.
    url: str
    access_key: str
    secret_key: str


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    secrets: dict[Account, str]


def write_keys(folder: Path, url: str) -> None:
    """Give everybody a new secret key. Raises OSError."""
    new = {account: secrets.token_hex(_SECRET_BYTES) for account in Account}
    for account, secret in new.items():
        _write_secret(secret_file(folder, account), secret.encode())
    kept = _Kept(url=url, secrets=new)
    _write_secret(folder / "access.json", msgspec.json.encode(kept))


def secret_file(folder: Path, account: Account) -> Path:
    """The file that has an account's secret key and nothing else."""
    return folder / f"{account}.secret"


def keys_of(folder: Path, account: Account) -> Keys:
    """How an account reaches the manager of a folder. Raises AccelwatchError before it was started."""
    try:
        kept = msgspec.json.decode((folder / "access.json").read_bytes(), type=_Kept)
    except (*DECODE_ERRORS, OSError) as error:
        raise AccelwatchError(f"no manager was started in {folder}") from error
    return Keys(kept.url, ACCESS_KEYS[account], kept.secrets[account])


def _write_secret(file: Path, text: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(text)
