"""The plug-in that the hubs of these tests act by."""

import pytest

from accelwatch import plugins
from remedy.fake_scheduler import FakeAction, FakeScheduler


@pytest.fixture(autouse=True)
def fake_plugin(monkeypatch: pytest.MonkeyPatch) -> list[FakeScheduler]:
    """The plug-in `fake` is the scheduler that a test puts here."""
    worlds: list[FakeScheduler] = []
    monkeypatch.setattr(plugins, "load", lambda _group, _name: lambda _: FakeAction(worlds[-1]))
    return worlds
