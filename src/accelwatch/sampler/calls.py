"""The calls that are out: each is announced before it is made and has one place for its answer."""

import math
from collections.abc import Callable
from itertools import count

import msgspec

from accelwatch.clock import Clock
from accelwatch.sampler.gate import Gate
from accelwatch.sampler.settings import CollectSettings
from accelwatch.sampler.worker import Answer, Inbox, Job, Worker
from accelwatch.store.reports import Called, Part, Returned, Written

Emit = Callable[[Written], None]


class Calls:
    """Used by the collector's loop only."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._ids = count(1)
        self._out: dict[int, Callable[[Answer], None]] = {}

    def announce(self, worker: Worker, backend: str, action: str, slot: str = "") -> int:
        """Tell the owner that a call is about to be made; returns its number."""
        call = next(self._ids)
        self._emit(
            Called(call=call, backend=backend, action=action, slot=slot, thread=worker.ident)
        )
        return call

    def begin(
        self,
        worker: Worker,
        job: Job,
        then: Callable[[Answer], None],
        *,
        backend: str,
        action: str,
        slot: str = "",
    ) -> int:
        """Have `worker` make a call; `then` gets the answer on the loop, however late it is."""
        call = self.announce(worker, backend, action, slot)
        self._out[call] = then
        worker.submit(call, job)
        return call

    def deliver(self, answer: Answer) -> None:
        """Hand an answer from the inbox to whoever began the call."""
        then = self._out.pop(answer.call)
        self._emit(Returned(call=answer.call))
        then(answer)


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
