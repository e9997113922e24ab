from accelwatch.node.sampler.protocol.blame import (
    QUARANTINE_FIRST_S,
    Quarantine,
    component_of,
    merged,
    suspects_of,
)
from accelwatch.node.store.reports import Called, Component

CRASH = b"""Fatal Python error: Segmentation fault

Thread 0x0000000000000aaa (most recent call first):
  File "worker.py", line 1 in serve

Current thread 0x0000000000000bbb (most recent call first):
  File "worker.py", line 2 in serve
"""


AMD, NVIDIA = Component("amd"), Component("nvidia")
GPU_3, GPU_5 = Component("nvidia", "nvidia:3"), Component("nvidia", "nvidia:5")


def called(number: int, backend: str, thread: int, action: str = "open", slot: str = "") -> Called:
    return Called(call=number, backend=backend, action=action, slot=slot, thread=thread)


def parts(suspects: tuple[Called, ...]) -> tuple[Component, ...]:
    return tuple(component_of(call) for call in suspects)


def test_the_crash_report_names_the_call() -> None:
    calls = [called(1, "amd", 0xAAA), called(2, "nvidia", 0xBBB)]
    assert parts(suspects_of(calls, CRASH)) == (NVIDIA,)


def test_an_event_source_can_be_named() -> None:
    calls = [called(0, "kernel_log", 0xBBB, "events"), called(1, "amd", 0xAAA)]
    assert parts(suspects_of(calls, CRASH)) == (Component("kernel_log", events=True),)


def test_without_a_report_all_calls_that_are_out_are_suspect() -> None:
    calls = [called(0, "kernel_log", 9, "events"), called(1, "amd", 1), called(2, "nvidia", 2)]
    assert parts(suspects_of(calls, b"")) == (AMD, NVIDIA)


def test_a_crash_report_of_a_thread_that_makes_no_call_leaves_the_suspects() -> None:
    assert parts(suspects_of([called(1, "amd", 0xCCC)], CRASH)) == (AMD,)


def test_without_a_report_the_thread_inside_a_driver_is_suspected_before_those_that_wait() -> None:
    calls = [
        called(number, "nvidia", 100 + number, "read", f"nvidia:{number}") for number in range(8)
    ]
    assert parts(suspects_of(calls, b"", frozenset({103}))) == (GPU_3,)
    assert parts(suspects_of(calls, CRASH, frozenset({103}))) == (GPU_3,)
    assert len(suspects_of(calls, b"", frozenset({4711}))) == 8


def test_an_event_source_inside_its_driver_is_not_suspected_before_a_call() -> None:
    calls = [called(0, "nvidia", 9, "events"), called(1, "amd", 1)]
    assert parts(suspects_of(calls, b"", frozenset({9}))) == (AMD,)


def test_an_event_source_is_suspected_when_nothing_else_was_out_but_not_of_a_kill() -> None:
    calls = [called(0, "nvidia", 9, "events")]
    assert parts(suspects_of(calls, b"")) == (Component("nvidia", events=True),)
    assert suspects_of(calls, b"", killed=True) == ()
    assert suspects_of(calls, CRASH) == ()


def test_one_device_is_itself_and_several_are_their_backend() -> None:
    assert merged([GPU_3]) == (GPU_3,)
    assert merged([GPU_5, GPU_3, AMD]) == (AMD, NVIDIA)
    assert merged([]) == ()


def test_a_device_is_held_out_by_its_first_crash_and_its_backend_goes_on() -> None:
    hold = Quarantine()
    hold.admitted([NVIDIA], 0.0)
    assert hold.crashed([GPU_3], 1.0) == {GPU_3: QUARANTINE_FIRST_S}
    assert hold.quarantined(1.0) == {GPU_3}
    assert hold.on_trial(6.0) == {GPU_3}
    hold.admitted([GPU_3], 6.0)
    assert hold.crashed([GPU_3], 6.5) == {GPU_3: 2 * QUARANTINE_FIRST_S}


def test_a_device_on_trial_is_blamed_before_those_that_ran_well() -> None:
    hold = Quarantine()
    hold.admitted([NVIDIA], 0.0)
    hold.crashed([GPU_3], 20.0)
    hold.admitted([GPU_3], 25.0)
    assert set(hold.crashed([GPU_3, GPU_5], 26.0)) == {GPU_3}


def test_several_bad_devices_are_tried_no_more_often_than_one() -> None:
    hold = Quarantine()
    hold.admitted([NVIDIA], 0.0)
    hold.crashed([GPU_3], 1.0)
    assert hold.crashed([GPU_5], 2.0) == {GPU_5: 2 * QUARANTINE_FIRST_S}


def test_the_second_crash_holds_out_and_pauses_grow() -> None:
    hold = Quarantine()
    hold.admitted([AMD, NVIDIA], 0.0)
    assert hold.crashed([NVIDIA], 1.0) == {}
    assert hold.quarantined(1.0) == frozenset()
    assert hold.crashed([NVIDIA], 2.0) == {NVIDIA: QUARANTINE_FIRST_S}
    assert hold.quarantined(6.9) == {NVIDIA}
    assert hold.quarantined(7.0) == frozenset()
    assert hold.crashed([NVIDIA], 8.0) == {NVIDIA: 2 * QUARANTINE_FIRST_S}


def test_pauses_stop_growing_at_five_minutes() -> None:
    hold = Quarantine()
    for _ in range(20):
        pauses = hold.crashed([NVIDIA], 0.0)
    assert pauses == {NVIDIA: 300.0}


def test_of_several_suspects_the_one_just_let_in_is_blamed() -> None:
    hold = Quarantine()
    hold.admitted([AMD], 0.0)
    hold.admitted([NVIDIA], 100.0)
    hold.crashed([AMD, NVIDIA], 101.0)
    assert set(hold.crashed([AMD, NVIDIA], 102.0)) == {NVIDIA}


def test_equal_suspects_are_let_in_one_after_another() -> None:
    hold = Quarantine()
    hold.admitted([AMD, NVIDIA], 0.0)
    hold.crashed([AMD, NVIDIA], 1.0)
    hold.crashed([AMD, NVIDIA], 2.0)
    assert hold.quarantined(3.0) == {AMD, NVIDIA}
    assert hold.quarantined(8.0) == {NVIDIA}
    assert hold.quarantined(18.0) == frozenset()


def test_a_calm_minute_after_the_pause_is_forgiven() -> None:
    hold = Quarantine()
    hold.crashed([NVIDIA], 0.0)
    hold.crashed([NVIDIA], 1.0)
    hold.forgive(60.0)
    assert hold.crashed([NVIDIA], 61.0) == {NVIDIA: 2 * QUARANTINE_FIRST_S}
    hold.forgive(200.0)
    assert hold.crashed([NVIDIA], 201.0) == {}
