"""What waits to be decided upon: the newest word on each thing, and each end of an intent."""

import asyncio
import itertools
from collections.abc import Iterable
from typing import NamedTuple

from accelwatch.remediation.policy.state.changes import CaseChanged, Change, Command, Heard
from accelwatch.remediation.policy.state.pursued import Pursued, Surveyed
from accelwatch.remediation.policy.state.world import NodeHeard

MOST_CHANGES = 100
"""Incidents that are decided upon together: a thousand at once hold up nobody else for seconds."""


class Asked(NamedTuple):
    """What a person asked for, and who waits for the answer."""

    command: Command
    address: str
    answer: "asyncio.Future[object]"


class Inbox:
    """For one event loop. It stays small however long nothing can be decided."""

    def __init__(self) -> None:
        self._changes: dict[object, Change] = {}
        self._heard: dict[object, Heard] = {}
        self.asked: list[Asked] = []
        """Oldest first."""
        self._news = asyncio.Event()
        self._number = 0

    def tell(self, changes: Iterable[Change]) -> None:
        """Take up incidents and rules; a later word on the same replaces one that still waits."""
        for one in changes:
            key = (
                (type(one), one.node, one.case.incident)
                if isinstance(one, CaseChanged)
                else type(one)
            )
            self._changes.pop(key, None)
            self._changes[key] = one
        self._news.set()

    def hear(self, observations: Iterable[Heard], *, urgent: bool = False) -> None:
        """Take up what is seen; what every tick brings wakes nobody, unless it is `urgent`."""
        for one in observations:
            key = self._key(one)
            known = self._heard.get(key)
            if isinstance(known, Surveyed) and isinstance(one, Surveyed) and known.time > one.time:
                continue  # another look was asked for later, and ended sooner
            self._heard.pop(key, None)
            self._heard[key] = one
            if urgent or isinstance(one, (Pursued, Surveyed)):
                self._news.set()

    def _key(self, one: Heard) -> object:
        match one:
            case NodeHeard():
                return NodeHeard, one.node
            case Surveyed():
                return Surveyed, one.action
            case Pursued():
                self._number += 1
                return Pursued, self._number
            case _:
                return type(one)

    def ask(self, asked: Asked) -> None:
        """Take up what a person wants."""
        self.asked.append(asked)
        self._news.set()

    async def wait(self, most_s: float) -> None:
        """Until something that is urgent has come, or so many seconds are over."""
        try:
            async with asyncio.timeout(most_s):
                await self._news.wait()
        except TimeoutError:
            return
        finally:
            self._news.clear()

    def waiting(self) -> tuple[dict[object, Change], dict[object, Heard]]:
        """What waits now, the oldest MOST_CHANGES; it goes on waiting until `done`."""
        return dict(itertools.islice(self._changes.items(), MOST_CHANGES)), dict(self._heard)

    def done(self, changes: dict[object, Change], heard: dict[object, Heard]) -> None:
        """Forget what has been decided upon, unless there is a newer word."""
        for key, change in changes.items():
            if self._changes.get(key) is change:
                del self._changes[key]
        for key, one in heard.items():
            if self._heard.get(key) is one:
                del self._heard[key]
        if self._changes:
            self._news.set()
