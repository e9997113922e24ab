"""What requests to targets share: credentials, the names of hosts, and how connections are made."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.follow.access import Ticket, Tickets
from accelwatch.fleet.follow.failures.failure_log import FailureLog
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.http.connector import Connector
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target

# Targets that had no stream before others get a request for a page first.
_ENOUGH = 10
# And so many times as many as had one.
_SHARE = 9


class FirstRequest:
    """Whether new targets of a client get a request for a stream first, or for a page.

    A target without a stream costs two requests, and often two connections, for an exporter that
    answers every request sends a page that nobody reads.
    """

    def __init__(self) -> None:
        self._streams = self._pages = 0

    @property
    def page(self) -> bool:
        """Whether to request a page first."""
        return self._pages >= max(_ENOUGH, _SHARE * self._streams)

    def record_outcome(self, *, streams: bool) -> None:
        """A new target turned out to have a stream, or none."""
        if streams:
            self._streams += 1
        else:
            self._pages += 1


class Client:
    """Shared by all who read targets, each on a connection of its own."""

    def __init__(
        self, scrape: Scrape, access: Tickets, hello: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`hello` are headers by which a hub introduces itself to the servers of its streams."""
        self.scrape = scrape
        self.hello = hello
        # Of who reads a long page on a thread.
        self.reading = Turn()
        self.connector = Connector()
        self.first_request = FirstRequest()
        self.failures = FailureLog()
        self._access = access

    async def ticket(self, target: Target) -> Ticket:
        """What a request to the target carries now. Raises TargetFault."""
        try:
            return await self._access.ticket(target)
        except ConfigError as error:
            raise TargetFault(Reason.CREDENTIALS, str(error)) from error

    def explained(self, target: Target, fault: TargetFault) -> TargetFault:
        """The fault of a request, with why the target was shown nothing; its files are read again."""
        # A rotated token or certificate shows up as a refusal before its file is checked again.
        if fault.reason in (Reason.CREDENTIALS, Reason.TLS):
            self._access.doubt(target)
        if fault.reason is Reason.CREDENTIALS and (hint := self._access.hint(target)):
            return TargetFault(fault.reason, f"{fault}{hint}", code=fault.code)
        return fault
