"""The used links: journalled before their command is carried out, so no restart revives one."""

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from accelwatch.alerting.incidents.journal.errors import JournalError
from accelwatch.alerting.incidents.journal.records import Batch, StateRecord
from accelwatch.base.clock import Clock
from accelwatch.fleet.approval.links import Link

# Of the journal's states.
KIND = "link"
# After it has expired: a page can say for so long that it was used, and not only that it is old.
_KEPT_S = 86_400.0


class UsedError(Exception):
    """The link was used before."""


class _Use(msgspec.Struct, frozen=True):
    """The body of a state."""

    at: float
    by: str


class UsedLinks:
    """For the hub's event loop."""

    def __init__(
        self,
        commit: Callable[[Batch], Awaitable[None]] | None,
        clock: Clock,
        states: Iterable[StateRecord] = (),
    ) -> None:
        """`commit` writes the journal; without one no link can be used."""
        self._commit = commit
        self._clock = clock
        self._used = {state.key: state.until or 0.0 for state in states if state.kind == KIND}

    def __contains__(self, key: str) -> bool:
        return key in self._used

    async def spend(self, key: str, link: Link, address: str) -> None:
        """Use a link, by its fingerprint. Raises UsedError, JournalError when it is not written down."""
        if self._commit is None:
            raise UsedError
        now = self._clock.wall()
        self._used = {entry: until for entry, until in self._used.items() if until > now}
        if key in self._used:
            raise UsedError
        until = max(link.until, now) + _KEPT_S
        # Kept from the first moment on: of two that come at once one is late.
        self._used[key] = until
        use = StateRecord(
            kind=KIND,
            key=key,
            body=msgspec.Raw(msgspec.json.encode(_Use(now, link.actor))),
            until=until,
            incident=link.incident,
            node=link.node,
        )
        try:
            await self._commit(Batch(time=now, records=[use], actor=link.actor, address=address))
        except JournalError:
            # Nothing was written, and nothing will be done: it may be tried again.
            del self._used[key]
            raise
