"""`accelwatch alerts test` over a real receiver."""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from accelwatch.cli.startup.app import invoke


class _Receiver(http.server.BaseHTTPRequestHandler):
    paths: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        type(self).paths.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204 if self.path == "/well" else 500)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    _Receiver.paths = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    config = tmp_path / "hub.yaml"
    config.write_text(
        "alerts:\n  sinks:\n"
        f"    - {{name: good, type: webhook, options: {{url: '{base}/well'}}}}\n"
        f"    - {{name: bad, type: teams, options: {{url: '{base}/hush'}}}}\n"
    )
    yield config
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_one_sink(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["alerts", "test", "-c", str(file), "good"]) == 0
    assert capfd.readouterr().out == "good: delivered\n"
    assert _Receiver.paths == ["/well"]


def test_all_of_which_one_fails(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["alerts", "test", "-c", str(file)]) == 1
    printed = capfd.readouterr()
    assert printed.out == "good: delivered\n"
    assert printed.err == "accelwatch: bad: retry: answered 500\n"
    assert sorted(_Receiver.paths) == ["/hush", "/well"]


def test_a_sink_that_is_not_there(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from accelwatch.base.errors import UsageError

    with pytest.raises(UsageError, match="there is no sink 'other'; there are good, bad"):
        invoke(["alerts", "test", "-c", str(file), "other"])


def test_a_file_without_sinks(tmp_path: Path) -> None:
    from accelwatch.base.errors import UsageError

    config = tmp_path / "hub.yaml"
    config.write_text("")
    with pytest.raises(UsageError, match="has no sink"):
        invoke(["alerts", "test", "-c", str(config)])


def test_an_agents_file_is_taken_too(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    agents = file.with_name("agent.yaml")
    agents.write_text(f"collect: {{interval: 2s}}\n{file.read_text()}")
    assert invoke(["alerts", "test", "-c", str(agents), "good"]) == 0
    assert capfd.readouterr().out == "good: delivered\n"


def test_an_agents_file_with_a_mistake_is_reported_as_such(file: Path) -> None:
    from accelwatch.base.errors import ConfigError

    agents = file.with_name("agent.yaml")
    agents.write_text(f"collect: {{interval: 2s}}\n{file.read_text()}  stormwait: 3s\n")
    with pytest.raises(ConfigError) as refused:
        invoke(["alerts", "test", "-c", str(agents), "good"])
    assert str(refused.value).endswith("unknown key; did you mean storm_wait?")
    agents.write_text("collect: {interval: 2s}\nalerts: {sinks: [{name: a, type: pigeon}]}\n")
    with pytest.raises(ConfigError, match="pigeon") as refused:
        invoke(["alerts", "test", "-c", str(agents)])
    assert "collect" not in str(refused.value)
