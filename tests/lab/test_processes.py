"""What is begun in a folder is ended again, by whoever comes later, and nothing else is."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.errors import AccelwatchError
from accelwatch.system.kernel.proc import start_ticks
from accelwatch_lab.cluster.processes import (
    FOLDER_VARIABLE,
    Processes,
    ProcessRecord,
    lab_processes,
)
from accelwatch_lab.cluster.waiting import until
from support.processes.process_states import has_ended

SLEEP = ("sleep", "600")
DEAF = (
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
)


@contextlib.contextmanager
def foreigner(environ: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is not begun in the folder."""
    with subprocess.Popen(SLEEP, env=environ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_who_comes_later_knows_what_runs_and_ends_it(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    children = [processes.start(name, SLEEP) for name in ("one", "two")]
    later = Processes(tmp_path)
    assert [one.name for one in later.running()] == ["two", "one"]
    assert later.stop() == 2
    assert [child.wait() for child in children] == [-signal.SIGTERM] * 2
    assert later.records() == []


def test_who_is_deaf_or_stopped_is_killed(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    deaf = processes.start("deaf", (sys.executable, "-c", DEAF))
    until((tmp_path / "deaf.out").read_text, "it is deaf")
    os.kill(deaf.pid, signal.SIGSTOP)
    assert processes.stop(grace_s=0.1) == 1
    assert deaf.wait() == -signal.SIGKILL


@pytest.mark.parametrize("another", ["ticks", "boot_id"])
def test_a_pid_that_was_given_again_is_not_touched(tmp_path: Path, another: str) -> None:
    with foreigner(os.environ) as foreign:
        processes = Processes(tmp_path)
        processes.start("ours", SLEEP)
        (ours,) = processes.records()
        ticks = _ticks(foreign.pid)
        changed = {"ticks": ticks - 1} if another == "ticks" else {"boot_id": "another"}
        stale = ProcessRecord(
            name="ours",
            pid=foreign.pid,
            **{"ticks": ticks, "boot_id": ours.boot_id, **changed},  # type: ignore[arg-type]
        )
        (tmp_path / "pids/ours.json").write_bytes(msgspec.json.encode(stale))
        assert not processes.runs("ours")
        assert not processes.signal("ours", signal.SIGKILL)
        # What we began ourselves is still found, by its mark.
        assert processes.stop() == 1
        assert foreign.poll() is None


def _ticks(pid: int) -> int:
    ticks = start_ticks(Path("/"), pid)
    assert ticks is not None
    return ticks


def test_what_has_left_its_group_is_ended_by_its_mark(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    fork = "setsid sleep 600 & echo $! > grandchild; wait"
    processes.start("shell", ("sh", "-c", fork))
    until((tmp_path / "grandchild").exists, "it has forked")
    until(lambda: (tmp_path / "grandchild").read_text().strip(), "it says whom")
    pid = int((tmp_path / "grandchild").read_text())
    processes.stop()
    until(lambda: has_ended(pid), "the grandchild has ended")


def test_what_has_no_environment_for_an_instant_is_swept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /proc shows a process in the middle of exec: first without, then with its mark."""
    processes = Processes(tmp_path)
    child = processes.start("ours", SLEEP)
    monkeypatch.setattr(
        "accelwatch_lab.cluster.processes.lab_processes", _first_empty(lab_processes)
    )
    assert processes.sweep() == 1
    assert child.wait() == -signal.SIGKILL


def _first_empty(look: Callable[..., Iterator[int]]) -> Callable[..., Iterator[int]]:
    looks = itertools.count()
    return lambda folder, also: iter(()) if next(looks) == 0 else look(folder, also)


def test_what_is_started_shows_its_mark_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`begin` returns when /proc shows the environment, which is empty until exec is done."""
    looks = itertools.count()
    read_bytes = Path.read_bytes

    def empty_at_first(path: Path) -> bytes:
        in_exec = path.name == "environ" and next(looks) < 3
        return b"" if in_exec else read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", empty_at_first)
    processes = Processes(tmp_path)
    child = processes.start("ours", SLEEP)
    assert list(lab_processes(tmp_path, {})) == [child.pid]
    assert processes.stop() == 1


def test_another_folder_is_another_lab(tmp_path: Path) -> None:
    environ = {**os.environ, FOLDER_VARIABLE: f"{tmp_path}/other"}
    with foreigner(environ) as foreign:
        assert Processes(tmp_path).stop() == 0
        assert foreign.poll() is None


def test_only_what_has_the_other_variables_too_is_swept(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.start("n1", SLEEP, {"NODE": "n1"})
    processes.start("n2", SLEEP, {"NODE": "n2"})
    assert processes.sweep({"NODE": "n1"}) == 1
    assert [one.name for one in processes.running()] == ["n2"]
    processes.stop()


def test_a_file_that_is_damaged_hides_nothing(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.start("one", SLEEP)
    (tmp_path / "pids/one.json").write_text("{")
    assert processes.records() == []
    assert processes.stop() == 1


def test_what_cannot_be_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AccelwatchError, match=r"/nowhere/daemon cannot be run: No such file"):
        Processes(tmp_path).start("daemon", ["/nowhere/daemon"])
