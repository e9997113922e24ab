"""Work at an interval: it starts at once, goes on after an odd round, and does not catch up."""

import asyncio

import pytest

from accelwatch.fleet.rounds import rounds
from remediation.virtual_time import VirtualLoop, run


class _Work:
    """Notes when it was called, by the loop's clock; may be slow or broken in the first round."""

    def __init__(self, slow_s: float = 0.0, broken: bool = False) -> None:
        self.at: list[float] = []
        self._slow_s, self._broken = slow_s, broken
        self.enough = asyncio.Event()

    async def __call__(self) -> None:
        self.at.append(asyncio.get_running_loop().time())
        if len(self.at) == 1:
            await asyncio.sleep(self._slow_s)
            if self._broken:
                raise ValueError("odd")
        if len(self.at) == 3:
            self.enough.set()


def _three(work: _Work) -> list[float]:
    """When the first three rounds at an interval of 10 s started, seconds after the first."""

    async def until_enough() -> None:
        running = asyncio.create_task(rounds(10.0, work, "the work"))
        await work.enough.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()

    run(VirtualLoop(), until_enough())
    return [round(at - work.at[0], 3) for at in work.at]


def test_rounds_come_at_the_interval() -> None:
    assert _three(_Work()) == [0.0, 10.0, 20.0]


def test_an_odd_round_is_logged_by_its_name_and_not_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert _three(_Work(broken=True)) == [0.0, 10.0, 20.0]
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["a round of the work failed"]


def test_of_the_rounds_that_a_slow_one_missed_one_is_made_up_for() -> None:
    assert _three(_Work(slow_s=25.0)) == [0.0, 25.0, 35.0]
