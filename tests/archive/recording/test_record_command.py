"""`accelwatch record`: counts, durations, signals; what it says and what it leaves."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.recording import Recording
from accelwatch.base.clock import ManualClock
from accelwatch.base.errors import AccelwatchError, UsageError
from accelwatch.cli.collect_flags import MachineOptions
from accelwatch.cli.history.record import RecordOptions, collect_settings, open_recorder, record
from accelwatch.schema.snapshot import BackendState, BackendStatus, Snapshot
from archive.recording.shots import numbers, shot
from support.machines import composed as machines
from support.machines.nvml_stand_ins import NvmlScenario

_COMMAND = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a suite under nohup would have it ignored
from accelwatch.cli.startup.entry import dispatch
sys.exit(dispatch(["record", *sys.argv[1:]]))
"""


def start(*words: str, environ: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *words],
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def started(*words: str, environ: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """A recorder that does not outlive the test, whatever fails meanwhile."""
    with start(*words, environ=environ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    scenario = NvmlScenario.of(tmp_path / "node.scenario", "h100x8")
    scenario.write()
    return dict(scenario.environment())


def test_a_count_of_documents(tmp_path: Path, environ: dict[str, str]) -> None:
    path = tmp_path / "out" / "node.ndjson.zst"
    path.parent.mkdir()
    process = start(
        "-o", str(path), "--interval", "250ms", "-n", "3", "-b", "nvidia", environ=environ
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err.startswith("accelwatch: recorded 3 documents of ")
    assert err.count("\n") == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with Recording.open(path) as recording:
        assert [len(recording.at(index).devices) for index in range(3)] == [8, 8, 8]
        assert recording.notes == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(
    tmp_path: Path, environ: dict[str, str], number: signal.Signals
) -> None:
    path = tmp_path / "node.ndjson"
    part = tmp_path / "node.ndjson.part"
    words = ("-o", str(path), "--interval", "250ms", "-b", "nvidia")
    with started(*words, environ=environ) as process:
        while not (part.exists() and part.read_bytes().count(b"\n") >= 2):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err.startswith("accelwatch: recorded ")
    assert err.count("\n") == 1
    assert not part.exists()
    with Recording.open(path) as recording:
        assert len(recording) >= 2
        assert recording.notes == ()


def test_mistakes_are_one_line(tmp_path: Path, environ: dict[str, str]) -> None:
    path = str(tmp_path / "r.zst")
    for words in (
        ("-o", path, "--compress", "rar"),
        ("-o", path, "--max-size", "much"),
        ("-o", path, "--collect", "everything"),
        ("-o", str(tmp_path)),
        ("-o", "-"),
    ):
        process = start(*words, environ=environ)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2
        assert err.count("\n") == 1
    assert not list(tmp_path.glob("r.zst*"))


def test_standard_output_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not stdout, .*: accelwatch --json --watch; "):
        open_recorder(RecordOptions(output=Path("-")))
    assert list(tmp_path.iterdir()) == []


def exit_code_of(options: RecordOptions, clock: ManualClock, shots: Iterator[Snapshot]) -> int:
    def given() -> Generator[Snapshot, None, None]:
        yield from shots

    with open_recorder(options) as recorder:
        return record(options, recorder, given(), clock)


def ticking(clock: ManualClock, step_s: float, late_s: float = 0.0) -> Iterator[Snapshot]:
    for number in range(1000):
        yield shot(number)
        clock.advance(step_s + (late_s if number == 0 else 0.0))


@pytest.mark.parametrize("late_s", [0.0, 0.01, -0.01])
def test_a_duration_ends_at_its_last_tick(
    tmp_path: Path, late_s: float, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = ManualClock()
    options = RecordOptions(output=tmp_path / "r.zst", interval="2s", duration="10s")
    assert exit_code_of(options, clock, ticking(clock, 2.0, late_s)) == 0
    assert numbers(tmp_path / "r.zst") == [0, 1, 2, 3, 4, 5]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("accelwatch: recorded 6 documents of 10 s to ")


def test_a_signal_while_writing_waits_for_the_document(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Snapshot]:
        yield shot(0)
        yield shot(1)
        raise AssertionError("asked for more after the signal")

    options = RecordOptions(output=tmp_path / "r.zst")
    with open_recorder(options) as recorder:
        write = recorder.write

        def write_slowly(snapshot: Snapshot) -> None:
            if recorder.documents == 1:
                os.kill(os.getpid(), signal.SIGINT)
            write(snapshot)

        recorder.write = write_slowly  # type: ignore[method-assign]
        given = (one for one in interrupted())
        assert record(options, recorder, given, ManualClock()) == 0
    assert numbers(tmp_path / "r.zst") == [0, 1]


def test_nothing_recorded_is_reported_and_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = RecordOptions(output=tmp_path / "r.zst")
    assert exit_code_of(options, ManualClock(), iter(())) == 130
    assert capsys.readouterr().err == f"accelwatch: nothing was recorded to {options.output}\n"
    assert list(tmp_path.iterdir()) == []


HOST_ONLY = msgspec.structs.replace(machines.snapshot(), devices=(), node=machines.view(0))


def unread(state: BackendState, reason: str) -> Snapshot:
    """A document without a device or the host, of one backend."""
    status = BackendStatus(name="nvidia", vendor="", state=state, reason=reason, message="it died")
    return msgspec.structs.replace(machines.snapshot(), devices=(), node=None, backends=(status,))


@pytest.mark.parametrize(
    ("state", "reason", "code"),
    [
        (BackendState.FAILED, "exit_1", 1),
        (BackendState.UNAVAILABLE, "permission", 5),
        (BackendState.ABSENT, "absent", 0),
    ],
)
def test_a_recording_in_which_nothing_was_read_is_no_success(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    state: BackendState,
    reason: str,
    code: int,
) -> None:
    options = RecordOptions(output=tmp_path / "r.zst")
    assert exit_code_of(options, ManualClock(), iter([unread(state, reason)])) == code
    message = "neither a device nor the host could be read\naccelwatch: nvidia: it died\n"
    assert (message in capsys.readouterr().err) is (code != 0)


@pytest.mark.parametrize("read", [shot(0), HOST_ONLY])
def test_a_recording_in_which_something_was_read_is_one(tmp_path: Path, read: Snapshot) -> None:
    options = RecordOptions(output=tmp_path / "r.zst")
    failed = unread(BackendState.FAILED, "exit_1")
    assert exit_code_of(options, ManualClock(), iter([failed, read, failed])) == 0


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        exit_code_of(RecordOptions(output=tmp_path / "r.zst"), ManualClock(), iter([shot(0)]))
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("words", "wanted_s"), [({}, 2.0), ({"timeout": "7s"}, 7.0)])
def test_a_read_has_as_long_as_is_requested(words: dict[str, str], wanted_s: float) -> None:
    assert collect_settings(RecordOptions(**words)).timeout_s == wanted_s  # type: ignore[arg-type]


def test_the_collector_gets_the_options(tmp_path: Path) -> None:
    options = RecordOptions(
        output=tmp_path / "r",
        interval="5s",
        processes=False,
        argv=True,
        machine=MachineOptions(backend=["amd"], root=str(tmp_path)),
    )
    settings = collect_settings(options)
    assert (settings.interval_s, settings.processes, settings.argv) == (5.0, False, True)
    assert (settings.backends, settings.root) == (("amd",), str(tmp_path))
    everything = collect_settings(
        RecordOptions(output=tmp_path / "r", machine=MachineOptions(collect=["all"]))
    )
    assert everything.groups
    with pytest.raises(UsageError, match="no opt-in group"):
        collect_settings(
            RecordOptions(output=tmp_path / "r", machine=MachineOptions(collect=["aura"]))
        )


def test_a_full_disk_is_the_commands_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    options = RecordOptions(output=tmp_path / "r.zst")

    def shots() -> Iterator[Snapshot]:
        yield shot(0)
        monkeypatch.setattr(os, "pwrite", full)
        yield shot(1)

    with pytest.raises(AccelwatchError, match="No space left on device; the recording has ended"):
        exit_code_of(options, ManualClock(), shots())
    assert numbers(tmp_path / "r.zst") == [0]
