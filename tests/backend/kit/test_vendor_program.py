"""Where a vendor's command is found, and why one gives no output."""

from pathlib import Path

import pytest

from accelwatch.backend.kit.vendor_program import find_program, output_of
from accelwatch.base.errors import DevicePermission, DeviceTimeout, ReadError
from support.processes.waiting import GUARD_S


def _program(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(mode)
    return path


def test_a_folder_of_the_vendor_comes_first(tmp_path: Path) -> None:
    _program(tmp_path / "usr/bin/x-smi", "")
    own = _program(tmp_path / "opt/x/bin/x-smi", "")
    assert find_program(tmp_path, ["x-smi"], ["opt/x/bin"]) == own


def test_a_name_that_comes_first_is_preferred_in_a_folder(tmp_path: Path) -> None:
    _program(tmp_path / "usr/bin/x-stat", "")
    new = _program(tmp_path / "usr/bin/x-smi", "")
    assert find_program(tmp_path, ["x-smi", "x-stat"]) == new


def test_what_cannot_be_run_and_what_is_a_folder_is_not_meant(tmp_path: Path) -> None:
    _program(tmp_path / "usr/bin/x-smi", "", mode=0o644)
    (tmp_path / "usr/local/bin/x-smi").mkdir(parents=True)
    assert find_program(tmp_path, ["x-smi"]) is None


def test_path_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path / "home/x-smi", "")
    monkeypatch.setenv("PATH", str(tmp_path / "home"))
    assert find_program(tmp_path, ["x-smi"]) is None


def test_its_output(tmp_path: Path) -> None:
    program = _program(tmp_path / "x-smi", 'echo "$1 $LC_ALL"')
    assert output_of(program, "-j", timeout_s=GUARD_S) == b"-j C\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("echo; echo 'no device' >&2; exit 3", "x-smi -j ended with status 3: no device"),
        ("echo 'on stdout'; exit 1", "x-smi -j ended with status 1: on stdout"),
        ("exit 2", "x-smi -j ended with status 2: it printed nothing"),
    ],
)
def test_its_complaint(tmp_path: Path, text: str, complaint: str) -> None:
    program = _program(tmp_path / "x-smi", text)
    with pytest.raises(ReadError, match=complaint):
        output_of(program, "-j", timeout_s=GUARD_S)


def test_a_whole_output_counts_whatever_the_status(tmp_path: Path) -> None:
    program = _program(tmp_path / "x-smi", "echo all; echo 'card 3 is bad' >&2; exit 3")
    assert (
        output_of(program, timeout_s=GUARD_S, is_complete=lambda text: text == b"all\n") == b"all\n"
    )
    with pytest.raises(ReadError, match="x-smi ended with status 3: card 3 is bad"):
        output_of(program, timeout_s=GUARD_S, is_complete=lambda text: text == b"more\n")


@pytest.mark.parametrize(
    ("text", "timeout_s", "complaint"),
    [
        ("echo all; kill -9 $$", GUARD_S, "status -9: all"),
        ("echo all; sleep 60", 0.5, "did not end within"),
    ],
)
def test_what_was_printed_before_an_end_by_force_does_not_count(
    tmp_path: Path, text: str, timeout_s: float, complaint: str
) -> None:
    program = _program(tmp_path / "x-smi", text)
    with pytest.raises(ReadError, match=complaint):
        output_of(program, timeout_s=timeout_s, is_complete=lambda _: True)


def test_one_that_does_not_end(tmp_path: Path) -> None:
    program = _program(tmp_path / "x-smi", "sleep 60")
    with pytest.raises(DeviceTimeout, match=r"x-smi did not end within 0\.05 s"):
        output_of(program, timeout_s=0.05)


def test_one_that_has_gone(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="x-smi: not found"):
        output_of(tmp_path / "x-smi", timeout_s=GUARD_S)


def test_one_that_may_not_be_run(tmp_path: Path) -> None:
    program = _program(tmp_path / "x-smi", "", mode=0o644)
    with pytest.raises(DevicePermission, match="may not be run"):
        output_of(program, timeout_s=GUARD_S)
