"""Following a fleet: one task a target, started a few at a time; targets come and go."""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterable

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.follow import (
    Follower,
    Following,
    MakeFollowing,
    MakeReader,
    Rounds,
    Sink,
)
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.scrape_settings import Credentials
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)

STARTED_TOGETHER = 20
# Between so many targets that are started: a loop that is behind with them pauses longer, so
# that a large fleet is read as soon as it can be, and does not shake hands all at once.
_BREATH_S = 0.005


def _by_http(_: Target) -> None:
    """All are."""


async def _breathe() -> None:
    """Let the started ones get on."""
    await asyncio.sleep(_BREATH_S)


class Followers:
    """One task a target; targets come and go."""

    def __init__(
        self,
        client: Client,
        sink: Sink,
        make_reader: MakeReader | None,
        otherwise: MakeFollowing = _by_http,
        *,
        breathe: Callable[[], Awaitable[None]] = _breathe,
    ) -> None:
        """`breathe` is waited for between some that are started and the next."""
        self._breathe = breathe
        self._otherwise = otherwise
        self._client = client
        self._sink = sink
        self._make_reader = make_reader
        self._rounds = Rounds()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        # The credentials that each target is shown; a target with new ones is restarted.
        self._shown: dict[str, Credentials] = {}
        # Targets that are still to be started.
        self._waiting: dict[str, Target] = {}
        self._starting: asyncio.Task[None] | None = None

    def set_targets(self, targets: dict[str, Target]) -> None:
        """Follow these and no others."""
        self._rounds.targets = len(targets)
        shown = {key: target.credentials for key, target in targets.items()}
        for key in tuple(self._tasks):
            if shown.get(key) != self._shown.get(key):
                self._tasks.pop(key).cancel()
        self._shown = shown
        self._waiting = {key: target for key, target in targets.items() if key not in self._tasks}
        if self._waiting and (self._starting is None or self._starting.done()):
            self._starting = asyncio.get_running_loop().create_task(self._start_waiting())

    async def _start_waiting(self) -> None:
        """Begin those that wait, in their order."""
        while self._waiting:
            await self._start_some(self._waiting)

    async def _start_some(self, keys: Iterable[str]) -> None:
        if self._has_room:
            for key in tuple(itertools.islice(keys, STARTED_TOGETHER)):
                self._start_target(key)
        await self._breathe()

    @property
    def _has_room(self) -> bool:
        """Pages that wait to be read for the first time are all in memory."""
        return self._client.reading.pending < STARTED_TOGETHER

    def _start_target(self, key: str) -> None:
        following = self._follow(self._waiting.pop(key))
        self._tasks[key] = asyncio.get_running_loop().create_task(following)

    async def _follow(self, target: Target) -> None:
        while True:
            try:
                await self._following(target).run()
            except Exception:
                # One target must never cost the others: its failure is reported, and it is restarted.
                logger.exception("following a target failed node=%s", target.node)
                fault = TargetFault(Reason.GARBAGE, "an internal error; see the log")
                self._sink.failed(target, fault)
                await asyncio.sleep(self._client.scrape.max_backoff_s)

    def _following(self, target: Target) -> Following:
        return self._otherwise(target) or Follower(
            self._client,
            target,
            self._sink,
            self._make_reader,
            self._rounds,
        )

    async def close(self) -> None:
        """Follow nothing any more."""
        tasks = list(self._tasks.values())
        if self._starting is not None:
            tasks.append(self._starting)
        self._tasks.clear()
        self._waiting = {}
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
