"""The calls that are out: each is announced before it is made and has one place for its answer."""

import math
from collections import deque
from collections.abc import Callable
from itertools import count

import msgspec

from accelwatch.clock import Clock
from accelwatch.sampler.gate import PATIENCE_S, Gate
from accelwatch.sampler.settings import CollectSettings
from accelwatch.sampler.worker import Answer, Inbox, Job, Worker
from accelwatch.store.reports import Called, Part, Returned, Written

Emit = Callable[[Written], None]


class _Made(msgspec.Struct, frozen=True):
    """A call as it will be made, and how it is announced."""

    worker: Worker
    job: Job
    called: Called


class Calls:
    """Used by the collector's loop only.

    Turns are begun one after another for as long as they get on: workers that are woken all at once
    fight for the interpreter.
    """

    def __init__(self, emit: Emit, clock: Clock) -> None:
        self._emit = emit
        self._clock = clock
        self._ids = count(1)
        self._out: dict[int, Callable[[Answer], None]] = {}
        self._ahead: int | None = None
        """The turn that the others wait for."""
        self._since = 0.0
        """Moment at which it was begun."""
        self._behind: deque[_Made] = deque()

    @property
    def waiting(self) -> bool:
        """Whether turns wait for the one before them."""
        return bool(self._behind)

    @property
    def held_up(self) -> bool:
        """Whether they have waited for as long as workers wait for each other."""
        return self.waiting and self._clock.monotonic() - self._since >= PATIENCE_S

    def begin(
        self,
        worker: Worker,
        job: Job,
        then: Callable[[Answer], None],
        *,
        backend: str,
        action: str,
        slot: str = "",
        in_turn: bool = False,
    ) -> int:
        """Have `worker` make a call, or `in_turn` once those before it have been made; its number.

        `then` gets the answer on the loop, however late it is.
        """
        call = next(self._ids)
        self._out[call] = then
        thread = worker.ident
        called = Called(call=call, backend=backend, action=action, slot=slot, thread=thread)
        made = _Made(worker, job, called)
        if in_turn and self._ahead is not None:
            self._behind.append(made)
        elif in_turn:
            self._go_ahead(made)
        else:
            self._make(made)
        return call

    def deliver(self, answer: Answer) -> None:
        """Hand an answer from the inbox to whoever began the call, and begin the next turn."""
        then = self._out.pop(answer.call)
        if answer.call == self._ahead:
            self._ahead = None
        self._emit(Returned(call=answer.call))
        then(answer)
        if self._ahead is None and self._behind:
            self._go_ahead(self._behind.popleft())

    def hurry(self) -> None:
        """Begin every turn that waits: the one before them takes long, or they will be ended."""
        while self._behind:
            self._make(self._behind.popleft())

    def _go_ahead(self, made: _Made) -> None:
        self._ahead, self._since = made.called.call, self._clock.monotonic()
        self._make(made)

    def _make(self, made: _Made) -> None:
        """Tell the owner that the call is about to be made, and have it made."""
        self._emit(made.called)
        made.worker.submit(made.called.call, made.job)


class CollectorContext(msgspec.Struct, frozen=True):
    """What everything in one collector shares."""

    settings: CollectSettings
    clock: Clock
    calls: Calls
    emit: Emit
    inbox: Inbox
    gate: Gate = msgspec.field(default_factory=Gate)
    """What workers pass before they bring a backend up, or identify or read a device."""
    held_out: dict[Part, str] = {}
    """What is not called for now, and why; what is let in is taken out."""
    absent: Callable[[str], str] = lambda _: ""
    """Why a backend need not be loaded now; empty when it may be of use."""
    began: float = 0.0
    """Moment from which the ticks of all backends are counted."""
    end: float = math.inf
    """Moment by which a single reading must have told everything."""

    def worker(self, name: str) -> Worker:
        """A new worker whose answers come to the collector's loop."""
        return Worker(name, self.clock, self.inbox)
