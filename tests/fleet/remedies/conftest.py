"""The plug-in that the hubs of these tests act by."""

from typing import Any

import pytest

from accelwatch.plugins import entry_points as plugins
from remediation.fake_scheduler import FakeAction, FakeScheduler


@pytest.fixture(autouse=True)
def fake_plugin(monkeypatch: pytest.MonkeyPatch) -> list[FakeScheduler]:
    """The plug-in `fake` is the scheduler that a test puts here."""
    worlds: list[FakeScheduler] = []
    load = plugins.load

    def loaded(group: str, name: str) -> Any:
        return (lambda _: FakeAction(worlds[-1])) if name == "fake" else load(group, name)

    monkeypatch.setattr(plugins, "load", loaded)
    return worlds
