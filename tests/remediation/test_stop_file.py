"""The stop file: there or not, and when nobody can tell it counts as there."""

import os
import threading
from pathlib import Path

import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.remediation.execution.stop_file import STALE_S, StopFile
from support.processes.waiting import wait_until


def test_it_stops_as_long_as_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "STOP"
    file = StopFile(path, ManualClock())
    file.check()
    assert file.why == ""
    path.touch()
    file.check()
    assert file.why == f"the file {path} is there"
    path.unlink()
    file.check()
    assert file.why == ""


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    (tmp_path / "etc").touch()
    for path in (tmp_path / "none" / "STOP", tmp_path / "etc" / "STOP", None):
        file = StopFile(path, ManualClock())
        file.check()
        assert file.why == ""


def test_a_link_to_nowhere_stops_too(tmp_path: Path) -> None:
    path = tmp_path / "STOP"
    path.symlink_to(tmp_path / "nowhere")
    file = StopFile(path, ManualClock())
    file.check()
    assert file.why != ""


def test_who_cannot_look_stops(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    file = StopFile(path, ManualClock())
    file.check()
    assert file.why == f"the file {path} cannot be checked: {os.strerror(36)}"


def test_it_is_looked_for_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "STOP"
    file = StopFile(path, ManualClock())
    file.start()
    assert file.why == ""
    path.touch()
    wait_until(lambda: file.why)
    file.stop()


def test_a_folder_that_does_not_answer_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    file = StopFile(tmp_path / "STOP", clock)
    hung, inside = threading.Event(), threading.Event()

    def look() -> None:
        inside.set()
        hung.wait()

    file.start()
    monkeypatch.setattr(file, "check", look)
    wait_until(inside.is_set)
    assert file.why == ""
    clock.advance(STALE_S + 1)
    assert "its folder does not respond" in file.why
    hung.set()
    file.stop()
