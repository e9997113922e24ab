"""The loop of tests whose hubs, agents, clients and receivers share it."""

import asyncio

import pytest

from support.processes.idle_loop import IdleLoop


@pytest.fixture(autouse=True)
def idle_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """For every test of a folder whose conftest imports it: only waiting takes time on its loop."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", IdleLoop)
