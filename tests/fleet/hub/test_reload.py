"""Reading the configuration again while the hub runs: what changes, what stays, what is refused."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from accelwatch.config.layers import Effective
from accelwatch.fleet.hub import server
from accelwatch.fleet.hub.model import HubSettings, effective
from accelwatch.fleet.hub.reloading import read_again
from support.fleet.hub_peers import agent, hub
from support.machines import composed as machines

BAD = "targets:\n  static: ['n[2-1]']\n"


@pytest.fixture(autouse=True)
def _logging_is_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "set_up_logging", lambda _level, _format: None)


def _reading(file: Path) -> Callable[[], Effective[HubSettings]]:
    return lambda: effective(file)


def test_targets_thresholds_and_ways_to_read_change(tmp_path: Path) -> None:
    file = tmp_path / "hub.yaml"

    async def main() -> None:
        async with agent() as one, agent() as two, hub(one.address) as running:
            await running.devices(one.address, 8)
            source = running.source(one.address)
            file.write_text(
                f"targets:\n  static: ['{one.address}', '{two.address}']\n"
                "state: {stale_after: 20s}\n"
            )
            await read_again(running.server, _reading(file))
            await running.devices(two.address, 8)
            assert running.source(one.address) is source
            assert running.mode(one.address) == "stream"
            assert running.hub.fleet.thresholds.stale_s == 20
            file.write_text(f"targets: {{static: '{two.address}'}}\nscrape: {{mode: poll}}\n")
            await read_again(running.server, _reading(file))
            await running.until(lambda: running.mode(two.address) == "poll")
            assert running.hub.fleet.thresholds.stale_s == 10
            nodes = running.hub.fleet.nodes
            await running.until(lambda: nodes[one.address].unlisted)

    asyncio.run(main())


def test_a_bad_file_changes_nothing_and_names_the_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "hub.yaml"

    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            for text, message in (
                (BAD, f"{file}:2: targets.static"),
                ("target: x\n", f"{file}:1: target: unknown key; did you mean targets?"),
                ("{", f"{file}:"),
                ("web: {config_file: absent.yml}\n", "absent.yml"),
                ("web: {listen_address: ':0'}\n", "no client has to authenticate"),
            ):
                file.write_text(text)
                caplog.clear()
                with caplog.at_level(logging.ERROR):
                    await read_again(running.server, _reading(file))
                assert message in caplog.text
                assert "stays in force" in caplog.text
                assert 'last_reload_successful{config="hub"} 0' in await running.get("/metrics")
            one.feed.put(machines.snapshot(machines.view(0)))
            await running.devices(one.address, 1)
            file.write_text(f"targets: {{static: '{one.address}'}}\n")
            await read_again(running.server, _reading(file))
            assert 'last_reload_successful{config="hub"} 1' in await running.get("/metrics")

    asyncio.run(main())


@pytest.mark.parametrize("text", ["", "# soon\n", "{}\n", "rules:\n"])
def test_a_file_that_is_briefly_empty_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    file, rules = tmp_path / "hub.yaml", tmp_path / "rules.yaml"
    rules.write_text(RULES)
    full = f"targets: {{static: '127.0.0.1:1'}}\nrules: {{files: [{rules}]}}\n"

    async def main() -> None:
        async with hub() as running:
            file.write_text(full)
            await read_again(running.server, _reading(file))
            file.write_text(text)
            await read_again(running.server, _reading(file))
            assert f"{file}: the file sets nothing; write it again, or restart" in caplog.text
            assert running.hub.settings.targets.static == ("127.0.0.1:1",)
            assert running.hub.rules is not None
            assert 'last_reload_successful{config="hub"} 0' in await running.get("/metrics")
            file.write_text(full)
            await read_again(running.server, _reading(file))
            assert 'last_reload_successful{config="hub"} 1' in await running.get("/metrics")

    asyncio.run(main())


def test_rules_that_are_taken_out_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, rules = tmp_path / "hub.yaml", tmp_path / "rules.yaml"
    rules.write_text(RULES)

    async def main() -> None:
        async with hub() as running:
            file.write_text(f"log: {{level: info}}\nrules: {{files: [{rules}]}}\n")
            await read_again(running.server, _reading(file))
            assert "any more" not in caplog.text
            file.write_text("log: {level: info}\n")
            await read_again(running.server, _reading(file))
            assert running.hub.rules is None
            message = "the configuration has no rules any more: no rule is evaluated any more"
            assert message in [record.getMessage() for record in caplog.records]

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())


def test_what_only_a_restart_changes_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "hub.yaml"
    file.write_text(
        "web: {listen_address: '127.0.0.1:1', unix_socket: s}\nstate_dir: d\nstream_interval: 9s\n"
    )

    async def main() -> None:
        async with hub() as running:
            with caplog.at_level(logging.WARNING):
                await read_again(running.server, _reading(file))

    asyncio.run(main())
    for key in ("web.listen_address", "web.unix_socket", "state_dir", "stream_interval"):
        assert f"a change takes a restart key={key}" in caplog.text


def test_a_web_configuration_of_the_new_file_is_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "hub.yaml"
    (tmp_path / "token").write_text("0123456789abcdef\n")
    (tmp_path / "web.yml").write_text("bearer_token_file: token\n")
    file.write_text("web: {config_file: web.yml}\n")

    async def main() -> None:
        async with hub() as running:
            await running.get("/v1/fleet")
            await read_again(running.server, _reading(file))
            await running.get("/v1/fleet", 401)
            file.write_text("log: {level: info}\n")
            await read_again(running.server, _reading(file))
            await running.get("/v1/fleet", 401)
            assert "nothing asks for passwords and tokens any more" in caplog.text

    asyncio.run(main())


_CODE = "from accelwatch.cli.servers.hub import hub_command; hub_command()"


def test_sighup_has_the_file_read_again(tmp_path: Path) -> None:
    file, log = tmp_path / "hub.yaml", tmp_path / "log"
    file.write_text("log: {level: info}\n")
    words = [sys.executable, "-c", _CODE, "-c", str(file), "--state-dir", str(tmp_path)]
    environ = {**os.environ, "NOTIFY_SOCKET": ""}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*words, "--web.listen-address", "127.0.0.1:0"], stderr=out, env=environ
        )
    try:
        _logged(log, "targets known count=0")
        file.write_text("targets: {static: ['127.0.0.1:[1-3]']}\n")
        process.send_signal(signal.SIGHUP)
        _logged(log, "targets known count=3")
        file.write_text(BAD)
        process.send_signal(signal.SIGHUP)
        _logged(log, f"{file}:2: targets.static")
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def _logged(log: Path, text: str) -> None:
    for _ in range(600):
        if text in log.read_text():
            return
        time.sleep(0.05)
    pytest.fail(f"{text!r} was not logged: {log.read_text()[-1000:]}")


def test_a_hub_that_follows_nobody_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with hub():
            assert "nothing to follow" in caplog.text

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())


RULES = "version: 1\nrules: [{id: gpu.lost, title: lost, when: 'state == \"lost\"'}]\n"


def test_agents_are_sent_whether_the_hub_notifies(tmp_path: Path) -> None:
    file, rules = tmp_path / "hub.yaml", tmp_path / "rules.yaml"
    rules.write_text(RULES)

    async def main() -> None:
        async with agent() as one, hub(one.address) as running:
            await running.devices(one.address, 8)
            assert one.presence.silent_s is None
            initial = f"targets: {{static: '{one.address}'}}\nrules: {{files: [{rules}]}}\n"
            # Rules alone wake nobody.
            file.write_text(initial)
            await read_again(running.server, _reading(file))
            assert one.presence.silent_s is None
            sink = "{name: a, type: webhook, options: {url: 'http://127.0.0.1:1/'}}"
            file.write_text(f"{initial}alerts: {{sinks: [{sink}]}}\n")
            await read_again(running.server, _reading(file))
            await running.until(lambda: one.presence.silent_s == 0.0)
            file.write_text(initial)
            await read_again(running.server, _reading(file))
            await running.until(lambda: bool(one.presence.silent_s))

    asyncio.run(main())
