"""A state file that was set aside, or that cannot be read: people are notified once, and of its end."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelwatch.alerting.evaluation.runner import RuleRunner
from accelwatch.alerting.evaluation.self_check import checks, own_problems
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.model import RuleSettings
from accelwatch.node.store.persistence.counts import CountFile
from fleet.remedies.hub_site import HubSite
from remediation.fake_scheduler import FakeScheduler
from support.fleet.hub_peers import hub
from support.servers.receivers import receiver


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and waits are shorter than half a minute."""
    monkeypatch.setattr(checks, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(own_problems, "NOTIFIED_AFTER_S", 0.3)


def _first_and_last(
    site: HubSite, start: Callable[[RuleRunner], None], end: Callable[[RuleRunner], None]
) -> list[dict[str, Any]]:
    async def scenario() -> list[dict[str, Any]]:
        async with receiver() as there:
            sink = SinkSettings(name="a", type="webhook", options={"url": f"{there.base}/x"})
            site.alerts = Alerts(sinks=(sink,), storm_wait_s=0.0)
            async with site.running() as (rules, _):
                start(rules)
                await there.wait_for(1)
                end(rules)
                await there.wait_for(2)
            return [request.json()["data"] for request in there.requests]

    return asyncio.run(scenario())


def test_a_file_that_was_set_aside_is_notified_until_it_is_removed(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    (tmp_path / "event_counts.json").touch()
    assert CountFile(tmp_path).load() == {}
    aside = tmp_path / "event_counts.json.damaged"
    first, last = _first_and_last(site, lambda _: None, lambda _: aside.unlink())
    assert (first["kind"], last["kind"]) == ("opened", "closed")
    assert (first["rule"], first["severity"]) == ("accelwatch.own.state", "warning")
    assert str(aside) in first["evidence"][0]
    assert f"remove {aside}" in first["what_to_do"]
    assert "is lost" in first["what_to_do"]
    assert "left as it is" not in first["title"] + first["what_to_do"]


def test_a_state_folder_that_hangs_keeps_no_notice_back(
    tmp_path: Path, fake_plugin: list[FakeScheduler], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one on a server that is gone: listing it does not come back."""
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)
    answers, requested = threading.Event(), threading.Event()

    def hangs(_: Path | None) -> tuple[Path, ...]:
        requested.set()
        answers.wait(60.0)
        return ()

    monkeypatch.setattr(checks, "damaged_files", hangs)

    def refused(why: str) -> Callable[[RuleRunner], None]:
        return lambda rules: rules.refuse(why)

    try:
        first, last = _first_and_last(site, refused("hub.yaml: unknown key"), refused(""))
    finally:
        answers.set()
    assert requested.is_set()
    assert (first["kind"], last["kind"]) == ("opened", "closed")
    assert first["rule"] == "accelwatch.own.configuration"


def test_a_file_that_cannot_be_read_is_notified_until_it_can(
    tmp_path: Path, fake_plugin: list[FakeScheduler]
) -> None:
    site = HubSite(tmp_path)
    fake_plugin.append(site.world)

    def unread(*why: str) -> Callable[[RuleRunner], None]:
        return lambda rules: setattr(rules.health, "unread", lambda: why)

    first, last = _first_and_last(site, unread("evidence.json: nothing is written"), unread())
    assert (first["kind"], last["kind"]) == ("opened", "closed")
    assert first["evidence"][0].endswith("evidence.json: nothing is written")
    assert "remove" not in first["what_to_do"]
    assert "left as it is" in first["title"]
    assert "damaged" not in first["title"]
    assert "nothing is written to it until then" in first["what_to_do"]
    assert "lost" not in first["what_to_do"]


@pytest.mark.parametrize("name", ["evidence.json", "inventory.sqlite"])
def test_a_hub_says_which_files_it_left_as_they_are(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")

    async def main() -> tuple[str, ...]:
        async with hub(state_dir=tmp_path, rules=RuleSettings(packs=("device",))) as served:
            assert served.hub.rules is not None
            return served.hub.rules.health.unread()

    (why,) = asyncio.run(main())
    assert name in why
