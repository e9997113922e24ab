"""The newest line of a command that runs on, and the first line of one that is ended then."""

from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.system.processes.line_stream import SILENCE_S, LineStream, first_line
from support.processes.shell_scripts import script
from support.processes.waiting import GUARD_S, wait_until


def newest(stream: LineStream) -> tuple[bytes, float]:
    return wait_until(stream.newest)


def test_the_newest_line_with_its_age_and_nothing_after_a_silence(tmp_path: Path) -> None:
    clock = ManualClock()
    stream = LineStream([script(tmp_path / "monitor", "echo one; exec sleep 600")], clock)
    try:
        assert newest(stream) == (b"one\n", 0.0)
        clock.advance(7)
        assert stream.newest() == (b"one\n", 7.0)
        clock.advance(SILENCE_S)
        assert stream.newest() is None
    finally:
        stream.close()


def test_the_first_line_is_awaited_until_it_comes_or_is_overdue(tmp_path: Path) -> None:
    clock = ManualClock()
    stream = LineStream([script(tmp_path / "monitor", "exec sleep 600")], clock)
    try:
        assert stream.newest() is None
        assert stream.awaits_first
        clock.advance(SILENCE_S + 1)
        assert not stream.awaits_first
        assert stream.newest() is None
        assert not stream.awaits_first, "also when it was begun again"
    finally:
        stream.close()
    spoken = LineStream([script(tmp_path / "speaks", "echo one; exec sleep 600")], clock)
    try:
        newest(spoken)
        assert not spoken.awaits_first
    finally:
        spoken.close()


@pytest.mark.parametrize("text", ["exit 1", "printf unfinished"])
def test_a_command_without_a_line_says_nothing(tmp_path: Path, text: str) -> None:
    stream = LineStream([script(tmp_path / "monitor", text)], ManualClock())
    wait_until(lambda: not stream.awaits_first)
    stream.close()
    assert stream.newest() is None


def test_a_command_that_cannot_be_run_says_nothing(tmp_path: Path) -> None:
    stream = LineStream([str(tmp_path / "none")], ManualClock())
    wait_until(lambda: not stream.awaits_first)
    stream.close()
    assert stream.newest() is None


def test_the_first_line_of_a_command_that_runs_on(tmp_path: Path) -> None:
    argv = [script(tmp_path / "monitor", "echo one; echo two; exec sleep 600")]
    assert first_line(argv, GUARD_S) == b"one\n"


@pytest.mark.parametrize("text", ["exit 1", "printf unfinished", "exec sleep 600"])
def test_no_first_line_is_made_up(tmp_path: Path, text: str) -> None:
    assert first_line([script(tmp_path / "monitor", text)], 0.2) is None


def test_no_first_line_of_what_cannot_be_run(tmp_path: Path) -> None:
    assert first_line([str(tmp_path / "none")], 0.2) is None


def test_the_lines_of_the_last_seconds(tmp_path: Path) -> None:
    clock = ManualClock()
    text = "echo one; echo two; echo three; exec sleep 600"
    stream = LineStream([script(tmp_path / "monitor", text)], clock, keep=2)
    try:
        wait_until(lambda: newest(stream)[0] == b"three\n")
        assert stream.recent(2.0) == [b"two\n", b"three\n"]
        clock.advance(3.0)
        assert stream.recent(2.0) == []
        clock.advance(SILENCE_S)
        assert stream.recent(2.0) is None
    finally:
        stream.close()
