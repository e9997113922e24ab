import asyncio
import contextlib
import gc
from collections.abc import Iterator

import pytest

from accelwatch.fleet.hub import collecting


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


async def _tended(monkeypatch: pytest.MonkeyPatch, turns: int) -> list[str]:
    done: list[str] = []
    monkeypatch.setattr(collecting, "_EVERY_S", 0.0)
    monkeypatch.setattr(collecting, "_THAW_EVERY", 3)
    monkeypatch.setattr(gc, "collect", lambda generation: done.append(f"collect {generation}"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: done.append("unfreeze"))
    task = asyncio.create_task(collecting.tend())
    while done.count("freeze") < turns:
        await asyncio.sleep(0)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return done


def test_the_start_is_set_aside_unseen_and_later_only_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = asyncio.run(_tended(monkeypatch, 2))
    assert done == ["collect 1", "freeze", "collect 2", "freeze", "unfreeze"]


def test_now_and_then_everything_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    done = asyncio.run(_tended(monkeypatch, 4))
    assert done[-4:] == ["unfreeze", "collect 2", "freeze", "unfreeze"]


def test_old_objects_are_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(_tended(monkeypatch, 1))
    assert gc.get_threshold() == collecting.YOUNG
