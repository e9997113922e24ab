"""The gate: one by one while workers get on, beside a worker that does not."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import pytest

from accelwatch.sampler.gate import Gate


def test_workers_that_get_on_are_let_through_one_by_one() -> None:
    gate, alone = Gate(patience_s=30), Lock()
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
            go_on.wait(30)

    def pass_by() -> str:
        with gate.turn():
            return "passed"

    with ThreadPoolExecutor(4) as pool:
        hanging = pool.submit(hang)
        assert inside.wait(30)
        passed = [pool.submit(pass_by).result(30) for _ in range(3)]
        still_hanging = not hanging.done()
        go_on.set()

    assert passed == ["passed"] * 3
    assert still_hanging


def test_a_worker_that_fails_lets_the_next_one_in() -> None:
    gate = Gate(patience_s=30)

    with pytest.raises(OSError, match="lost"), gate.turn():
        raise OSError("lost")

    with gate.turn():
        pass
