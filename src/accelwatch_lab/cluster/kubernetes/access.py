"""Who is known to a lab's API server, and what each needs to reach it.

Creating a pod there runs programs as the user of the lab. So tokens are random, in files that
only this user reads.
"""

import json
import secrets
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import AccelwatchError

_TOKEN_BYTES = 16


class Account(StrEnum):
    """Who is known."""

    ADMIN = "admin"
    CONTROLLERS = "controllers"
    # Has the roles that are bound to it, and none at first.
    HUB = "hub"


# Name and groups of each, as roles are bound to them.
_SUBJECTS = {
    Account.ADMIN: ("lab-admin", "system:masters"),
    Account.CONTROLLERS: ("system:kube-controller-manager", "system:masters"),
    Account.HUB: (
        "system:serviceaccount:accelwatch:accelwatch-hub",
        "system:serviceaccounts,system:serviceaccounts:accelwatch",
    ),
}


class Access(NamedTuple):
    """How an account reaches an API server."""

    # `https://127.0.0.1:PORT`.
    url: str
    ca_file: Path
    token: str


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    ca_file: str
    tokens: dict[Account, str]


def write_access(folder: Path, url: str, ca_file: Path) -> None:
    """Give everybody a new token; `tokens.csv` is what the API server reads."""
    tokens = {account: secrets.token_hex(_TOKEN_BYTES) for account in Account}
    rows = (
        f'{tokens[account]},{name},{number},"{groups}"\n'
        for number, (account, (name, groups)) in enumerate(_SUBJECTS.items())
    )
    _write_secret(folder / "tokens.csv", "".join(rows).encode())
    for account, token in tokens.items():
        _write_secret(token_file(folder, account), token.encode())
    kept = _Kept(url=url, ca_file=str(ca_file), tokens=tokens)
    _write_secret(folder / "access.json", msgspec.json.encode(kept))
    for account in Account:
        write_kubeconfig(folder / f"{account}.kubeconfig", access_of(folder, account))


def token_file(folder: Path, account: Account) -> Path:
    """The file that has an account's token and nothing else."""
    return folder / f"{account}.token"


def access_of(folder: Path, account: Account) -> Access:
    """How an account reaches a folder's API server. Raises AccelwatchError before it was started."""
    try:
        kept = msgspec.json.decode((folder / "access.json").read_bytes(), type=_Kept)
    except (*DECODE_ERRORS, OSError) as error:
        raise AccelwatchError(f"no API server was started in {folder}") from error
    return Access(kept.url, Path(kept.ca_file), kept.tokens[account])


def write_kubeconfig(file: Path, access: Access) -> None:
    """What kubectl and the controllers read to reach an API server; JSON, which is YAML as well."""
    cluster = {"server": access.url, "certificate-authority": str(access.ca_file)}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": "lab", "user": {"token": access.token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
        "current-context": "lab",
    }
    _write_secret(file, json.dumps(document).encode())


def _write_secret(file: Path, text: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(text)
