"""A hub that does not start because of its rules: people are notified once, and once when it starts."""

import asyncio
from pathlib import Path
from typing import Any

from accelwatch.alerting.delivery.refused_start import FILE, RefusedStart
from accelwatch.base.clock import SystemClock
from accelwatch.base.errors import ConfigError
from accelwatch.config.alerts import Alerts, SinkSettings
from support.processes.installed_command import accelwatch
from support.servers.receivers import Receiver, code, receiver


def to(there: Receiver) -> Alerts:
    sink = SinkSettings(name="a", type="webhook", timeout_s=2.0, options={"url": f"{there.base}/a"})
    return Alerts(sinks=(sink,))


def sent(there: Receiver) -> list[tuple[str, tuple[str, ...]]]:
    data: list[dict[str, Any]] = [request.json()["data"] for request in there.requests]
    return [(one["kind"], tuple(one["evidence"])) for one in data]


def test_the_same_error_is_sent_once_and_so_is_its_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            for text in ("r.yaml:3: broken", "r.yaml:3: broken", "r.yaml:9: worse"):
                # A new process each time.
                refused = RefusedStart(to(there), tmp_path, SystemClock(), "the hub")
                await refused.notify(ConfigError(text))
            for _ in range(2):
                await RefusedStart(to(there), tmp_path, SystemClock(), "the hub").is_over()
            kinds = [kind for kind, _ in sent(there)]
            assert kinds == ["opened", "opened", "closed"]
            assert "r.yaml:3: broken" in sent(there)[0][1][0]
            assert there.requests[0].json()["data"]["what_to_do"] == (
                "fix what the line above names (accelwatch config check and accelwatch rules check"
                " say more), then start it again"
            )
            assert not (tmp_path / FILE).exists()

    asyncio.run(scenario())


def test_what_no_sink_has_taken_is_sent_at_the_next_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with receiver(code(500), code(200)) as there:
            for _ in range(3):
                refused = RefusedStart(to(there), tmp_path, SystemClock(), "the hub")
                await refused.notify(ConfigError("broken"))
            assert len(there.requests) == 2

    asyncio.run(scenario())


def test_a_sink_that_writes_to_users_only_has_notified_nobody(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "host": "127.0.0.1",
        "sender": "accelwatch@example.org",
        "to_users": "{user}@example.org",
    }
    alerts = Alerts(sinks=(SinkSettings(name="owners", type="email", options=options),))
    refused = RefusedStart(alerts, tmp_path, SystemClock(), "the hub")
    asyncio.run(refused.notify(ConfigError("broken")))
    assert not (tmp_path / FILE).exists(), "people are notified at the next start"


def test_nobody_is_notified_where_that_cannot_be_remembered_or_nobody_listens(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with receiver() as there:
            await RefusedStart(to(there), None, SystemClock(), "x").notify(ConfigError("broken"))
            await RefusedStart(Alerts(), tmp_path, SystemClock(), "x").notify(ConfigError("broken"))
            assert there.requests == []

    asyncio.run(scenario())


def test_a_hub_that_is_started_with_a_broken_rule_file_says_so_to_people(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\nrules: [", encoding="utf-8")

    async def scenario() -> None:
        async with receiver() as there:
            (tmp_path / "hub.yaml").write_text(
                "targets: {static: ['127.0.0.1:1']}\n"
                f"state_dir: {tmp_path}/state\n"
                "web: {listen_address: '127.0.0.1:0'}\n"
                f"rules: {{files: [{tmp_path}/rules.yaml]}}\n"
                "alerts:\n  sinks:\n"
                f"  - {{name: a, type: webhook, options: {{url: '{there.base}/a'}}}}\n",
                encoding="utf-8",
            )
            for _ in range(2):
                run = await asyncio.to_thread(accelwatch, "hub", "-c", str(tmp_path / "hub.yaml"))
                assert run.returncode != 0
                assert "rules.yaml" in run.stderr
            ((kind, evidence),) = sent(there)
            assert kind == "opened"
            assert "rules.yaml" in evidence[0]

    asyncio.run(scenario())
