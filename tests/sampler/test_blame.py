from accelwatch.sampler.blame import HOLD_FIRST_S, CallsOut, HoldOut, backends_of
from accelwatch.store.reports import Called, Returned

CRASH = b"""Fatal Python error: Segmentation fault

Thread 0x0000000000000aaa (most recent call first):
  File "worker.py", line 1 in serve

Current thread 0x0000000000000bbb (most recent call first):
  File "worker.py", line 2 in serve
"""


def called(number: int, backend: str, thread: int, action: str = "read") -> Called:
    return Called(call=number, backend=backend, action=action, thread=thread)


def test_the_crash_report_names_the_call() -> None:
    calls = CallsOut()
    calls.note(called(1, "amd", 0xAAA))
    calls.note(called(2, "nvidia", 0xBBB))
    assert backends_of(calls.suspects(CRASH)) == ("nvidia",)


def test_an_event_source_can_be_named() -> None:
    calls = CallsOut()
    calls.note(called(1, "amd", 0xAAA))
    calls.note(called(0, "kernel_log", 0xBBB, "events"))
    assert backends_of(calls.suspects(CRASH)) == ("kernel_log",)


def test_without_a_report_all_calls_that_are_out_are_suspect() -> None:
    calls = CallsOut()
    for number, backend in enumerate(("amd", "nvidia", "host"), 1):
        calls.note(called(number, backend, number))
    calls.note(called(0, "kernel_log", 9, "events"))
    calls.note(Returned(call=3))
    assert backends_of(calls.suspects(b"")) == ("amd", "nvidia")


def test_a_crash_report_of_a_thread_that_makes_no_call_leaves_the_suspects() -> None:
    calls = CallsOut()
    calls.note(called(1, "amd", 0xCCC))
    assert backends_of(calls.suspects(CRASH)) == ("amd",)


def test_the_second_crash_holds_out_and_pauses_grow() -> None:
    hold = HoldOut()
    hold.admitted(["amd", "nvidia"], 0.0)
    assert hold.crashed(["nvidia"], 1.0) == {}
    assert hold.held(1.0) == frozenset()
    assert hold.crashed(["nvidia"], 2.0) == {"nvidia": HOLD_FIRST_S}
    assert hold.held(6.9) == {"nvidia"}
    assert hold.held(7.0) == frozenset()
    assert hold.crashed(["nvidia"], 8.0) == {"nvidia": 2 * HOLD_FIRST_S}


def test_pauses_stop_growing_at_five_minutes() -> None:
    hold = HoldOut()
    for _ in range(20):
        pauses = hold.crashed(["nvidia"], 0.0)
    assert pauses == {"nvidia": 300.0}


def test_of_several_suspects_the_one_just_let_in_is_blamed() -> None:
    hold = HoldOut()
    hold.admitted(["amd"], 0.0)
    hold.admitted(["nvidia"], 100.0)
    hold.crashed(["amd", "nvidia"], 101.0)
    assert set(hold.crashed(["amd", "nvidia"], 102.0)) == {"nvidia"}


def test_equal_suspects_are_let_in_one_after_another() -> None:
    hold = HoldOut()
    hold.admitted(["amd", "nvidia"], 0.0)
    hold.crashed(["amd", "nvidia"], 1.0)
    hold.crashed(["amd", "nvidia"], 2.0)
    assert hold.held(3.0) == {"amd", "nvidia"}
    assert hold.held(8.0) == {"nvidia"}
    assert hold.held(18.0) == frozenset()


def test_a_calm_minute_after_the_pause_is_forgiven() -> None:
    hold = HoldOut()
    hold.crashed(["nvidia"], 0.0)
    hold.crashed(["nvidia"], 1.0)
    hold.forgive(60.0)
    assert hold.crashed(["nvidia"], 61.0) == {"nvidia": 2 * HOLD_FIRST_S}
    hold.forgive(200.0)
    assert hold.crashed(["nvidia"], 201.0) == {}
