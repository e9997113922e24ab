"""Connections of one client: names are resolved on threads of our own, and all read into one buffer."""

import asyncio
import socket
import ssl

import aiohappyeyeballs

from accelwatch.fleet.follow.access import Ticket
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.failures.texts import os_text, tls_text
from accelwatch.fleet.follow.http.kept import KeptConnection
from accelwatch.fleet.follow.http.resolver import Resolver, name_of
from accelwatch.fleet.follow.http.server import Server

_READ_BUFFER = 64 << 10
_NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
# RFC 8305, 5: the next address is tried beside the one before.
_OTHER_FAMILY_AFTER_S = 0.25


class Connector:
    """Connects to any server; made and used on one loop."""

    def __init__(self) -> None:
        self._resolver = Resolver()
        # Its content is read before the next connection writes to it.
        self._buffer = memoryview(bytearray(_READ_BUFFER))
        # By name of which family the address was that answered last, to try those first the next time
        # (RFC 6555, 4.2): behind a name such as `localhost` are hundreds of targets.
        self._families: dict[str, int] = {}

    async def connect(self, server: Server, ticket: Ticket) -> KeptConnection:
        """A connection. Raises TargetFault; the caller's own deadline applies."""
        loop = asyncio.get_running_loop()

        def protocol() -> KeptConnection:
            return KeptConnection(self._buffer)

        try:
            if server.unix_socket is not None:
                return (await loop.create_unix_connection(protocol, server.unix_socket))[1]
            sock = await self._connected(server)
            if not server.secure:
                return (await loop.create_connection(protocol, sock=sock))[1]
            name = ticket.server_name or server.host.partition("%")[0].rstrip(".")
            try:
                return (
                    await loop.create_connection(
                        protocol, sock=sock, ssl=ticket.tls, server_hostname=name
                    )
                )[1]
            except ssl.SSLError:
                raise  # that of a certificate is a ValueError as well
            except ValueError as error:
                sock.close()  # no connection owns it yet
                text = f"TLS failed: {name[:64]!r} is not a valid name of a server"
                raise TargetFault(Reason.TLS, text) from error
        except ssl.SSLError as error:
            raise TargetFault(Reason.TLS, tls_text(error)) from error
        except OSError as error:
            raise TargetFault(Reason.CONNECT, f"cannot connect: {os_text(error)}") from error

    async def _connected(self, server: Server) -> socket.socket:
        addresses = await self._addresses(server.host, server.port)
        if len(addresses) > 1:
            preferred = self._families.get(server.host)
            addresses.sort(key=lambda address: address[0] != preferred)
        sock = await aiohappyeyeballs.start_connection(
            addresses, happy_eyeballs_delay=_OTHER_FAMILY_AFTER_S, interleave=1
        )
        if len(addresses) > 1:
            self._families[server.host] = sock.family
        return sock

    async def _addresses(self, host: str, port: int) -> "list[aiohappyeyeballs.AddrInfoType]":
        try:
            return _numeric(host, port)
        except (OSError, UnicodeError):
            pass  # a name
        try:
            resolved = await self._resolver.resolve(host, port, socket.AF_UNSPEC)
            return [address for entry in resolved for address in _numeric(entry["host"], port)]
        except (OSError, UnicodeError) as error:
            raise TargetFault(Reason.DNS, f"the name does not resolve: {error}") from error


def _numeric(host: str, port: int) -> "list[aiohappyeyeballs.AddrInfoType]":
    return [*socket.getaddrinfo(name_of(host), port, type=socket.SOCK_STREAM, flags=_NUMERIC)]
