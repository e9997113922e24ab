"""Long work shows a bar on a terminal and a table at its end, and on a pipe nothing but the data."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from accelwatch.archive.history import layout
from accelwatch.archive.history.check import check
from accelwatch.archive.recording import Recorder
from accelwatch.cli import progress
from accelwatch.cli.progress import counting, recorded_time, table
from accelwatch.fleet.archive.replayed import replayed
from support.archives.history_archives import DAY, steady, write
from support.machines import composed as machines

RULES = """\
version: 1
rules:
- id: hot
  title: Hot
  when: temperature_celsius.gpu > 90
  keep: 0
  tests:
  - name: cool
    given: [{device: nvidia0, vendor: nvidia, values: {temperature_celsius.gpu: "40 x5"}}]
    expect: {fires: {}}
"""
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def typed(*words: object, terminal: str) -> tuple[int, str, str]:
    """(exit code, stdout, what stood on the terminal); `terminal`: `stderr`, or `both`."""
    far, near = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "accelwatch", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=near if terminal == "both" else subprocess.PIPE,
        stderr=near,
        env=environ,
    )
    os.close(near)
    shown = b""
    while piece := _read(far):
        shown += piece
    os.close(far)
    out, _ = process.communicate(timeout=60)
    text = _ESCAPE.sub("", shown.decode()).replace("\r", "\n")
    return process.returncode, (out or b"").decode(), text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux's word for the end of a terminal
        return b""


def piped(*words: object) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "accelwatch", *map(str, words)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES, encoding="utf-8")
    return file


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return write(tmp_path / "a", steady(minutes=60))


def test_a_terminal_shows_a_bar_with_its_share_and_then_a_table(rules: Path) -> None:
    code, _, shown = typed("rules", "test", rules, terminal="both")
    assert code == 0
    assert re.search(r"rules test .* 0% ", shown)
    lines = [line.split() for line in shown.splitlines()]
    assert ["FILE", "RULES", "TESTS", "FAILED"] in lines
    assert [str(rules), "1", "1", "0"] in lines


def test_the_bar_is_on_stderr_while_data_goes_elsewhere(rules: Path) -> None:
    code, out, shown = typed("rules", "test", rules, terminal="stderr")
    assert (code, out) == (0, "")
    assert "rules test" in shown
    assert "FILE" not in shown


def test_on_a_pipe_there_is_no_bar(rules: Path) -> None:
    code, out, err = piped("rules", "test", rules)
    assert (code, out, err) == (0, "", "accelwatch: 1 test passed, 0 failed\n")


def test_a_message_during_the_work_stands_above_the_bar(rules: Path) -> None:
    rules.write_text(RULES.replace("fires: {}", "fires: {nvidia0: 30s}"), encoding="utf-8")
    code, _, shown = typed("rules", "test", rules, terminal="both")
    assert code == 1
    assert any(
        line.startswith("accelwatch: ") and "hot: cool" in line for line in shown.splitlines()
    )
    assert [str(rules), "1", "1", "1"] in [line.split() for line in shown.splitlines()]


def test_a_back_test_is_a_table_on_a_terminal_and_lines_of_json_on_a_pipe(
    archive: Path, rules: Path
) -> None:
    rules.write_text(RULES.replace("> 90", "> 1"), encoding="utf-8")
    words = ("rules", "backtest", rules, "--history", archive)
    code, out, shown = typed(*words, terminal="both")
    assert code == 0
    assert "back-test of 1 rule" in shown
    assert "OPENED" in shown
    assert '{"' not in shown
    code, out, err = piped(*words)
    assert code == 0
    assert out.startswith('{"')
    assert "back-test" not in err


def test_lines_of_json_that_go_to_a_terminal_have_no_bar_between_them(
    archive: Path, rules: Path
) -> None:
    rules.write_text(RULES.replace("> 90", "> 1"), encoding="utf-8")
    words = ("rules", "backtest", rules, "--history", archive, "--format", "ndjson")
    _, _, shown = typed(*words, terminal="both")
    assert '{"' in shown
    assert "back-test" not in shown
    _, out, shown = typed(*words, terminal="stderr")
    assert out.startswith('{"')
    assert "back-test of 1 rule" in shown


def test_an_archive_that_is_looked_through_ends_in_a_table(archive: Path) -> None:
    layout.day_file(archive, "nodes", DAY).write_bytes(b"no Parquet")
    code, _, shown = typed("history", "check", archive, terminal="both")
    lines = [line.split() for line in shown.splitlines()]
    assert code == 1
    assert ["TABLE", "FILES", "MISTAKES", "NOTES"] in lines
    assert ["devices", "1", "0", "0"] in lines
    assert ["nodes", "1", "1", "0"] in lines
    # A terminal breaks the line where the folder's name makes it too long.
    assert "cannot be read" in " ".join(shown.split())


def test_a_check_says_how_many_files_of_how_many_it_has_looked_through(archive: Path) -> None:
    reports: list[tuple[float, float]] = []
    assert list(check(archive, lambda *one: reports.append(one))) == []
    assert reports == [(1, 2), (2, 2)]


def test_a_recording_that_is_read_says_how_many_documents_of_how_many(tmp_path: Path) -> None:
    file = tmp_path / "node.ndjson.zst"
    with Recorder(file) as recorder:
        for at in range(3):
            recorder.write(structs.replace(machines.snapshot(), time=machines.NOW + at))
    reports: list[tuple[float, float]] = []
    replayed(file, tmp_path / "archive", pytest.fail, lambda *one: reports.append(one))
    assert reports == [(1, 3), (2, 3), (3, 3)]


def test_the_first_round_over_a_fleet_has_a_bar(tmp_path: Path) -> None:
    words = ("fleet", "-t", "127.0.0.1:1", "--once", "--no-state", "--timeout", "30s")
    _, out, shown = typed(*words, terminal="stderr")
    assert "asking nodes" in shown
    assert out.splitlines()[1].split()[:2] == ["NODE", "STATE"]
    assert "asking nodes" not in piped(*words)[2]


def test_json_on_a_terminal_has_no_table(archive: Path, rules: Path) -> None:
    assert "TABLE" not in typed("history", "check", archive, "--json", terminal="both")[2]
    assert "FILE" not in typed("rules", "test", rules, "--json", terminal="both")[2]


@pytest.mark.parametrize("term", ["dumb", None])
def test_a_terminal_that_cannot_move_its_cursor_has_no_bar(
    term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert progress.watched()
    if term is None:
        monkeypatch.delenv("TERM")
    else:
        monkeypatch.setenv("TERM", term)
    assert not progress.watched()


def test_a_closed_stderr_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", None)
    with progress.progress("work", 10) as bar:
        bar.at(5)


@pytest.mark.parametrize(
    ("speed", "text"),
    [
        (0.4, "0.4 s of data/s"),
        (90, "1.5 min of data/s"),
        (7200, "2.0 h of data/s"),
        (129_600, "1.5 days of data/s"),
    ],
)
def test_a_rate_of_recorded_time(speed: float, text: str) -> None:
    assert recorded_time(speed) == text


@pytest.mark.parametrize(
    ("speed", "text"), [(0.25, "0.2 files/s"), (9.94, "9.9 files/s"), (1234.5, "1,234 files/s")]
)
def test_a_rate_of_things(speed: float, text: str) -> None:
    assert counting("files")(speed) == text


def test_a_table_is_aligned() -> None:
    assert table(("A", "LONG"), [("aaa", "1")]) == "A    LONG\naaa  1\n"
