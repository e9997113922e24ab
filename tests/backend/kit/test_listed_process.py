"""Processes as tools list them: each once, with nothing made up of a memory that is not known."""

from pathlib import Path

import pytest

from accelwatch.backend.kit.listed_process import by_pid, listed, with_facts
from accelwatch.base.absence import Absence

GIB = float(1 << 30)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        (GIB, 2 * GIB, 3 << 30),
        (GIB, Absence.ERROR, None),
        (Absence.ERROR, GIB, None),
        (Absence.UNSUPPORTED, Absence.ERROR, None),
    ],
)
def test_rows_of_one_process(
    first: float | Absence, second: float | Absence, together: int | None
) -> None:
    rows = [listed("x:0", 7, "infer", first), listed("x:0", 7, "infer", second)]
    (process,) = by_pid(rows)
    assert process.gpu_memory_bytes == together
    assert ("gpu_memory_bytes" in process.absent) == (together is None)
    assert process.absent["utilization_ratio"] is Absence.UNSUPPORTED


def test_by_pid() -> None:
    rows = [listed("x:0", pid, None, GIB) for pid in (9, 7, 8)]
    assert [process.pid for process in by_pid(rows)] == [7, 8, 9]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sleep --token=x", "sleep"),
        ("/usr/bin/sleep 30", "sleep"),
        ("sleep", "sleep"),
        ("[Not Found]", None),
        (None, None),
    ],
)
def test_a_program_is_named_without_path_and_arguments(
    command: str | None, name: str | None
) -> None:
    assert listed("x:0", 7, command, GIB).command == name


def test_a_name_of_the_kernel_stays_whole() -> None:
    assert listed("x:0", 7, "Compositor Thr", GIB, is_comm=True).command == "Compositor Thr"


def names_of(root: Path, comm: str, command: str) -> tuple[str, str | None]:
    """Where a listed pid is, and its name, when the kernel calls it `comm`."""
    folder = root / "proc/7"
    folder.mkdir(parents=True)
    (folder / "comm").write_text(f"{comm}\n")
    (folder / "stat").write_text(f"7 ({comm}) S 1 7 7 0 -1 4194304{' 0' * 12} 100{' 0' * 30}\n")
    process = with_facts(root, listed("x:0", 7, command, GIB))
    return process.pid_namespace, process.command


@pytest.mark.parametrize(
    ("comm", "command"),
    [
        ("sleep", "sleep"),
        ("sleep", "/usr/bin/sleep"),
        ("sleep", "sleep 30"),
        ("a-long-name-of-p", "a-long-name-of-program"),
        ("ray worker", "ray worker"),
    ],
)
def test_a_process_here_is_known_by_its_name(tmp_path: Path, comm: str, command: str) -> None:
    assert names_of(tmp_path, comm[:15], command) == ("same", comm[:15])


def test_a_process_with_another_name_is_somebody_else(tmp_path: Path) -> None:
    assert names_of(tmp_path, "bash", "/usr/bin/sleep 30") == ("foreign", "sleep")


def test_a_process_without_a_name_is_not_known_to_be_here(tmp_path: Path) -> None:
    assert names_of(tmp_path, "bash", "[Not Found]") == ("foreign", None)
