"""Sinks and their receivers share one loop, on which only waiting takes time."""

import asyncio

import pytest

from support.kubernetes.fixtures import cluster, real_servers, stand_in
from support.processes.idle_loop import IdleLoop

__all__ = ["cluster", "real_servers", "stand_in"]


@pytest.fixture(autouse=True)
def _time_is_what_the_loop_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.events, "new_event_loop", IdleLoop)
