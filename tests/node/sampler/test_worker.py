"""A worker and what it answers."""

import threading
from asyncio import CancelledError

from accelwatch.base.clock import ManualClock
from accelwatch.node.sampler.turns.messages import CallResult, Inbox
from accelwatch.node.sampler.turns.worker import Worker
from support.processes.waiting import GUARD_S


def test_an_answer_reports_what_came_and_when() -> None:
    clock, inbox = ManualClock(), Inbox()
    worker = Worker("w", clock, inbox)

    def job() -> str:
        clock.advance(0.5)
        return "done"

    def fail() -> None:
        raise OSError("lost")

    def leave() -> None:
        raise SystemExit(3)

    def cancel() -> None:
        raise CancelledError

    for number, work in enumerate((job, fail, leave, cancel)):
        worker.submit(number, work)
    answers = [inbox.get(timeout=GUARD_S) for _ in range(4)]
    worker.stop()
    first, second, third, fourth = (answer for answer in answers if isinstance(answer, CallResult))
    assert first == CallResult(
        call=0, result="done", timestamp=clock.monotonic(), wall=clock.wall(), duration_s=0.5
    )
    assert (second.call, second.result, repr(second.error)) == (1, None, "OSError('lost')")
    assert str(third.error) == "the backend tried to end the process: SystemExit(3)"
    assert str(fourth.error) == "the backend raised CancelledError()"
    (thread,) = (thread for thread in threading.enumerate() if thread.ident == worker.ident)
    assert (thread.name, thread.daemon) == ("w", True)
    thread.join(GUARD_S)
    assert not thread.is_alive()


def test_a_worker_that_rests_has_no_thread_until_the_next_call() -> None:
    inbox = Inbox()
    worker = Worker("resting", ManualClock(), inbox)
    worker.submit(0, threading.current_thread)
    first = inbox.get(timeout=GUARD_S)
    assert isinstance(first, CallResult)
    assert isinstance(first.result, threading.Thread)
    worker.release_thread()
    first.result.join(GUARD_S)
    assert not first.result.is_alive()
    worker.submit(1, threading.current_thread)
    second = inbox.get(timeout=GUARD_S)
    assert isinstance(second, CallResult)
    assert isinstance(second.result, threading.Thread)
    assert (second.call, second.result.ident) == (1, worker.ident)
    worker.stop()
    second.result.join(GUARD_S)
    assert not second.result.is_alive()


def test_a_worker_that_rests_in_a_call_reports_its_answer_all_the_same() -> None:
    inbox, go_on = Inbox(), threading.Event()
    worker = Worker("resting", ManualClock(), inbox)
    worker.submit(0, lambda: go_on.wait(GUARD_S))
    worker.release_thread()
    worker.submit(1, lambda: "next")
    assert _answered(inbox) == (1, "next")
    go_on.set()
    assert _answered(inbox) == (0, True)
    worker.stop()


def _answered(inbox: Inbox) -> tuple[int, object]:
    answer = inbox.get(timeout=GUARD_S)
    assert isinstance(answer, CallResult)
    return answer.call, answer.result
