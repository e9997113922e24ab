"""Whether a request may be answered: bearer token, user and password, client certificate's names."""

import base64
import binascii
import hmac
from enum import Enum
from typing import NamedTuple

from accelwatch.web.protection.passwords import PasswordChecker
from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.tls import names_in
from accelwatch.web.protection.web_config import Protection

_MAX_HEADER = 4096


class AuthResult(NamedTuple):
    """What to do with a request, and whose it is."""

    verdict: "Verdict"
    # Who has proved to be it: a user, or a name in a certificate. A token has no name.
    user: str = ""
    # What he may do.
    role: Role = Role.READ


class Verdict(Enum):
    """What to do with a request."""

    ADMIT = "admit"
    CHALLENGE = "challenge"
    FORBID = "forbid"


async def authenticate(
    protection: Protection, checker: PasswordChecker, authorization: str, certificate: object
) -> AuthResult:
    """Judge the Authorization header and the verified peer certificate. Raises passwords.Busy.

    Where several ways are configured, a client certificate is needed besides a password or token.
    """
    allowed, names = protection.allowed_sans, names_in(certificate)
    if allowed and certificate and not names & allowed:
        return AuthResult(Verdict.FORBID)
    if not protection.users and not protection.tokens:
        # Of several names that of the greatest role counts.
        own = sorted(names & allowed or names)
        user = max(own, key=lambda name: protection.role_of(name).weight, default="")
        return AuthResult(Verdict.ADMIT, user, protection.role_of(user))
    scheme, _, credentials = authorization[:_MAX_HEADER].strip().partition(" ")
    admitted, user, name = False, "", ""
    if scheme.lower() == "bearer" and protection.tokens:
        admitted, name = _matching(protection, credentials.strip())
    elif scheme.lower() == "basic" and protection.users:
        user, password = _credentials(credentials.strip())
        admitted, name = await checker.check(protection.users, user, password), user
    if not admitted:
        return AuthResult(Verdict.CHALLENGE)
    return AuthResult(Verdict.ADMIT, user, protection.role_of(name))


def _matching(protection: Protection, presented: str) -> tuple[bool, str]:
    """Whether a token is one of ours, and the file that it stands in."""
    offered = presented.encode("utf-8", "surrogateescape")
    # All are compared, so that the time does not reveal which it is.
    matches = [hmac.compare_digest(token.encode(), offered) for token in protection.tokens]
    files = zip(protection.token_files, matches, strict=False)
    return any(matches), next((file for file, same in files if same), "")


def _credentials(encoded: str) -> tuple[str, str]:
    """User and password; empty ones when the header is damaged, which no user has."""
    try:
        decoded = base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return "", ""
    user, _, password = decoded.partition(":")
    return user, password


def challenges(protection: Protection) -> list[str]:
    """Values for WWW-Authenticate."""
    basic = ['Basic realm="accelwatch", charset="UTF-8"'] if protection.users else []
    return [*basic, 'Bearer realm="accelwatch"'] if protection.tokens else basic
