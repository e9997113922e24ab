"""The calls that are out: each is noted before it is made and has one slot for its answer."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import get_ident

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.sampler.turns.gate import PATIENCE_S, Gate
from accelwatch.node.sampler.turns.messages import AnswerSource, CallResult, Inbox, Job
from accelwatch.node.sampler.turns.succession import Succession, Turn
from accelwatch.node.sampler.turns.worker import Worker
from accelwatch.node.store.reports import Called, Component, Noted, Returned, Written

Emit = Callable[[Written], None]
Note = Callable[[Noted], None]


class Calls:
    """Used by the collector's loop only, but for `listening`.

    Turns are made one after another for as long as they get on: workers that are woken all at once
    fight for the interpreter.
    """

    def __init__(
        self, note: Note, clock: Clock, inbox: Inbox, flush: Callable[[], None] = lambda: None
    ) -> None:
        """`note` is called by any thread that makes a call, `flush` by the loop before each of them."""
        self._note = note
        self._flush = flush
        self._clock = clock
        self._inbox = inbox
        self._ids = count(1)
        self._out: dict[int, Callable[[CallResult], None]] = {}
        # Who makes a turn that must not wait any longer.
        self._own: dict[int, Worker] = {}
        self._turns = Succession(note, clock, inbox)
        # Sources whose present call is slow: others do not wait for it.
        self._slow: set[AnswerSource] = set()
        # The turn that was being made when the loop looked last.
        self._observed_turn: int | None = None

    @property
    def waiting(self) -> bool:
        """Whether turns wait for the one before them."""
        return self._turns.waiting

    @property
    def is_stalled(self) -> bool:
        """Whether they have waited for as long as workers wait for each other."""
        return self.waiting and self._clock.monotonic() - self._turns.since >= PATIENCE_S

    def start(
        self,
        worker: Worker,
        job: Job,
        then: Callable[[CallResult], None],
        *,
        backend: str,
        action: str,
        slot: str = "",
        in_turn: bool = False,
    ) -> int:
        """Have `worker` make a call, or `in_turn` whoever makes those before it; its number.

        `then` gets the answer on the loop, however late it is.
        """
        self._flush()  # a driver that held the interpreter for ever would leave no time for it
        call = next(self._ids)
        self._out[call] = then
        turn = Turn(job, Called(call=call, backend=backend, action=action, slot=slot))
        if in_turn:
            self._own[call] = worker
            self._turns.add(turn)
        else:
            self._make(worker, turn)
        return call

    @contextmanager
    def listening(self, backend: str) -> Iterator[None]:
        """While this lasts, the present thread waits for the backend's events."""
        call = next(self._ids)
        self._note(Called(call=call, backend=backend, action="events", thread=get_ident()))
        try:
            yield
        finally:
            self._note(Returned(call=call))

    def deliver(self, answer: CallResult) -> None:
        """Hand an answer from the inbox to whoever began the call."""
        self._note(Returned(call=answer.call))
        self._hand_over(answer)

    def collect_answers(self) -> None:
        """Hand over what turns have brought so far, and noted themselves."""
        for turns in (self._turns, *self._slow):
            self._collect_answers_of(turns)

    def finish_turns(self, turns: AnswerSource) -> None:
        """All turns of one have been made: it may have others."""
        self._collect_answers_of(turns)
        if turns in self._slow:
            self._slow.discard(turns)
            turns.stop()

    def poll(self) -> None:
        """Read the answers that have come; start the waiting turns when the one before them is slow."""
        self.collect_answers()
        observed, self._observed_turn = self._observed_turn, self._turns.present
        if self.is_stalled or (observed is not None and observed == self._observed_turn):
            self.hurry()

    def hurry(self) -> None:
        """Start every turn that waits: the one before them is slow, or they will be ended."""
        waiting = self._turns.withdraw()
        if not waiting:
            return
        if self._turns.present is not None:
            self._slow.add(self._turns)
            self._turns = Succession(self._note, self._clock, self._inbox)
        self._flush()
        for turn in waiting:
            self._make(self._own.pop(turn.called.call), turn)

    def close(self) -> None:
        """Let the threads of turns end when they are free."""
        for turns in (self._turns, *self._slow):
            turns.stop()

    def _collect_answers_of(self, turns: AnswerSource) -> None:
        for answer in turns.answers():
            del self._own[answer.call]
            self._hand_over(answer)

    def _hand_over(self, answer: CallResult) -> None:
        self._out.pop(answer.call)(answer)

    def _make(self, worker: Worker, turn: Turn) -> None:
        """Note that the call is about to be made, and have it made."""
        self._note(msgspec.structs.replace(turn.called, thread=worker.ident))
        worker.submit(turn.called.call, turn.job)


class CollectorContext(msgspec.Struct, frozen=True):
    """What everything in one collector shares."""

    settings: CollectSettings
    clock: Clock
    calls: Calls
    emit: Emit
    inbox: Inbox
    # What workers pass before they bring a backend up, or identify or read a device.
    gate: Gate = msgspec.field(default_factory=Gate)
    # Components that are not called for now, and why; a component let in again is removed.
    quarantined: dict[Component, str] = {}
    # Why a backend need not be loaded now; empty when it may be of use.
    absent: Callable[[str], str] = lambda _: ""
    # Moment from which the ticks of all backends are counted.
    started_at: float = 0.0
    # Time by which a single reading must have reported everything.
    end: float = math.inf

    def worker(self, name: str) -> Worker:
        """A new worker whose answers come to the collector's loop."""
        return Worker(name, self.clock, self.inbox)
