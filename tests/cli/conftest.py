"""Hubs and agents of a test share one loop with what asks them, on which only waiting takes time."""

import asyncio

import pytest

from support.processes.idle_loop import IdleLoop


@pytest.fixture(autouse=True)
def _time_is_what_the_loop_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.events, "new_event_loop", IdleLoop)
