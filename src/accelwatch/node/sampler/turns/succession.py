"""Turns in succession on one thread, without waking the collector's loop in between.

A loop that is woken for each answer, and wakes another thread for the next call, costs as much as
reading a fast device. A slow call keeps this thread to itself: the loop takes the turns behind it back,
and has each device's own worker make them.
"""

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.turns.messages import Answers, CallResult, Inbox, Job
from accelwatch.node.sampler.turns.worker import answer_of
from accelwatch.node.store.reports import Called, Noted, Returned


class Turn(msgspec.Struct, frozen=True):
    """A call to make and how to note it; its thread is notified when it is known."""

    job: Job
    called: Called


class Succession:
    """One daemon thread; `note` is called on it, before and after each call."""

    def __init__(self, note: Callable[[Noted], None], clock: Clock, inbox: Inbox) -> None:
        self._note = note
        self._clock = clock
        self._inbox = inbox
        self._waiting: deque[Turn] = deque()
        self._done: deque[CallResult] = deque()
        # Guards the queue and `_going` together: a turn that is put while the thread finds the
        # queue empty would otherwise not be made.
        self._state = threading.Lock()
        self._going = False
        self._wakeups: SimpleQueue[bool] = SimpleQueue()
        self._thread: threading.Thread | None = None
        # The call that is being made.
        self.present: int | None = None
        # Monotonic time at which it started, or the first turn was queued.
        self.since = 0.0

    @property
    def waiting(self) -> bool:
        """Whether turns wait for the one before them."""
        return bool(self._waiting)

    def add(self, turn: Turn) -> None:
        """Have a turn made after those that were added before."""
        with self._state:
            self._waiting.append(turn)
            if self._going:
                return
            self._going = True
        self.since = self._clock.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="turns", daemon=True)
            self._thread.start()
        self._wakeups.put(True)

    def withdraw(self) -> list[Turn]:
        """The turns that wait; somebody else makes them."""
        with self._state:
            turns = list(self._waiting)
            self._waiting.clear()
        return turns

    def answers(self) -> list[CallResult]:
        """The answers that have come and were not returned yet."""
        collected = []
        while self._done:
            collected.append(self._done.popleft())
        return collected

    def stop(self) -> None:
        """Let the thread end after its present call, should that ever return."""
        self._wakeups.put(False)

    def _serve(self) -> None:
        while self._wakeups.get():
            while (turn := self._next()) is not None:
                self._make(turn)
            self._inbox.put(Answers(of=self))

    def _next(self) -> Turn | None:
        with self._state:
            if self._waiting:
                return self._waiting.popleft()
            self._going = False
            return None

    def _make(self, turn: Turn) -> None:
        number = turn.called.call
        self.since, self.present = self._clock.monotonic(), number
        self._note(msgspec.structs.replace(turn.called, thread=threading.get_ident()))
        answer = answer_of(number, turn.job, self._clock)
        self.present = None
        self._note(Returned(call=number))
        self._done.append(answer)
