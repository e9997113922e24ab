"""Whether a request is answered at all, by what stands in its head, and who has proved to send it."""

import pwd
import socket
import struct
from collections.abc import Iterable
from typing import NamedTuple

from accelwatch.web.http.request import Request
from accelwatch.web.pages.bodies import refusal_of_body
from accelwatch.web.pages.page import OPEN_PATHS, Page, plain
from accelwatch.web.protection.authentication import Verdict, authenticate, challenges
from accelwatch.web.protection.passwords import Busy, PasswordChecker
from accelwatch.web.protection.roles import Role
from accelwatch.web.protection.web_config import Protection
from accelwatch.web.sockets.hosts import meant_for, own_names

RETRY = {"Retry-After": "1"}
_NOT_MEANT = (
    "the Host header names another machine; ask by address or by a name of this machine, "
    "or list the name in web.allowed_hosts"
)
# Of a Unix socket's other end: process, user, group (unix(7), SO_PEERCRED).
_CREDENTIALS = struct.Struct("3i")


class Admitted(NamedTuple):
    """Why a request is refused, or who sends it."""

    refusal: Page | None = None
    # Who has proved to be it; empty where nobody has to.
    user: str = ""
    # What he may do.
    role: Role = Role.READ
    # Whether nothing but a link has let him in.
    guest: bool = False


class Admission:
    """Checks the heads of requests; the loop's thread only."""

    def __init__(self) -> None:
        self._own_names = own_names()
        self._checker = PasswordChecker()

    def close(self) -> None:
        """Check no more passwords."""
        self._checker.close()

    async def admit(
        self,
        request: Request,
        protection: Protection,
        hosts: Iterable[str],
        guest: str = "",
    ) -> Admitted:
        """Its body, whom it is meant for, and its credentials; `hosts` are names beyond our own.

        `guest` is the name under which it is let in without credentials, if it is.
        """
        refusal = refusal_of_body(request.headers, request.length)
        if refusal is not None:
            return Admitted(refusal)
        if request.path in OPEN_PATHS:
            return Admitted()
        sock = request.transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            # The mode of the socket says who may connect.
            return Admitted(user=_user_behind(sock), role=Role.ADMIN)
        local = request.transport.get_extra_info("sockname") or ("",)
        named = request.headers.getall("Host", ())
        if not (
            protection.authenticates or meant_for(local[0], named, self._own_names | set(hosts))
        ):
            return Admitted(plain(403, _NOT_MEANT))
        return await self._identified(request, protection, guest)

    async def _identified(self, request: Request, protection: Protection, guest: str) -> Admitted:
        authorization = request.headers.get("Authorization", "")
        certificate = request.transport.get_extra_info("peercert")
        try:
            verdict, user, role = await authenticate(
                protection, self._checker, authorization, certificate
            )
        except Busy:
            return Admitted(plain(503, "too many passwords to check", RETRY))
        if verdict is Verdict.FORBID:
            return Admitted(plain(403, "this certificate is not among those admitted"))
        if verdict is Verdict.CHALLENGE:
            if guest:
                return Admitted(user=guest, guest=True)
            challenge = {"WWW-Authenticate": ", ".join(challenges(protection))}
            return Admitted(plain(401, "credentials are needed", challenge))
        return Admitted(user=user, role=role)


def _user_behind(sock: socket.socket) -> str:
    """The user of a Unix socket's other end, as the kernel knows him; empty if it does not."""
    try:
        packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, user, _ = _CREDENTIALS.unpack(packed)
        return pwd.getpwuid(user).pw_name
    except (OSError, KeyError, struct.error, AttributeError):  # Only Linux has SO_PEERCRED.
        return ""
