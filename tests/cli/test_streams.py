"""Where output goes when stdout is closed, full or no file, and how a terminal is judged."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch.cli.output import emit, write_file, write_stdout
from accelwatch.cli.startup.app import invoke
from accelwatch.schema.display import colour, utf8
from support.processes.installed_command import PATIENT, accelwatch

COMMAND = (sys.executable, "-m", "accelwatch")
WRITING = ("--version", f"--replay demo {' '.join(PATIENT)}", "--fields help")
# What click writes and not we.
CLICK = ("--help", "agent --help", "usage -h", "rules --help")


def test_a_device_file_is_written_into_and_stays(tmp_path: Path) -> None:
    emit("/dev/null", b"data")
    assert Path("/dev/null").is_char_device()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        emit(str(fifo), b"data")
        assert os.read(reader, 100) == b"data"
        assert fifo.is_fifo()
    finally:
        os.close(reader)


def test_a_directory_as_output_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AccelwatchError, match="Is a directory"):
        emit(str(tmp_path), b"data")


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    target.write_text("before")

    def refuse(self: Path, other: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(AccelwatchError, match="No space left"):
        write_file(str(target), b"after")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "before")]


def test_a_closed_stdout_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(AccelwatchError, match="it is closed"):
        write_stdout(b"data")


@pytest.mark.parametrize(
    ("words", "redirect", "message"),
    [
        *((words, ">&-", "closed") for words in WRITING),
        *((words, ">/dev/full", "No space left on device") for words in (*WRITING, *CLICK)),
    ],
)
def test_nowhere_to_write_is_one_line_and_exit_1(words: str, redirect: str, message: str) -> None:
    line = f"exec {' '.join(COMMAND)} {words} {redirect}"
    run = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "")
    (complaint,) = run.stderr.splitlines()
    assert complaint.startswith("accelwatch: cannot write to stdout: ")
    assert message in complaint


@pytest.mark.parametrize("redirect", [">&-", ">/dev/full"])
@pytest.mark.parametrize(
    ("words", "printed", "silent"),
    [
        ("--replay {healthy}", 0, 3),
        ("--replay demo", 2, 2),
        ("--replay demo --json", 2, 2),
        ("--replay demo --timeout 1ms", 3, 3),
    ],
)
def test_a_check_that_cannot_print_is_unknown_unless_it_is_critical(
    words: str, printed: int, silent: int, redirect: str, tmp_path: Path
) -> None:
    healthy = tmp_path / "machine.yaml"
    healthy.write_text("scenario: 1\ndevices:\n- {vendor: nvidia, model: m, count: 3}\n")
    words = words.format(healthy=healthy)
    if "--timeout" not in words:
        words += " --timeout 50s"
    line = f"exec {' '.join(COMMAND)} check {words} "
    assert (
        subprocess.run(["sh", "-c", line], capture_output=True, check=False).returncode == printed
    )
    run = subprocess.run(["sh", "-c", line + redirect], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (silent, "")
    (complaint,) = run.stderr.splitlines()
    assert "cannot write to stdout" in complaint or "not done within" in complaint


def test_an_error_of_a_command_is_none_of_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("click.Group.invoke", fail)
    with pytest.raises(OSError, match="Input/output error"):
        invoke(["topo"])


def test_an_interrupt_ends_a_watch_quietly_with_130() -> None:
    words = [*COMMAND, "--replay", "demo", "--json", "--watch", "250ms", *PATIENT]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().endswith(b"}\n")
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate()
    assert (process.returncode, complaints) == (130, b"")
    assert rest == b"" or rest.endswith(b"}\n")


@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        ({}, True),
        ({"LANG": "en_GB.UTF-8"}, True),
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "en_GB.UTF-8"}, True),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, True),
        ({"TERM": "dumb"}, False),
    ],
)
def test_a_plain_locale_gets_ascii_although_python_would_write_more(
    environ: dict[str, str], shown: bool
) -> None:
    assert utf8(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), environ) is shown
    assert not utf8(io.TextIOWrapper(io.BytesIO(), encoding="latin-1"), environ)
    assert not utf8(None, environ)


@pytest.mark.parametrize(
    ("choice", "environ", "terminal", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour_follows_the_option_then_the_environment(
    choice: str, environ: dict[str, str], terminal: bool, wanted: bool
) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    assert colour(choice, stream, environ) is wanted


def test_the_c_locale_gets_ascii_from_the_command() -> None:
    run = accelwatch("--replay", "demo", *PATIENT, environ={"LC_ALL": "C"})
    assert run.returncode == 0
    assert run.stdout.isascii()
