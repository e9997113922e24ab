"""What a host's shell does with the script, in every shell of this machine; no ssh is needed for it."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from accelwatch.backend.kit.remote import CommandOutput, RemoteCommand
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.ssh.answers import (
    end_of_probe,
    end_of_round,
    is_due,
    outputs_of,
    parse_probe,
)
from accelwatch.fleet.ssh.script import PROBE, ROUND, also, script

MARK = "0123456789abcdef"
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


def run(
    folder: Path, shell: str, *commands: RemoteCommand, words: bytes = PROBE + ROUND
) -> tuple[bytes, bytes]:
    """What the shell answers to `look` and to a round, of commands in a folder."""
    argv = {"bash": ["bash", "--posix"], "busybox": ["busybox", "sh"]}.get(shell, [shell])
    by_name = {f"test.{command.key}": command for command in commands}
    stdout = subprocess.run(
        argv,
        input=script(by_name, MARK) + words,
        stdout=subprocess.PIPE,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        timeout=120,
        check=True,
    ).stdout
    before, _, after = stdout.partition(end_of_probe(MARK))
    assert after.endswith(end_of_round(MARK))
    return before, after


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def run_alone(
    folder: Path, text: str, shell: str = SHELLS[0], timeout_s: float = 60.0
) -> CommandOutput:
    """The output of a program with this text."""
    program(folder, "vendor-smi", text)
    command = RemoteCommand(key="q", programs=("vendor-smi",), timeout_s=timeout_s)
    _, stdout = run(folder, shell, command)
    (output,) = outputs_of(stdout, MARK).values()
    return output


@pytest.mark.parametrize("shell", SHELLS)
def test_output_errors_and_status_come_back_as_they_were(tmp_path: Path, shell: str) -> None:
    stdout = run_alone(tmp_path, r"printf 'a\n\0b\377\n\n'; echo oh dear >&2; exit 9", shell)
    assert stdout.output == b"a\n\0b\xff\n\n"
    assert (stdout.errors, stdout.status) == ("oh dear", 9)
    assert stdout.program == str(tmp_path / "vendor-smi")


@pytest.mark.parametrize("shell", SHELLS)
def test_output_without_an_end_of_line_gets_none(tmp_path: Path, shell: str) -> None:
    stdout = run_alone(tmp_path, "printf '{}'", shell)
    assert (stdout.output, stdout.errors, stdout.status) == (b"{}", "", 0)


def test_the_arguments_are_the_ones_of_the_table(tmp_path: Path) -> None:
    program(tmp_path, "vendor-smi", "printf '%s|' \"$@\"")
    words = ("-q", "two words", "$HOME", "it's")
    _, stdout = run(
        tmp_path, SHELLS[0], RemoteCommand(key="q", programs=("vendor-smi",), arguments=words)
    )
    assert outputs_of(stdout, MARK)["test.q"].output == b"-q|two words|$HOME|it's|"


def test_the_first_program_that_is_there_is_run_also_in_folders_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    program(own, "old-smi", "echo old")
    command = RemoteCommand(key="q", programs=("new-smi", "old-smi"), folders=(str(own),))
    seen, stdout = run(tmp_path, SHELLS[0], command)
    assert parse_probe(seen, MARK).programs == (str(own / "old-smi"),)
    assert outputs_of(stdout, MARK)["test.q"].output == b"old\n"


def test_what_is_not_there_is_not_queried(tmp_path: Path) -> None:
    seen, stdout = run(tmp_path, SHELLS[0], RemoteCommand(key="q", programs=("no-such-smi",)))
    assert parse_probe(seen, MARK).programs == ()
    assert outputs_of(stdout, MARK) == {}


def due(body: bytes, commands: dict[str, RemoteCommand]) -> list[str]:
    return [name for name, command in commands.items() if is_due(body, MARK, name, command)]


def test_what_is_run_only_when_another_fails_is_run_for_each_entry_of_a_folder(
    tmp_path: Path,
) -> None:
    program(tmp_path, "vendor-smi", 'echo "$*"; exit $STATUS')
    entries = tmp_path / "gpus"
    entries.mkdir()
    for name in ("0000:1b:00.0", "0000:2b:00.0"):
        (entries / name).touch()
    query = RemoteCommand(key="q", programs=("vendor-smi",))
    each = RemoteCommand(
        key="each",
        programs=("vendor-smi",),
        arguments=("-i",),
        if_fails="q",
        each_in=str(entries),
    )
    commands = {"test.q": query, "test.each": each}
    words = PROBE + b"STATUS=3; export STATUS\n" + ROUND + also(commands, "test.each")
    _, stdout = run(tmp_path, SHELLS[0], query, each, words=words)
    first, second, _ = stdout.split(end_of_round(MARK))
    first += end_of_round(MARK)
    assert set(outputs_of(first, MARK)) == {"test.q"}
    assert due(first, commands) == ["test.each"]
    outputs = outputs_of(second, MARK)
    assert {name: stdout.output for name, stdout in outputs.items()} == {
        "test.each/0000:1b:00.0": b"-i 0000:1b:00.0\n",
        "test.each/0000:2b:00.0": b"-i 0000:2b:00.0\n",
    }
    _, well = run(
        tmp_path, SHELLS[0], query, each, words=PROBE + b"STATUS=0; export STATUS\n" + ROUND
    )
    assert due(well, commands) == []
    assert due(first, {"test.q": query}) == []


def test_a_command_may_be_for_the_failure_of_one_that_was_for_a_failure(tmp_path: Path) -> None:
    program(tmp_path, "vendor-smi", "exit 3")
    first = RemoteCommand(key="q", programs=("vendor-smi",))
    second = msgspec.structs.replace(first, key="r", if_fails="q")
    third = msgspec.structs.replace(first, key="s", if_fails="r")
    commands = {"test.q": first, "test.r": second, "test.s": third}
    words = PROBE + ROUND + also(commands, "test.r")
    _, stdout = run(tmp_path, SHELLS[0], first, second, third, words=words)
    rounds = stdout.split(end_of_round(MARK))
    assert due(rounds[0] + end_of_round(MARK), commands) == ["test.r"]
    assert due(stdout, commands) == ["test.r", "test.s"]


def test_a_folder_without_entries_is_read_for_none(tmp_path: Path) -> None:
    program(tmp_path, "vendor-smi", "echo fine")
    query = RemoteCommand(key="q", programs=("vendor-smi",))
    each = RemoteCommand(
        key="each", programs=("vendor-smi",), if_fails="q", each_in=str(tmp_path / "no")
    )
    words = PROBE + also({"test.q": query, "test.each": each}, "test.each")
    _, stdout = run(tmp_path, SHELLS[0], query, each, words=words)
    assert outputs_of(stdout, MARK) == {}


def test_commands_read_nothing_of_what_is_meant_for_the_shell(tmp_path: Path) -> None:
    program(tmp_path, "vendor-smi", "cat; echo read")
    command = RemoteCommand(key="q", programs=("vendor-smi",))
    _, stdout = run(tmp_path, SHELLS[0], command, words=PROBE + ROUND + b"round\n")
    assert stdout.count(end_of_round(MARK)) == 2
    assert outputs_of(stdout, MARK)["test.q"].output == b"read\n"


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    # Long enough to start on a machine that stands still for seconds.
    stdout = run_alone(tmp_path, "echo begun; exec sleep 60", timeout_s=8.0)
    assert stdout.late
    assert stdout.output == b"begun\n"


def test_errors_without_end_are_cut(tmp_path: Path) -> None:
    stdout = run_alone(tmp_path, "yes | head -c 100000 >&2; echo fine")
    assert stdout.output.endswith(b"fine\n")
    assert len(stdout.errors) <= 2000


def test_output_that_looks_like_ours_is_output(tmp_path: Path) -> None:
    forged = "\n".join(("", f"{MARK[::-1]} status 0", f"{MARK[::-1]} done", "x begin test.q y", ""))
    stdout = run_alone(tmp_path, f"cat <<'END'\n{forged}\nEND")
    assert stdout.output.decode() == f"{forged}\n"


def test_what_breaks_off_is_reported(tmp_path: Path) -> None:
    program(tmp_path, "vendor-smi", "echo fine")
    _, stdout = run(tmp_path, SHELLS[0], RemoteCommand(key="q", programs=("vendor-smi",)))
    for end in range(len(stdout)):
        with contextlib.suppress(TargetFault):
            outputs = outputs_of(stdout[:end], MARK)
            assert not outputs or outputs["test.q"].output == b"fine\n"
    with pytest.raises(TargetFault, match="breaks off") as broken:
        outputs_of(stdout[: stdout.index(b"fine")], MARK)
    assert broken.value.reason is Reason.GARBAGE


def test_greetings_before_the_answer_are_left_out_and_another_shell_is_reported() -> None:
    body = f"welcome\nprogram /bin/evil\n\n{MARK} look\nprogram /bin/x\npci 0x10de 0x030200\n"
    seen = parse_probe((body + f"{MARK} ready\n").encode(), MARK)
    assert (seen.programs, seen.pci_vendors) == (("/bin/x",), frozenset({"10de"}))
    with pytest.raises(TargetFault, match="unexpected answer"):
        parse_probe(b"restricted shell\n", MARK)


_MAP = """NPU ID  Chip ID  Chip Logic ID  Chip Name
4       0        0              310P3
4       1        1              310P3
4       2        -              Mcu
-       7        7              310P3
5; id   0        2              310P3
"""


BOARD = RemoteCommand(
    key="board",
    programs=("vendor-smi",),
    arguments=("info", "-t", "board"),
    rows_of=("info", "-m"),
    row_options=("-i", "-c"),
)


def rounds_of_boards(folder: Path, shell: str, number: int) -> list[dict[str, CommandOutput]]:
    """What is printed for the rows of a listing in each of so many rounds, `$round` being its number."""
    words = "".join(f"round={at}\nexport round\nround\n" for at in range(1, number + 1)).encode()
    _, stdout = run(folder, shell, BOARD, words=PROBE + words)
    bodies = stdout.split(end_of_round(MARK))[:-1]
    return [outputs_of(body + end_of_round(MARK), MARK) for body in bodies]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_run_for_each_row_of_a_listing_is_run_in_the_first_round(
    tmp_path: Path, shell: str
) -> None:
    (tmp_path / "map").write_text(_MAP)
    program(
        tmp_path, "vendor-smi", f'[ "$2" = -m ] && exec cat {tmp_path}/map; echo "$*"; echo x >&2'
    )
    first, *later = rounds_of_boards(tmp_path, shell, 4)
    assert {
        name: (stdout.output, stdout.errors, stdout.status) for name, stdout in first.items()
    } == {
        f"test.board/4-{chip}": (f"info -t board -i 4 -c {chip}\n".encode(), "x", 0)
        for chip in range(3)
    }
    assert later == [{}, {}, {}]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "fault",
    [
        '[ "$2" = -m ] && exit 1',
        '[ "$2$7" = -t0 ] && exit 3',
        '[ "$2$7" = -t1 ] && exit 3',
        '[ "$2$7" = -t2 ] && exit 3',
        '[ "$2$7" = -t1 ] && exit 124',
        '[ "$2$7" = -t1 ] && kill -9 $$',
    ],
    ids=["listing", "first row", "middle row", "last row", "late", "killed"],
)
def test_rows_of_which_some_failed_are_run_again_until_all_have_reported(
    tmp_path: Path, shell: str, fault: str
) -> None:
    (tmp_path / "map").write_text(_MAP)
    program(
        tmp_path,
        "vendor-smi",
        f'[ "$round" = 1 ] && {{ {fault}; }}\n[ "$2" = -m ] && exec cat {tmp_path}/map\necho "$*"',
    )
    first, second, *later = rounds_of_boards(tmp_path, shell, 4)
    assert [stdout.status for stdout in first.values()] != [0, 0, 0]
    assert [stdout.status for stdout in second.values()] == [0, 0, 0]
    assert later == [{}, {}]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_row_that_always_fails_is_run_ever_less_often(tmp_path: Path, shell: str) -> None:
    (tmp_path / "map").write_text(_MAP)
    program(
        tmp_path,
        "vendor-smi",
        f'[ "$2" = -m ] && exec cat {tmp_path}/map\n[ "$7" != 2 ] || exit 3',
    )
    rounds = rounds_of_boards(tmp_path, shell, 17)
    requested = [at for at, outputs in enumerate(rounds, 1) if outputs]
    assert requested == [1, 2, 4, 8, 16]
    assert all(list(rounds[at - 1]) == [f"test.board/4-{n}" for n in range(3)] for at in requested)


def test_a_listing_without_end_or_of_nothing_ends(tmp_path: Path) -> None:
    board = RemoteCommand(
        key="b", programs=("vendor-smi",), rows_of=("list",), row_options=("-i",), timeout_s=60.0
    )
    program(tmp_path, "vendor-smi", '[ "$1" = list ] && exec yes 7; echo "$*"')
    _, stdout = run(tmp_path, SHELLS[0], board)
    assert list(outputs_of(stdout, MARK)) == ["test.b/7"]
    program(tmp_path, "vendor-smi", "exit 1")
    _, stdout = run(tmp_path, SHELLS[0], board)
    assert outputs_of(stdout, MARK) == {}
