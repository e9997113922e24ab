"""Vendor commands that print too much, too little, never end, or leave children behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from accelwatch.system.processes.command import CommandResult, run
from support.processes.own_children import children
from support.processes.process_states import has_ended
from support.processes.waiting import GUARD_S, wait_until


def program(tmp_path: Path, body: str) -> str:
    """An executable script in this Python."""
    path = tmp_path / "tool"
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_what_is_given_is_read_to_its_end_however_much_the_command_says(tmp_path: Path) -> None:
    body = "sys.stdout.write('x' * 300_000); print(len(sys.stdin.read()))"
    found = run([program(tmp_path, body)], timeout_s=GUARD_S, stdin_data=b"line\n" * 40_000)
    assert (found.status, found.output[-7:]) == (0, b"200000\n")


def test_a_command_is_broken_off_before_its_deadline(tmp_path: Path) -> None:
    started = tmp_path / "began"
    body = f"open({str(started)!r}, 'w'); print('one', flush=True); time.sleep(600)"
    found = run([program(tmp_path, body)], timeout_s=GUARD_S, break_off=started.exists)
    assert (found.failure, found.status) == ("broken off", None)


def test_what_a_command_printed_before_it_was_broken_off_is_read(tmp_path: Path) -> None:
    """Who breaks it off has to know what it had done by then."""
    printed = tmp_path / "printed"
    body = f"print('one', flush=True); open({str(printed)!r}, 'w'); time.sleep(600)"

    def has_printed() -> bool:
        while not printed.exists():
            time.sleep(0.01)
        return True

    found = run([program(tmp_path, body)], timeout_s=GUARD_S, break_off=has_printed)
    assert (found.failure, found.output) == ("broken off", b"one\n")


def test_output_status_and_environment(tmp_path: Path) -> None:
    body = (
        "print(os.environ['LC_ALL'], os.environ['X'], sys.stdin.read() == '', *sys.argv[1:])\n"
        "print('a complaint', file=sys.stderr)\n"
        "sys.exit(3)"
    )
    found = run([program(tmp_path, body), "$HOME; x"], timeout_s=GUARD_S, environ={"X": "1"})
    assert found.output == b"C 1 True $HOME; x\n"
    assert found.errors == b"a complaint\n"
    assert (found.status, found.failure, found.ok) == (3, "", False)


def test_ten_megabytes_of_garbage_are_cut_off_and_the_command_is_ended(tmp_path: Path) -> None:
    body = (
        "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
        "while True: sys.stdout.buffer.write(b'\\xff\\0' * (10 << 19))"
    )
    note = tmp_path / "pid"
    found = run([program(tmp_path, body), str(note)], timeout_s=GUARD_S, max_bytes=1 << 20)
    assert (found.failure, found.status, found.ok) == ("too much output", None, False)
    assert len(found.output) == 1 << 20
    wait_until(lambda: has_ended(int(note.read_text())))


def test_complaints_count_towards_the_limit(tmp_path: Path) -> None:
    body = "while True: sys.stderr.write('x' * 65536)"
    found = run([program(tmp_path, body)], timeout_s=GUARD_S, max_bytes=1000)
    assert (found.failure, len(found.errors)) == ("too much output", 1000)


def test_a_partial_line_is_given_as_it_came(tmp_path: Path) -> None:
    body = "os.write(1, b'Device 0: Tempera'); os.kill(os.getpid(), 9)"
    found = run([program(tmp_path, body)], timeout_s=GUARD_S)
    assert (found.output, found.status, found.ok) == (b"Device 0: Tempera", -9, False)


def test_a_command_that_never_ends_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    body = (
        "import signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = os.fork()\n"
        "if child: open(sys.argv[1], 'w').write(f'{os.getpid()} {child}'); print('half', flush=True)\n"
        "while True: time.sleep(60)"
    )
    found = run([program(tmp_path, body), str(note)], timeout_s=0.5)
    assert (found.failure, found.status) == ("timeout", None)
    if note.exists():
        # Killed is not yet gone: a busy machine takes a moment to end a process.
        wait_until(lambda: all(has_ended(int(pid)) for pid in note.read_text().split()))


def test_a_command_that_the_kernel_does_not_let_go_is_reaped_by_a_later_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed: list[int] = []
    with monkeypatch.context() as stuck:
        stuck.setattr(os, "killpg", lambda group, _number: killed.append(group))
        assert run(["sleep", "600"], timeout_s=0.1).failure == "timeout"
    (pid,) = killed
    assert str(pid) in children()
    os.killpg(pid, signal.SIGKILL)

    def is_reaped() -> bool:
        run(["true"], timeout_s=GUARD_S)
        return str(pid) not in children()

    wait_until(is_reaped)


def test_a_command_that_closes_its_output_and_stays_is_a_timeout(tmp_path: Path) -> None:
    body = "os.close(1); os.close(2)\nwhile True: time.sleep(60)"
    found = run([program(tmp_path, body)], timeout_s=0.3)
    assert (found.failure, found.status) == ("timeout", None)


def test_what_cannot_be_started_is_reported(tmp_path: Path) -> None:
    assert run([str(tmp_path / "none")], timeout_s=GUARD_S) == CommandResult(failure="not found")
    assert run(["a\0b"], timeout_s=GUARD_S) == CommandResult(failure="not found")
    plain = tmp_path / "plain"
    plain.write_text("no program")
    assert run([str(plain)], timeout_s=GUARD_S) == CommandResult(failure="permission")


DESCRIPTORS = """
import os, sys
from accelwatch.system.processes.command import run
run([sys.argv[1]], timeout_s=60.0)
before = os.listdir("/proc/self/fd")
for limit in (10, 1000):
    run([sys.argv[1]], timeout_s=60.0, max_bytes=limit)
assert os.listdir("/proc/self/fd") == before
"""


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """In a process of its own: in this one other tests' threads open and close some."""
    tool = program(tmp_path, "print('x' * 100)")
    subprocess.run([sys.executable, "-c", DESCRIPTORS, tool], check=True, timeout=GUARD_S)
