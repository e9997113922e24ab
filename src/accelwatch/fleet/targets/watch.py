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

PATIENCE_S = 5.0
"""How long the first list waits for discoveries that have not answered."""
_SETTLE_S = 0.2
"""Changes within this time are applied together: a rollout is hundreds of them."""
_AGAIN_S = 30.0
_MOST_TOLD = 8

Publish = Callable[[Sequence[Target]], None]


class Way(Protocol):
    """A way to find targets."""

    kept: TargetCache
    """What its places gave last, and which of them fail."""

    async def run(self, publish: Publish) -> None:
        """Call `publish` with all targets, at once and after changes, until cancelled."""
        ...


class Polled:
    """A way that is looked at again and again."""

    def __init__(
        self, look: Callable[[], Awaitable[Sequence[Target]]], every_s: float, kept: TargetCache
    ) -> None:
        self.kept = kept
        self._look = look
        self._every_s = every_s

    async def run(self, publish: Publish) -> None:
        """Look until cancelled."""
        while True:
            publish(await self._look())
            await asyncio.sleep(self._every_s)


class Blocking(Protocol):
    """A way whose look blocks."""

    kept: TargetCache

    def look(self) -> Sequence[Target]:
        """The targets now."""
        ...


def in_thread(blocking: Blocking, every_s: float) -> Polled:
    """A way that is looked at on a thread again and again."""
    return Polled(lambda: asyncio.to_thread(blocking.look), every_s, blocking.kept)


class DiscoveryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a kind of discovery does."""

    works: bool = True
    """Whether every place of every one of them answered last."""
    targets: int = 0


def merged(targets: Iterable[Target]) -> dict[str, Target]:
    """Targets by key; of two that are alike the later, with what only the other knows."""
    by_key: dict[str, Target] = {}
    for target in targets:
        before = by_key.get(target.key)
        by_key[target.key] = target if before is None else _joined(before, target)
    return by_key


def _at(place: str, complaint: str) -> str:
    """A complaint that says where, once."""
    return complaint if complaint.startswith(place) else f"{place}: {complaint}"


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
        self._standing: Sequence[Target] = ()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._by_discovery: dict[str, Sequence[Target]] = {}
        self._ways: dict[str, Way | None] = {}
        """None for one that could not begin."""
        self._unbegun: dict[str, str] = {}
        """Why ways could not begin."""
        self._broken: dict[str, str] = {}
        """What ended ways that ran, until they tell of targets again."""
        self._order: tuple[str, ...] = ()
        self._applied: dict[str, Target] | None = None
        self._patient = True
        self._changed = asyncio.Event()

    def set(self, standing: Sequence[Target], ways: Mapping[str, Callable[[], Way]]) -> None:
        """From now on these; a way that was there under the same name goes on with what it knows."""
        loop = asyncio.get_running_loop()
        self._standing, self._order = standing, tuple(ways)
        for gone in self._tasks.keys() - ways.keys():
            self._end(self._tasks.pop(gone))
            self._by_discovery.pop(gone, None)
            self._ways.pop(gone, None)
            self._unbegun.pop(gone, None)
            self._broken.pop(gone, None)
        for name in ways.keys() - self._tasks.keys():
            task = loop.create_task(self._go(name, ways[name]), name=f"way {_kind(name)}")
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
            way = self._ways.get(name)
            well = way is not None and not way.kept.complaints and name not in self._broken
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
        way = self._ways.get(name)
        return way is not None and bool(way.kept.complaints)

    def problems(self) -> tuple[str, ...]:
        """Why targets may be lacking: what did not begin or broke, which places fail; at most a few."""
        problems = [*self._unbegun.values(), *self._broken.values()]
        for way in self._ways.values():
            if way is not None:
                problems += [_at(place, text) for place, text in way.kept.complaints.items()]
        more = (
            [f"{len(problems) - _MOST_TOLD} more discoveries fail"]
            if len(problems) > _MOST_TOLD
            else []
        )
        return (*problems[:_MOST_TOLD], *more)

    def _hurry(self) -> None:
        self._patient = False
        self._changed.set()

    async def _go(self, name: str, make: Callable[[], Way]) -> None:
        def publish(targets: Sequence[Target]) -> None:
            self._broken.pop(name, None)
            if name not in self._by_discovery or self._by_discovery[name] != targets:
                self._by_discovery[name] = targets
                self._changed.set()

        while True:
            self._ways[name] = None
            try:
                self._ways[name] = way = make()
                self._unbegun.pop(name, None)
                await way.run(publish)
            except AccelwatchError as error:
                if self._unbegun.get(name) != str(error):
                    logger.error("a discovery cannot begin, it is tried again: %s", error)
                self._unbegun[name] = str(error)
            except Exception as error:
                # A discovery must never cost the others: it is told and begun anew. What the error
                # says is left to the log: it may repeat a URL.
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
                self._end(task)
            await asyncio.gather(*self._ending, return_exceptions=True)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        task.cancel()

    def _apply_now(self) -> None:
        listed = (target for name in self._order for target in self._by_discovery.get(name, ()))
        targets = merged((*self._standing, *listed))
        if targets != self._applied:
            logger.info("targets known count=%d", len(targets))
            self._applied = targets
            self._apply(targets)
