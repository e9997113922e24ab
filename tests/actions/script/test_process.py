"""A program that is run: what it gets, what is taken of it, and how it ends."""

import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from accelwatch_script.process.command import CALL, MOST_KEPT, Command, RunResult, Stop
from accelwatch_script.process.run import run
from support.actions.hooks import program
from support.processes.process_states import has_ended
from support.processes.waiting import wait_until

MOST_S = 60.0


def ran(
    path: Path,
    text: str,
    timeout_s: float = MOST_S,
    stop: Stop | None = None,
    kill_after_s: float = 0.3,
    **environ: str,
) -> RunResult:
    command = Command(
        argv=(program(path, text), "one argument", "$HOME"),
        environ={CALL: f"call-{path.name}", **environ},
        document=b'{"a": 1}',
        timeout_s=timeout_s,
        kill_after_s=kill_after_s,
    )
    mine = stop or Stop()
    try:
        return run(command, mine)
    finally:
        mine.close()


def alive(pid: int) -> bool:
    return not has_ended(pid)


def pids(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def test_its_surroundings(tmp_path: Path) -> None:
    text = 'cat; echo; echo "$1|$2|$#"; pwd; ls -a | wc -l; umask; ls /proc/self/fd | wc -l; env'
    ended = ran(tmp_path, text, REGION="west")
    document, words, folder, files, umask, descriptors, *rest = ended.output.decode().split("\n")
    assert document == '{"a": 1}'
    assert words == "one argument|$HOME|2"
    assert not Path(folder).exists()
    assert int(files) == 2
    assert umask == "0077"
    # The three of its own, and the one by which ls reads the folder.
    assert int(descriptors) == 4
    names = {line.partition("=")[0] for line in rest if "=" in line}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {CALL, "REGION"}
    assert ended.status == 0


def test_it_leads_a_group_and_a_session_of_its_own(tmp_path: Path) -> None:
    ended = ran(tmp_path, 'read -r stat < /proc/$$/stat; echo "$$ $stat"')
    own, pid, _, _, _, group, session = ended.output.split()[:7]
    assert own == pid == group == session


def test_a_system_without_descriptors_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS, where a pipe cannot be made larger either."""
    monkeypatch.delattr(os, "pidfd_open")
    monkeypatch.delattr(fcntl, "F_SETPIPE_SZ")
    ended = ran(tmp_path, "echo done; exit 3")
    assert (ended.status, ended.output) == (3, b"done\n")


def test_one_that_is_not_there(tmp_path: Path) -> None:
    command = Command(
        argv=(str(tmp_path / "none"),), environ={CALL: "x"}, document=b"", timeout_s=1.0
    )
    stop = Stop()
    assert "cannot be started: No such file" in run(command, stop).failure
    stop.close()


@pytest.mark.parametrize("text", ["not a program", "#!/no/such/interpreter\n"])
def test_one_that_the_kernel_does_not_take(tmp_path: Path, text: str) -> None:
    file = tmp_path / "hook"
    file.write_text(text)
    file.chmod(0o755)
    command = Command(argv=(str(file),), environ={CALL: "x"}, document=b"", timeout_s=1.0)
    stop = Stop()
    assert "cannot be started" in run(command, stop).failure
    stop.close()


def test_a_gigabyte_is_read_and_its_end_kept(tmp_path: Path) -> None:
    ended = ran(tmp_path, "head -c 1000000000 /dev/zero; echo; echo the end")
    assert ended.output.endswith(b"\nthe end\n")
    assert len(ended.output) == MOST_KEPT
    assert not ended.is_complete


def test_a_gigabyte_of_errors(tmp_path: Path) -> None:
    ended = ran(tmp_path, "head -c 100000000 /dev/zero >&2; echo ok")
    assert (ended.output, ended.is_complete) == (b"ok\n", True)
    assert len(ended.errors) == MOST_KEPT


def test_a_large_document_that_nobody_reads(tmp_path: Path) -> None:
    command = Command(
        argv=(program(tmp_path, "exit 3"),),
        environ={CALL: "x"},
        document=b"x" * (256 << 10),
        timeout_s=MOST_S,
    )
    stop = Stop()
    assert run(command, stop).status == 3
    stop.close()


def test_a_child_that_holds_the_pipe_is_not_waited_for(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    ended = ran(tmp_path, f"sleep 3600 & echo $! > {note}; echo done")
    assert (ended.status, ended.output) == (0, b"done\n")
    (child,) = pids(note)
    wait_until(lambda: not alive(child))


ESCAPES = {
    "a session of its own": "setsid sh -c '{own}' &",
    "two forks": "( ( setsid sh -c '{own}' & ) & )",
    "no environment": "( env -i setsid sh -c '{own}' & )",
    "stopped": "( setsid sh -c '{stopped}' & )",
    "deaf": "( env -i setsid sh -c 'trap \"\" TERM HUP INT; {own}' & )",
}


def _escaping(how: str, note: Path) -> str:
    own = f"echo $$ >> {note}; exec sleep 3600"
    halted = f"echo $$ >> {note}; kill -STOP $$; sleep 3600"
    return ESCAPES[how].format(own=own, stopped=halted)


@pytest.mark.parametrize("how", ESCAPES)
def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path, how: str) -> None:
    note = tmp_path / "pids"
    ended = ran(tmp_path, f"{_escaping(how, note)}\nuntil [ -s {note} ]; do :; done; echo done")
    assert (ended.status, ended.output) == (0, b"done\n")
    (child,) = pids(note)
    assert not alive(child)


@pytest.mark.parametrize("how", ESCAPES)
def test_so_does_what_one_has_started_that_is_stopped(tmp_path: Path, how: str) -> None:
    note = tmp_path / "pids"
    text = f"trap '' TERM; {_escaping(how, note)}\nwhile :; do sleep 0.05; done"
    ended = stopped(tmp_path, text, note, 1, 0.1)
    assert (ended.stopped, ended.status) == (True, None)
    (child,) = pids(note)
    assert not alive(child)


def test_generations_of_forks_end_too(tmp_path: Path) -> None:
    """Each of them forks and goes away, so that nobody who was seen is still there."""
    note = tmp_path / "pids"
    loop = f"import os\nwhile os.fork() == 0: os.setsid(); print(os.getpid(), file=open('{note}', 'a'))"
    started = f'(exec {sys.executable} -S -c "{loop}" &) ; until [ -s {note} ]; do :; done'
    assert ran(tmp_path, started).status == 0
    known = pids(note)
    assert known
    assert not any(map(alive, known))
    assert pids(note) == known


def test_without_its_keeper_a_program_has_ended(tmp_path: Path) -> None:
    """Something else has killed it, as the kernel does where memory is short."""
    note = tmp_path / "pids"
    ended = ran(tmp_path, f"echo $$ > {note}; kill -KILL $PPID; exec sleep 3600")
    assert ended.status == -signal.SIGKILL
    (program_itself,) = pids(note)
    wait_until(lambda: not alive(program_itself))


KILLS = {
    "the inner one": "kill -KILL $PPID",
    "the outer one": 'kill -KILL "$outer"; while :; do :; done',
}


@pytest.mark.parametrize("kill", KILLS)
def test_what_escapes_and_kills_one_half_of_the_keeper_ends_too(tmp_path: Path, kill: str) -> None:
    note = tmp_path / "pids"
    text = (
        "read -r _ _ _ outer _ < /proc/$PPID/stat\n"
        f"env -i setsid /bin/sh -c 'echo $$ > {note}; exec /bin/sleep 3600' &\n"
        f"until [ -s {note} ]; do :; done\n{KILLS[kill]}"
    )
    assert ran(tmp_path, text).status == -signal.SIGKILL
    (escaped,) = pids(note)
    wait_until(lambda: not alive(escaped))


HALTS = {
    "the inner one": "kill -STOP $PPID",
    "the outer one": "read -r _ _ _ outer _ < /proc/$PPID/stat; kill -STOP $outer",
    "both": "read -r _ _ _ outer _ < /proc/$PPID/stat; kill -STOP $outer $PPID",
}


@pytest.mark.parametrize("halt", HALTS)
def test_a_program_that_stops_its_keeper_ends_when_it_ends(tmp_path: Path, halt: str) -> None:
    ended = ran(tmp_path, f"{HALTS[halt]}; echo done; exit 3")
    assert (ended.timed_out, ended.status, ended.output) == (False, 3, b"done\n")


def _interpreter_that_needs_a_variable(folder: Path) -> Path:
    file = folder / "python"
    file.write_text(f'#!/bin/sh\n[ "$NEEDED" = yes ] || exit 99\nexec {sys.executable} "$@"\n')
    file.chmod(0o755)
    return file


def test_the_keeper_runs_in_our_environment_and_the_program_in_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interpreter may need LD_LIBRARY_PATH to start."""
    monkeypatch.setattr(sys, "executable", str(_interpreter_that_needs_a_variable(tmp_path)))
    monkeypatch.setenv("NEEDED", "yes")
    ended = ran(tmp_path, 'echo "$NEEDED|$REGION"; exit 3', REGION="w=e\nst \u00e9")
    assert (ended.status, ended.output) == (3, "|w=e\nst \u00e9\n".encode())


def test_no_secret_is_an_argument_of_the_keeper(tmp_path: Path) -> None:
    text = "read -r _ _ _ outer _ < /proc/$PPID/stat; cat /proc/$PPID/cmdline /proc/$outer/cmdline"
    ended = ran(tmp_path, text, TOKEN="hunter2")
    assert b"subreaper.py" in ended.output
    assert b"hunter2" not in ended.output


@pytest.mark.parametrize("variable", [("A=B", "c"), ("A", "b\0C=d"), ("A\0", "b"), ("", "b")])
def test_a_variable_that_cannot_be_set(tmp_path: Path, variable: tuple[str, str]) -> None:
    command = Command(
        argv=(program(tmp_path, "exit 0"),),
        environ=dict([(CALL, "x"), variable]),
        document=b"",
        timeout_s=MOST_S,
    )
    stop = Stop()
    assert "cannot be started: the variable" in run(command, stop).failure
    stop.close()


def test_a_system_without_subreapers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    note = tmp_path / "pids"
    ended = ran(tmp_path, f"sleep 3600 & echo $! > {note}; echo done")
    assert (ended.status, ended.output) == (0, b"done\n")
    wait_until(lambda: not any(map(alive, pids(note))))


def stopped(path: Path, text: str, note: Path, count: int, kill_after_s: float) -> RunResult:
    """How a program ends that is stopped as soon as so many numbers stand in a file."""
    stop = Stop()

    def stopping() -> None:
        wait_until(lambda: len(pids(note)) >= count)
        stop.set()

    thread = threading.Thread(target=stopping)
    thread.start()
    ended = ran(path, text, stop=stop, kill_after_s=kill_after_s)
    thread.join()
    stop.set()
    return ended


def test_one_that_takes_too_long(tmp_path: Path) -> None:
    ended = ran(tmp_path, "sleep 3600", 0.05)
    assert (ended.timed_out, ended.stopped, ended.status) == (True, False, None)


def test_one_that_is_stopped_is_requested_to_exit(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    text = f"trap 'echo went; exit 0' TERM; echo $$ > {note}; while :; do sleep 0.01; done"
    ended = stopped(tmp_path, text, note, 1, MOST_S)
    assert (ended.timed_out, ended.stopped, ended.status) == (False, True, None)
    assert ended.output == b"went\n"


def test_one_that_is_deaf_is_killed_with_all_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    text = (
        f"trap '' TERM; echo $$ >> {note}; sleep 3600 & echo $! >> {note}; "
        # Forked twice into a session of its own, with another parent.
        f"( setsid sh -c 'trap \"\" TERM; echo $$ >> {note}; sleep 3600' & ) ; "
        "echo began; while :; do sleep 0.05; done"
    )
    ended = stopped(tmp_path, text, note, 3, 0.3)
    assert (ended.stopped, ended.status) == (True, None)
    assert len(pids(note)) == 3
    wait_until(lambda: not any(map(alive, pids(note))))


def test_others_with_another_call_are_left_alone(tmp_path: Path) -> None:
    import subprocess

    other = subprocess.Popen(["sleep", "3600"], env={CALL: f"call-{tmp_path.name}-2"})
    ended = ran(tmp_path, "sleep 3600", 0.05)
    assert ended.timed_out
    assert other.poll() is None
    other.kill()
    other.wait()


def test_how_a_signal_is_reported(tmp_path: Path) -> None:
    assert ran(tmp_path, "kill -SEGV $$").status == -signal.SIGSEGV


def test_one_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    assert ran(tmp_path, "exec >&- 2>&-; sleep 0.1; exit 7").status == 7
