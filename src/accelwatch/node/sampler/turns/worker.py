"""A daemon thread that makes one call at a time into a driver that may never answer.

Nobody waits for the thread: its answers arrive in an inbox, late ones too, and a thread that hangs in
a driver does not keep the process from ending.
"""

import threading
from queue import SimpleQueue

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.turns.messages import CallResult, Inbox, Job

Jobs = SimpleQueue[tuple[int, Job] | None]


class Worker:
    """One thread, one call at a time; the caller keeps that discipline and holds the deadlines."""

    def __init__(self, name: str, clock: Clock, inbox: Inbox) -> None:
        self._name = name
        self._clock = clock
        self._inbox = inbox
        self._jobs: Jobs = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def ident(self) -> int:
        """The thread's identifier; it begins, where there is none."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve, args=(self._jobs,), name=self._name, daemon=True
            )
            self._thread.start()
        return self._thread.ident or 0

    def submit(self, call: int, job: Job) -> None:
        """Make the call on the thread; its Answer goes to the inbox."""
        assert self.ident
        self._jobs.put((call, job))

    def release_thread(self) -> None:
        """No call will come for long: the thread ends, and the next call begins another."""
        self.stop()
        # A new queue: the old thread may still wait at the old one, and must not get the next call.
        self._thread, self._jobs = None, SimpleQueue()

    def stop(self) -> None:
        """Let the thread end after its present call, should that ever return."""
        # Behind the present call in the queue. A thread in a driver cannot be ended from outside.
        self._jobs.put(None)

    def _serve(self, jobs: Jobs) -> None:
        while (task := jobs.get()) is not None:
            self._inbox.put(answer_of(*task, self._clock))


def answer_of(call: int, job: Job, clock: Clock) -> CallResult:
    """Make a call on the present thread."""
    started = clock.monotonic()
    result: object = None
    failure: Exception | None = None
    try:
        result = job()
    except Exception as error:  # noqa: BLE001 - one backend call; recorded, and all goes on
        failure = error
    except SystemExit as error:
        failure = RuntimeError(f"the backend tried to end the process: {error!r}")
    except BaseException as error:  # noqa: BLE001 - a thread that ended would leave the call out
        failure = RuntimeError(f"the backend raised {error!r}")
    finished = clock.monotonic()
    return CallResult(
        call=call,
        result=result,
        error=failure,
        timestamp=finished,
        wall=clock.wall(),
        duration_s=finished - started,
    )
