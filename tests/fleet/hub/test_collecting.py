import asyncio
import contextlib
import gc
import weakref
from collections.abc import Iterable, Iterator

import pytest

from accelwatch.fleet.hub import collecting


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


async def _tended(
    monkeypatch: pytest.MonkeyPatch, turns: int, set_aside: Iterable[int] = ()
) -> list[str]:
    """What was done in so many turns; `set_aside` are the objects, look by look, then 100."""
    done: list[str] = []
    counts = iter(set_aside)
    monkeypatch.setattr(collecting, "_EVERY_S", 0.0)
    monkeypatch.setattr(collecting, "_FULL_EVERY", 3)
    monkeypatch.setattr(gc, "collect", lambda generation: done.append(f"collect {generation}"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: done.append("unfreeze"))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: next(counts, 100))
    monkeypatch.setattr(collecting, "give_back", lambda: done.append("give back"))
    task = asyncio.create_task(collecting.tend())
    while done.count("freeze") < turns:
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return done


YOUNG_TURN = ["collect 1", "freeze"]
FIRST_TURN = [*YOUNG_TURN, "give back"]
WHOLE_TURN = ["unfreeze", "collect 2", "freeze", "give back"]


def test_only_what_is_young_is_looked_through_while_the_fleet_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = asyncio.run(_tended(monkeypatch, 8, [100, 125, 125]))
    assert done == [*FIRST_TURN, *YOUNG_TURN * 7, "unfreeze"]


def test_everything_is_looked_through_when_there_is_a_quarter_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = asyncio.run(_tended(monkeypatch, 5, [100, 126]))
    assert done == [*FIRST_TURN, *YOUNG_TURN * 2, *WHOLE_TURN, *YOUNG_TURN, "unfreeze"]


def test_a_quarter_more_is_of_what_there_was_after_the_last_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = asyncio.run(_tended(monkeypatch, 10, [100, 200, 200, 250, 251]))
    assert done == [
        *FIRST_TURN,
        *YOUNG_TURN * 2,
        *WHOLE_TURN,
        *YOUNG_TURN * 5,
        *WHOLE_TURN,
        "unfreeze",
    ]


def test_a_cycle_that_a_gone_target_left_is_found_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Left:
        def __init__(self) -> None:
            self.own = self

    async def hour() -> weakref.ref[Left]:
        monkeypatch.setattr(collecting, "_EVERY_S", 0.0)
        monkeypatch.setattr(collecting, "_FULL_EVERY", 3)
        monkeypatch.setattr(collecting, "_GROWN", 0.5)
        left = Left()
        gc.collect(1)
        gc.freeze()
        left_behind = weakref.ref(left)
        del left
        task = asyncio.create_task(collecting.tend())
        for _ in range(20):
            if left_behind() is None:
                break  # each look through everything takes seconds in a process of many tests
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return left_behind

    assert asyncio.run(hour())() is None


def test_old_objects_are_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(_tended(monkeypatch, 1))
    young, _, old = gc.get_threshold()
    assert (young > 10_000, old > 100_000) == (True, True)


def test_they_are_left_alone_from_before_the_first_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "set_threshold", lambda *given: thresholds.append(given))
    thresholds: list[tuple[int, ...]] = []
    collecting.spare_the_old()
    asyncio.run(_tended(monkeypatch, 1))
    assert thresholds[0] == thresholds[1]


def test_what_a_round_makes_is_set_aside_and_not_looked_through() -> None:
    frozen = gc.get_freeze_count()
    with collecting.all_is_kept():
        assert not gc.isenabled()
        made = [[number] for number in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= frozen + len(made)


def test_what_fails_meanwhile_leaves_collection_on() -> None:
    with pytest.raises(KeyError), collecting.all_is_kept():
        raise KeyError("surprise")
    assert gc.isenabled()
