"""What waits to be decided upon: the newest word on each thing, and each end of an intent."""

import asyncio
import itertools
from collections.abc import Iterable
from typing import NamedTuple

from accelwatch.remediation.policy.context.outcome import Note
from accelwatch.remediation.policy.state.changes import (
    CaseChanged,
    Change,
    Command,
    WorldObservation,
)
from accelwatch.remediation.policy.state.pursued import Poll, Pursued
from accelwatch.remediation.policy.state.world import NodeStatus

# Incidents that are decided upon together: a thousand at once hold up nobody else for seconds.
MOST_CHANGES = 100
# The answer to whoever still waits when the engine ends.
ENDS = "the engine ends; ask again"


class Reply(NamedTuple):
    """What a person's word has come to."""

    notes: tuple[Note, ...] = ()
    # Why it counts for nothing; empty when it was written and counts.
    problem: str = ""


class CommandRequest(NamedTuple):
    """A person's command, and the future that waits for the reply."""

    command: Command
    address: str
    answer: "asyncio.Future[Reply]"


class Inbox:
    """For one event loop. It stays small however long nothing can be decided."""

    def __init__(self) -> None:
        self._changes: dict[object, Change] = {}
        self._observations: dict[object, WorldObservation] = {}
        # Oldest first.
        self.requests: list[CommandRequest] = []
        self._wake = asyncio.Event()
        self._number = 0

    def add_changes(self, changes: Iterable[Change]) -> None:
        """Add incidents and rules; a later change of the same replaces one that still waits."""
        for change in changes:
            key = (
                (type(change), change.node, change.case.incident)
                if isinstance(change, CaseChanged)
                else type(change)
            )
            self._changes.pop(key, None)
            self._changes[key] = change
        self._wake.set()

    def add_observations(
        self, observations: Iterable[WorldObservation], *, urgent: bool = False
    ) -> None:
        """Add observations; those of every tick wake nobody, unless they are `urgent`."""
        for observation in observations:
            key = self._key(observation)
            pending = self._observations.get(key)
            if (
                isinstance(pending, Poll)
                and isinstance(observation, Poll)
                and pending.time > observation.time
            ):
                continue  # a later poll has ended sooner
            self._observations.pop(key, None)
            self._observations[key] = observation
            if urgent or isinstance(observation, (Pursued, Poll)):
                self._wake.set()

    def _key(self, observation: WorldObservation) -> object:
        match observation:
            case NodeStatus():
                return NodeStatus, observation.node
            case Poll():
                return Poll, observation.action
            case Pursued():
                self._number += 1
                return Pursued, self._number
            case _:
                return type(observation)

    def add_request(self, request: CommandRequest) -> None:
        """Add a person's request."""
        self.requests.append(request)
        self._wake.set()

    async def wait(self, most_s: float) -> None:
        """Until something that is urgent has come, or so many seconds are over."""
        try:
            async with asyncio.timeout(most_s):
                await self._wake.wait()
        except TimeoutError:
            return
        finally:
            self._wake.clear()

    def waiting(self) -> tuple[dict[object, Change], dict[object, WorldObservation]]:
        """What waits now, the oldest MOST_CHANGES; it goes on waiting until `done`."""
        return dict(itertools.islice(self._changes.items(), MOST_CHANGES)), dict(self._observations)

    def done(
        self, changes: dict[object, Change], observations: dict[object, WorldObservation]
    ) -> None:
        """Forget what has been decided upon, unless there is a newer word."""
        for key, change in changes.items():
            if self._changes.get(key) is change:
                del self._changes[key]
        for key, observation in observations.items():
            if self._observations.get(key) is observation:
                del self._observations[key]
        if self._changes:
            self._wake.set()
