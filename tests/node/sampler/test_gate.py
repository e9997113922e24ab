"""The gate: one by one while workers get on, beside a worker that does not."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import pytest

from accelwatch.node.sampler.turns import gate as gate_module
from accelwatch.node.sampler.turns.gate import Gate
from support.processes.waiting import GUARD_S


def test_workers_that_get_on_are_let_through_one_by_one() -> None:
    gate, alone = Gate(patience_s=GUARD_S), Lock()
    together = 0

    def work() -> None:
        nonlocal together
        for _ in range(50):
            with gate.turn():
                together += not alone.acquire(blocking=False)
                sum(range(500))
                alone.release()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work) for _ in range(8)]:
            done.result()

    assert together == 0


def test_workers_pass_beside_one_that_hangs() -> None:
    gate, inside, go_on = Gate(patience_s=0.01), Event(), Event()

    def hang() -> None:
        with gate.turn():
            inside.set()
            go_on.wait(GUARD_S)

    def pass_by() -> str:
        with gate.turn():
            return "passed"

    with ThreadPoolExecutor(4) as pool:
        hanging = pool.submit(hang)
        assert inside.wait(GUARD_S)
        passed = [pool.submit(pass_by).result(GUARD_S) for _ in range(3)]
        still_hanging = not hanging.done()
        go_on.set()

    assert passed == ["passed"] * 3
    assert still_hanging


def test_a_worker_that_fails_lets_the_next_one_in() -> None:
    gate = Gate(patience_s=GUARD_S)

    with pytest.raises(OSError, match="lost"), gate.turn():
        raise OSError("lost")

    with gate.turn():
        pass


class ScriptedLock:
    """Notes how long each worker would wait; `answers` says whether it then gets in."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.answers: list[Callable[[], bool]] = []
        self.released = 0

    def acquire(self, timeout: float) -> bool:
        self.waited.append(timeout)
        return self.answers.pop(0)() if self.answers else True

    def release(self) -> None:
        self.released += 1


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> ScriptedLock:
    lock = ScriptedLock()
    monkeypatch.setattr(gate_module, "Lock", lambda: lock)
    monkeypatch.setattr(gate_module, "CAREFUL_TURNS", 2)
    return lock


def passes(gate: Gate, times: int, *, opening: bool = False) -> None:
    for _ in range(times):
        with gate.turn(opening=opening):
            pass


def test_nobody_waits_long_for_one_that_does_not_get_on(lock: ScriptedLock) -> None:
    gate = Gate()
    passes(gate, 3)
    passes(gate, 1, opening=True)
    assert lock.waited == [0.004] * 4


def test_while_a_culprit_is_looked_for_everybody_waits_longer(lock: ScriptedLock) -> None:
    gate = Gate(0.25, careful=True)
    passes(gate, 1, opening=True)
    passes(gate, 2)
    passes(gate, 1, opening=True)
    assert lock.waited == [1.0, 0.05, 0.25, 0.25]


def test_who_passed_beside_another_has_passed_too(lock: ScriptedLock) -> None:
    gate = Gate(0.25, careful=True)
    lock.answers = [lambda: False, lambda: False]
    passes(gate, 3)
    assert lock.waited == [0.05, 0.05, 0.25]
    assert lock.released == 1


def test_one_waits_again_for_as_long_as_others_get_on(lock: ScriptedLock) -> None:
    gate = Gate(0.25)

    def another_passes() -> bool:
        passes(gate, 1)
        return False

    lock.answers = [another_passes, lambda: True, another_passes, lambda: True, lambda: False]
    passes(gate, 1)
    assert len(lock.waited) == 5
    assert lock.released == 2
