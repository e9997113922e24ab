"""Judge the mutants of a module or package: `verdict.py src/accelwatch/node/store tests/node/store/...`.

mutmut writes the mutants and keeps the verdicts (`mutmut results`, `mutmut show NAME`). Its own `run`
starts pytest anew for each mutant: half a second or more of imports and collection. Here pytest collects
once, and a fork of that process tries each mutant on the tests that reach its function, fastest first,
be it in a process that they start (`reached.py`). A function that is called while modules are imported
is tried by a pytest of its own after that. What nothing reaches has no tests and survives.

JOBS      mutants tried at once (default 2)
SAMPLE    at most so many of each file, drawn with a fixed seed, and those that were tried before
ALL=1     again those that have been killed already
"""

import gc
import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from itertools import zip_longest
from multiprocessing import Pipe, set_start_method
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from mutmut import __main__ as mutmut
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, walk_source_files

from mutants import reached

_KILLED, _SURVIVED, _UNREACHED, _TIMED_OUT = 1, 0, 33, 36
_SEED = 7
_MODULES = Path(__file__).with_name("modules.txt")
_ROOTS = ("src", "actions", "alerts", "backends", "exporters")
_OPTIONS = [
    *("-o", "addopts=--strict-markers --import-mode=importlib --rootdir=."),
    *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:anyio"),
]

# Indices of the tests that reach a function, fastest first, by mutmut's name of the function;
# `reached.IMPORTING` is the last where it is called while modules are imported.
Reached = dict[str, list[int]]


class Deadline:
    """When a trial is over time: set by the process that tries, for each of its tests."""

    _SECONDS = struct.Struct("=d")

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, self._SECONDS.size)
        self.extend(10)

    def extend(self, seconds: float) -> None:
        self._SECONDS.pack_into(self._shared, 0, time.monotonic() + seconds)

    def is_over(self) -> bool:
        (until,) = self._SECONDS.unpack_from(self._shared)
        return time.monotonic() > float(until)


class Judge:
    """A pytest plug-in that tries mutants instead of running the tests once."""

    def __init__(self, files: list[SourceFileMutationData], folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._recorder = reached.start(folder)
        self._failed = False
        self._left_out: list[str] = []
        self._seconds: dict[int, float] = {}
        # The longest set-up of a test: of what several share, which in a trial its first test pays.
        self._set_up_s = 0.0
        self._running: dict[int, tuple[SourceFileMutationData, str, Deadline]] = {}

    def pytest_sessionstart(self) -> None:
        """Let generated tests try the same few examples on each mutant."""
        from hypothesis import settings  # not before pytest has looked at its plug-ins

        few = settings(max_examples=25, derandomize=True, database=None, deadline=None)
        settings.register_profile("mutants", few)
        settings.load_profile("mutants")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            print(f"cannot be collected: {report.nodeid}\n{report.longreprtext}", flush=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed
        if report.when == "setup":
            self._set_up_s = max(self._set_up_s, report.duration)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            pytest.exit("a mutant that no test reached would count as one that survived", 1)
        by_function = self._reached(session.items)
        chosen = list(self._chosen())
        gc.collect()
        gc.freeze()  # what the forks share is not copied by their collections
        print(f"{len(session.items)} tests, {len(chosen)} mutants", flush=True)
        for file, name in chosen:
            while len(self._running) >= _jobs():
                self._await_one()
            if tests := by_function.get(_function(file, name)):
                self._start(file, name, session, tests)
            else:
                self._note(file, name, _UNREACHED)
        while self._running:
            self._await_one()
        return True

    def _reached(self, items: list[pytest.Item]) -> Reached:
        """Which tests reach which function, told by one run of all in a fork.

        A test that fails there, because it minds mutmut itself, judges nothing; it is named.
        """
        here, there = Pipe(duplex=False)
        if (pid := os.fork()) == 0:
            _silence()
            self._trace(items, there)
            os._exit(0)
        there.close()
        set_mutant_under_test("")
        reached.end()
        try:
            failed, self._seconds, self._set_up_s = here.recv()
        except EOFError:
            pytest.exit("the run without a mutant ended early", 1)
        finally:
            os.waitpid(pid, 0)
        self._left_out = [items[index].nodeid for index in failed]
        for test in self._left_out:
            print(f"left out, fails without a mutant: {test}", flush=True)
        functions = reached.read(self._folder)
        by_function: Reached = defaultdict(list)
        for index in [*sorted(self._seconds, key=self._seconds.__getitem__), reached.IMPORTING]:
            for function in functions.get(index, ()):
                by_function[function].append(index)
        return by_function

    def _trace(self, items: list[pytest.Item], answer: Connection) -> None:
        seconds: dict[int, float] = {}
        failed = []
        for index in range(len(items)):
            self._recorder.start(index)
            self._failed = False
            started = time.monotonic()
            self._run(items[index : index + 1], items[index + 1 : index + 2])
            if self._failed:
                failed.append(index)
            else:
                seconds[index] = time.monotonic() - started
        answer.send((failed, seconds, self._set_up_s))

    def _chosen(self) -> Iterator[tuple[SourceFileMutationData, str]]:
        for file in self._files:
            known = file.exit_code_by_key
            names = sorted(known)
            if size := os.environ.get("SAMPLE"):
                drawn = random.Random(_SEED).sample(names, min(int(size), len(names)))
                names = sorted({*drawn, *(name for name in names if known[name] is not None)})
            for name in names:
                if known[name] not in (_KILLED, _TIMED_OUT) or os.environ.get("ALL"):
                    yield file, name

    def _start(
        self,
        file: SourceFileMutationData,
        name: str,
        session: pytest.Session,
        tests: list[int],
    ) -> None:
        deadline = Deadline()
        if (pid := os.fork()) == 0:
            os.setsid()
            _silence()
            set_mutant_under_test(_as_imported(file, name))
            for test in tests:
                if test == reached.IMPORTING:
                    deadline.extend(60 + 5 * sum(self._seconds.values()))
                    os.execv(sys.executable, self._anew(session))
                deadline.extend(10 + 5 * (self._seconds[test] + self._set_up_s))
                self._run([session.items[test]])
                if self._failed:
                    os._exit(_KILLED)
            os._exit(_SURVIVED)
        self._running[pid] = (file, name, deadline)

    def _anew(self, session: pytest.Session) -> list[str]:
        """The words of a pytest of its own with the same tests."""
        out = [f"--deselect={test}" for test in self._left_out]
        return [sys.executable, "-m", "pytest", "-x", "-q", *out, *session.config.args]

    def _run(self, items: Sequence[pytest.Item], following: Sequence[pytest.Item] = ()) -> None:
        """Run the tests until one fails; fixtures that the `following` share stay set up."""
        for item, after in zip_longest(items, [*items[1:], *following]):
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
            except BaseException:  # noqa: BLE001 - what ends pytest itself is a failure too
                self._failed = True
            if self._failed:
                return

    def _await_one(self) -> None:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in self._running:
                return self._ended(pid, _SURVIVED if status == 0 else _KILLED)
            for running, (_, _, deadline) in list(self._running.items()):
                if deadline.is_over():
                    os.killpg(running, signal.SIGKILL)
                    os.waitpid(running, 0)
                    return self._ended(running, _TIMED_OUT)
            time.sleep(0.003)

    def _ended(self, pid: int, verdict: int) -> None:
        file, name, _ = self._running.pop(pid)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests left running
        self._note(file, name, verdict)

    def _note(self, file: SourceFileMutationData, name: str, verdict: int) -> None:
        file.exit_code_by_key[name] = verdict
        file.save()
        print(
            {_SURVIVED: "_", _KILLED: ".", _UNREACHED: "u", _TIMED_OUT: "t"}[verdict],
            end="",
            flush=True,
        )


def _as_imported(file: SourceFileMutationData, name: str) -> str:
    """mutmut's name of a mutant as the running module has it: without the folder on the path."""
    root = Path(file.path).parts[0]
    return name.removeprefix(f"{root}.")


def _function(file: SourceFileMutationData, name: str) -> str:
    return _as_imported(file, name).partition("__mutmut_")[0]


def _jobs() -> int:
    return int(os.environ.get("JOBS") or 2)


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _generate(target: str) -> list[Path]:
    """Write the mutants of the target's files below mutants/, where they are new or have changed.

    What is beside the target comes along as it is, or as mutated before; of a folder those files are
    left out that have an entry of modules.txt, or are in a folder that has one.
    """
    named = [Path(line.partition(" ")[0]) for line in _MODULES.read_text().splitlines() if line]
    below = [path for path in named if Path(target) in path.parents]
    Path("mutants").mkdir(exist_ok=True)
    wanted = []
    with Path(os.devnull).open("w") as null, redirect_stdout(null):  # a line for each file
        copy_src_dir()
        copy_also_copy_files()
        for path in walk_source_files():
            copy = "mutants" / path
            meant = path.is_relative_to(target) and not any(map(path.is_relative_to, below))
            if meant and config().should_mutate(path):
                wanted.append(path)
            elif copy.stat().st_mtime < path.stat().st_mtime:
                shutil.copy2(path, copy)  # of the same age: without mutants
        for path in wanted:
            if error := mutmut.create_file_mutants(path).error:
                raise error
    return wanted


def main(target: str, tests: list[str]) -> int:
    set_mutant_under_test("mutant_generation")
    set_start_method("fork", force=True)
    files = []
    for path in _generate(target):
        file = SourceFileMutationData(path=path)
        file.meta_path = file.meta_path.absolute()
        file.load()
        files.append(file)
    paths = [str(Path("mutants", root).absolute()) for root in _ROOTS]
    sys.path[:0] = paths
    programs = str(Path(__file__).with_name("programs").absolute())
    os.environ["PYTHONPATH"] = os.pathsep.join([programs, *paths])  # the programs that tests start
    set_mutant_under_test("stats")
    os.chdir("mutants")
    with tempfile.TemporaryDirectory() as folder:
        return int(pytest.main([*_OPTIONS, *tests], plugins=[Judge(files, Path(folder))]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
