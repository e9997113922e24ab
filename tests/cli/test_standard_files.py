"""Commands whose standard input, output or errors were closed by whoever started them."""

import io
import itertools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.archive.recording import Recording
from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.output import opened_stdout
from accelwatch.cli.terminal import on_terminal
from support.machines.nvml_stand_ins import NvmlScenario
from support.processes.installed_command import PATIENT
from support.processes.waiting import wait_until
from support.servers.ports import free_port

CLOSED = ["<&-", "2>&-", "<&- 2>&-"]
STARTED = """
import os, sys
from accelwatch.cli.startup.main import open_missing
open_missing()
opened = os.open(os.devnull, os.O_RDONLY)
os.write({descriptor}, f"{{opened}} {{sys.stdin is None}} {{sys.stdout is None}}".encode())
sys.stderr.write("nobody reads this")
sys.stderr.flush()
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Variables of a machine with eight devices."""
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    return {**os.environ, **scenario.environment()}


def closing(closed: str, *words: str) -> list[str]:
    """Words that run a program with standard files closed."""
    return ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, *words]


def run(
    closed: str, *words: str, environ: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        closing(closed, "-m", "accelwatch", *words),
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_a_watch_reads_the_devices(closed: str, environ: dict[str, str]) -> None:
    words = ("--watch", "250ms", "-n", "2", "--json", "-b", "nvidia", *PATIENT)
    ended = run(closed, *words, environ=environ)
    assert (ended.returncode, ended.stderr) == (0, "")
    shots = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [len(one["devices"]) for one in shots] == [8, 8]


@pytest.mark.parametrize("closed", [*CLOSED, "<&- >&- 2>&-"])
def test_a_recorder_reads_the_devices(closed: str, environ: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    words = ("record", "-o", str(path), "-n", "1", "--interval", "250ms", "-b", "nvidia", *PATIENT)
    assert run(closed, *words, environ=environ).returncode == 0
    with Recording.open(path) as recording:
        assert len(recording.at(0).devices) == 8
        assert recording.notes == ()


def test_a_file_that_is_written_gets_nothing_else(environ: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    words = ("--watch", "250ms", "-n", "1", "--json", "-o", str(path), "-b", "nvidia", *PATIENT)
    assert run("<&- >&- 2>&-", *words, environ=environ).returncode == 0
    assert len(json.loads(path.read_bytes())["devices"]) == 8


@pytest.mark.parametrize("closed", CLOSED)
def test_a_fleet_that_never_answered_is_printed(closed: str) -> None:
    where = f"127.0.0.1:{free_port()}"
    ended = run(closed, "fleet", "--targets", where, "--once", *PATIENT)
    assert ended.returncode == 1
    assert "1 node (1 never)" in ended.stdout
    assert ended.stderr == ""


@pytest.mark.parametrize("closed", CLOSED)
def test_a_stream_goes_on_until_nobody_reads(closed: str, environ: dict[str, str]) -> None:
    words = closing(closed, "-m", "accelwatch", "stream", "--interval", "250ms", "-b", "nvidia")
    with subprocess.Popen(
        words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "hello"
        # Ticks without a device come before where the driver takes long; for a minute at most.
        lines = itertools.islice(process.stdout, 240)
        assert any(json.loads(line)["type"] == "layout" for line in lines)
        process.stdout.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("closed", CLOSED)
def test_the_dashboard_is_served(closed: str) -> None:
    port = free_port()
    words = closing(closed, "-m", "accelwatch", "serve", "--replay", "demo", "--port", str(port))
    with subprocess.Popen(words) as process:
        try:
            wait_until(lambda: process.poll() is not None or _listens(port))
            assert process.poll() is None
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("stream",),
        ("--watch", "250ms", "-n", "1", "--replay", "demo", *PATIENT),
        ("topo", *PATIENT),
        ("--replay", "demo", *PATIENT),
    ],
)
def test_a_closed_stdout_is_reported_in_one_line(
    words: tuple[str, ...], environ: dict[str, str]
) -> None:
    ended = run(">&-", *words, environ=environ)
    assert ended.returncode == 1
    assert ended.stderr == "accelwatch: cannot write to stdout: it is closed\n"


def test_a_check_that_is_out_of_time_says_so_to_people(environ: dict[str, str]) -> None:
    ended = run(">&-", "check", "--agent", "none", "--timeout", "10ms", environ=environ)
    assert ended.returncode == 3
    assert ended.stderr.startswith("ACCELWATCH UNKNOWN - not done within 0.01 s")


@pytest.mark.parametrize(
    ("closed", "descriptor", "message"),
    [
        ("<&- >&-", 2, "3 True True"),
        ("<&-", 1, "3 True False"),
        (">&-", 2, "3 False True"),
        ("2>&-", 1, "3 False False"),
    ],
)
def test_what_is_opened_next_is_no_standard_file(
    closed: str, descriptor: int, message: str
) -> None:
    words = closing(closed, "-c", STARTED.format(descriptor=descriptor))
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert (ended.stdout + ended.stderr).removesuffix("nobody reads this") == message


@pytest.mark.parametrize("gone", ["stdin", "stdout"])
def test_nobody_looks_at_a_terminal_that_is_closed(
    monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("_ACCELWATCH_COMPLETE", raising=False)
    for name in ("stdin", "stdout"):
        stream = io.StringIO()
        stream.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, name, stream)
    assert on_terminal()
    monkeypatch.setattr(sys, gone, None)
    assert not on_terminal()


def test_a_closed_stdout_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened_stdout() is sys.stdout
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(AccelwatchError, match="cannot write to stdout: it is closed"):
        opened_stdout()
