"""The target list as it stands: written-out targets and what every discovery finds, put together.

Discoveries run side by side: one that hangs holds up no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.target import Target
from accelwatch.fleet.targets.cache import TargetCache

logger = logging.getLogger(__name__)

# How long the first list waits for discoveries that have not answered.
PATIENCE_S = 5.0
# Changes within this time are applied together: a rollout is hundreds of them.
_SETTLE_S = 0.2
_AGAIN_S = 30.0
_MAX_REPORTED = 8

Publish = Callable[[Sequence[Target]], None]


class Discoverer(Protocol):
    """A way to find targets."""

    # The last results of its locations, and which of them fail.
    kept: TargetCache

    async def run(self, publish: Publish) -> None:
        """Call `publish` with all targets, at once and after changes, until cancelled."""
        ...


class Polled:
    """A discovery that is polled."""

    def __init__(
        self, poll: Callable[[], Awaitable[Sequence[Target]]], every_s: float, kept: TargetCache
    ) -> None:
        self.kept = kept
        self._poll = poll
        self._every_s = every_s

    async def run(self, publish: Publish) -> None:
        """Look until cancelled."""
        while True:
            publish(await self._poll())
            await asyncio.sleep(self._every_s)


class Blocking(Protocol):
    """A way whose look blocks."""

    kept: TargetCache

    def poll(self) -> Sequence[Target]:
        """The targets now."""
        ...


def in_thread(blocking: Blocking, every_s: float) -> Polled:
    """A discovery that is polled on a thread."""
    return Polled(lambda: asyncio.to_thread(blocking.poll), every_s, blocking.kept)


class DiscoveryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind of discovery does."""

    # Whether every location of every one of them answered last.
    works: bool = True
    targets: int = 0


def merged(targets: Iterable[Target]) -> dict[str, Target]:
    """Targets by key; of two that are alike the later, with what only the other knows."""
    by_key: dict[str, Target] = {}
    for target in targets:
        before = by_key.get(target.key)
        by_key[target.key] = target if before is None else _joined(before, target)
    return by_key


def _at(location: str, complaint: str) -> str:
    """A complaint that says where, once."""
    return complaint if complaint.startswith(location) else f"{location}: {complaint}"


def _joined(before: Target, after: Target) -> Target:
    named = before.node if after.node in (after.address, after.host) else after.node
    return msgspec.structs.replace(
        after,
        node=named,
        labels={**before.labels, **after.labels},
        credentials=before.credentials or after.credentials,
    )


def _kind(name: str) -> str:
    """What a way is, without its settings: sites keep secrets in the queries of URLs."""
    return name.partition(" ")[0]


class TargetWatch:
    """Keeps the list and calls `apply` with it whenever it has changed; the loop's thread only."""

    def __init__(
        self, apply: Callable[[dict[str, Target]], None], patience_s: float = PATIENCE_S
    ) -> None:
        self._apply = apply
        self._patience_s = patience_s
        self._static: Sequence[Target] = ()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._by_discovery: dict[str, Sequence[Target]] = {}
        # None for one that could not begin.
        self._discoverers: dict[str, Discoverer | None] = {}
        # Why ways could not begin.
        self._unbegun: dict[str, str] = {}
        # What ended discoveries that ran, until they publish targets again.
        self._broken: dict[str, str] = {}
        self._order: tuple[str, ...] = ()
        self._applied: dict[str, Target] | None = None
        self._patient = True
        self._changed = asyncio.Event()

    def set(
        self, static: Sequence[Target], discoverers: Mapping[str, Callable[[], Discoverer]]
    ) -> None:
        """From now on these; a way that was there under the same name goes on with what it knows."""
        loop = asyncio.get_running_loop()
        self._static, self._order = static, tuple(discoverers)
        for removed in self._tasks.keys() - discoverers.keys():
            self._stop(self._tasks.pop(removed))
            self._by_discovery.pop(removed, None)
            self._discoverers.pop(removed, None)
            self._unbegun.pop(removed, None)
            self._broken.pop(removed, None)
        for name in discoverers.keys() - self._tasks.keys():
            task = loop.create_task(
                self._run_discoverer(name, discoverers[name]), name=f"way {_kind(name)}"
            )
            self._tasks[name] = task
        self._patient = True
        loop.call_later(self._patience_s, self._hurry)
        self._changed.set()

    def status(self) -> dict[str, DiscoveryStatus]:
        """How each kind of discovery does, by the first word of its name."""
        by_kind: dict[str, DiscoveryStatus] = {}
        for name in self._order:
            kind = _kind(name)
            before = by_kind.get(kind, DiscoveryStatus())
            discoverer = self._discoverers.get(name)
            well = (
                discoverer is not None
                and not discoverer.kept.complaints
                and name not in self._broken
            )
            works = well and name in self._by_discovery
            count = len(self._by_discovery.get(name, ()))
            by_kind[kind] = DiscoveryStatus(
                works=before.works and works, targets=before.targets + count
            )
        return by_kind

    def unanswered(self) -> tuple[str, ...]:
        """Discoveries that have neither answered nor failed; or whose answer is not applied yet."""
        waiting = [name for name in self._order if not self._has_answered(name)]
        if not waiting and (self._changed.is_set() or self._applied is None):
            waiting = list(self._order)
        return tuple(dict.fromkeys(map(_kind, waiting)))

    def _has_answered(self, name: str) -> bool:
        if name in self._by_discovery or name in self._unbegun or name in self._broken:
            return True
        discoverer = self._discoverers.get(name)
        return discoverer is not None and bool(discoverer.kept.complaints)

    def problems(self) -> tuple[str, ...]:
        """Why targets may be lacking: discoveries that broke, locations that fail; at most a few."""
        problems = [*self._unbegun.values(), *self._broken.values()]
        for discoverer in self._discoverers.values():
            if discoverer is not None:
                kept = discoverer.kept
                problems += [
                    _at(location, text)
                    for location, text in (*kept.complaints.items(), *kept.notes.items())
                ]
        more = (
            [f"{len(problems) - _MAX_REPORTED} more discoveries fail"]
            if len(problems) > _MAX_REPORTED
            else []
        )
        return (*problems[:_MAX_REPORTED], *more)

    def _hurry(self) -> None:
        self._patient = False
        self._changed.set()

    async def _run_discoverer(self, name: str, make: Callable[[], Discoverer]) -> None:
        def publish(targets: Sequence[Target]) -> None:
            self._broken.pop(name, None)
            if name not in self._by_discovery or self._by_discovery[name] != targets:
                self._by_discovery[name] = targets
                self._changed.set()

        while True:
            self._discoverers[name] = None
            try:
                self._discoverers[name] = discoverer = make()
                self._unbegun.pop(name, None)
                await discoverer.run(publish)
            except AccelwatchError as error:
                if self._unbegun.get(name) != str(error):
                    logger.error("a discovery cannot start, retrying: %s", error)
                self._unbegun[name] = str(error)
            except Exception as error:
                # A discovery must never cost the others: its failure is reported and it is restarted.
                # The error's text is left to the log: it may repeat a URL.
                self._broken[name] = (
                    f"discovery {_kind(name)}: failed by a bug in accelwatch "
                    f"({type(error).__name__}); keeping its previous targets and trying again, "
                    "see the log"
                )
                logger.exception(
                    "target discovery failed; keeping the previous targets way=%s", _kind(name)
                )
            await asyncio.sleep(_AGAIN_S)

    async def run(self) -> None:
        """Apply changes until cancelled; the discoveries end with it."""
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                if self._patient and not self._by_discovery.keys() >= set(self._order):
                    continue
                self._apply_now()
                await asyncio.sleep(_SETTLE_S)
        finally:
            for task in self._tasks.values():
                self._stop(task)
            await asyncio.gather(*self._stopping, return_exceptions=True)

    def _stop(self, task: asyncio.Task[None]) -> None:
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        task.cancel()

    def _apply_now(self) -> None:
        listed = (target for name in self._order for target in self._by_discovery.get(name, ()))
        targets = merged((*self._static, *listed))
        if targets != self._applied:
            logger.info("targets known count=%d", len(targets))
            self._applied = targets
            self._apply(targets)
