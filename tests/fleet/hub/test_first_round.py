"""Ticks come more often while there are targets that were not tried yet, for some seconds at most."""

import asyncio
import itertools
from types import SimpleNamespace
from typing import Any, cast

import pytest

from accelwatch.clock import SystemClock
from accelwatch.fleet.api import live
from accelwatch.fleet.state.fleet import Fleet

INTERVAL_S = 3600.0


async def pauses(monkeypatch: pytest.MonkeyPatch, *tried: bool) -> list[float]:
    """Seconds between ticks, in which no time passes, while the fleet answers so."""
    answers, waits = list(tried), [0.0]

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > len(tried):
            raise asyncio.CancelledError

    streams = live.LiveStreams(
        cast(Any, SimpleNamespace(all_tried=lambda: answers.pop(0))),
        SystemClock(),
        cast(Any, None),
        cast(Any, None),
        INTERVAL_S,
        incidents=cast(Any, None),
    )
    monkeypatch.setattr(live, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": sleep}))
    with pytest.raises(asyncio.CancelledError):
        await streams.run()
    return [later - sooner for sooner, later in itertools.pairwise(waits)]


@pytest.mark.parametrize(
    ("tried", "quarters"),
    [((True,), [4]), ((False, False, True), [1, 1, 4]), ((False, True, False), [1, 4])],
)
def test_until_every_target_was_tried(
    tried: tuple[bool, ...], quarters: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    between = asyncio.run(pauses(monkeypatch, *tried[: len(quarters)]))
    assert between == pytest.approx([one * INTERVAL_S / 4 for one in quarters], abs=60.0)


def test_a_target_that_never_answers_does_not_hurry_a_hub_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live, "_FIRST_ROUND_S", 0.0)
    assert asyncio.run(pauses(monkeypatch, False)) == pytest.approx([INTERVAL_S], abs=60.0)


def source(*, arrived: float | None = None, fault: str | None = None) -> Any:
    return SimpleNamespace(arrived=arrived, fault=fault)


@pytest.mark.parametrize(
    ("sources", "tried"),
    [
        ((), True),
        ((source(arrived=1.0),), True),
        ((source(fault="refused"),), True),
        ((source(arrived=1.0), source()), False),
        ((source(arrived=0.0), source(fault="refused")), True),
    ],
)
def test_a_target_is_tried_once_it_answered_or_failed(
    sources: tuple[Any, ...], tried: bool
) -> None:
    nodes = {str(at): SimpleNamespace(sources={"s": one}) for at, one in enumerate(sources)}
    assert Fleet.all_tried(cast(Any, SimpleNamespace(nodes=nodes))) is tried
