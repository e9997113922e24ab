"""Judge the mutants of a module or package: `judge.py src/accelwatch/store tests/store/...`.

mutmut writes the mutants and keeps the verdicts (`mutmut results`, `mutmut show NAME`). Its own `run`
starts pytest anew for each mutant: half a second or more of imports and collection. Here pytest collects
once, and a fork of that process tries each mutant on the tests that reach its function, fastest first.
A function that none reaches there is called while modules are imported, or in a program that a test
starts: such a mutant is tried by a pytest of its own.

JOBS      mutants tried at once (default 2)
SAMPLE    at most so many of each file, drawn with a fixed seed, and those that were tried before
ALL=1     again those that have been killed already
"""

import gc
import os
import random
import shutil
import signal
import sys
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
from mutmut.state import state
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, walk_source_files

_KILLED, _SURVIVED, _TIMED_OUT = 1, 0, 36
_SEED = 7
_ROOTS = ("src", "actions", "alerts", "backends", "exporters")
_OPTIONS = [
    *("-o", "addopts=--strict-markers --import-mode=importlib --rootdir=."),
    *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:anyio"),
]

Reached = dict[str, list[int]]
"""Indices of the tests that reach a function, fastest first, by mutmut's name of the function."""


class Judge:
    """A pytest plug-in that tries mutants instead of running the tests once."""

    def __init__(self, files: list[SourceFileMutationData]) -> None:
        self._files = files
        self._failed = False
        self._seconds: dict[int, float] = {}
        self._running: dict[int, tuple[SourceFileMutationData, str, float]] = {}

    def pytest_sessionstart(self) -> None:
        """Let generated tests try the same few examples on each mutant."""
        from hypothesis import settings  # not before pytest has looked at its plug-ins

        few = settings(max_examples=25, derandomize=True, database=None, deadline=None)
        settings.register_profile("mutants", few)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        reached = self._reached(session.items)
        chosen = list(self._chosen())
        gc.collect()
        gc.freeze()  # what the forks share is not copied by their collections
        print(f"{len(session.items)} tests, {len(chosen)} mutants", flush=True)
        for file, name in chosen:
            while len(self._running) >= _jobs():
                self._await_one()
            function = _module_and_name(file, name).partition("__mutmut_")[0]
            self._start(file, name, session, reached.get(function, []))
        while self._running:
            self._await_one()
        return True

    def _reached(self, items: list[pytest.Item]) -> Reached:
        """Which tests reach which function, told by one run of all in a fork; they must pass."""
        here, there = Pipe(duplex=False)
        if (pid := os.fork()) == 0:
            _silence()
            self._trace(items, there)
            os._exit(0)
        there.close()
        try:
            failed, self._seconds, functions = here.recv()
        except EOFError:
            pytest.exit("the run without a mutant ended early", 1)
        finally:
            os.waitpid(pid, 0)
        if failed:
            pytest.exit(f"fails without a mutant: {failed}", 1)
        by_function: Reached = defaultdict(list)
        for index in sorted(self._seconds, key=self._seconds.__getitem__):
            for function in functions[index]:
                by_function[function].append(index)
        return by_function

    def _trace(self, items: list[pytest.Item], answer: Connection) -> None:
        set_mutant_under_test("stats")
        functions, seconds = {}, {}
        for index, item in enumerate(items):
            state()._stats.clear()
            started = time.monotonic()
            self._run(items[index : index + 1], items[index + 1 : index + 2])
            seconds[index] = time.monotonic() - started
            functions[index] = set(state()._stats)
            if self._failed:
                return answer.send((item.nodeid, seconds, functions))
        return answer.send(("", seconds, functions))

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
        anew = not tests
        longest = (60 if anew else 5) + 5 * sum(self._seconds[test] for test in tests)
        if (pid := os.fork()) == 0:
            os.setsid()
            _silence()
            set_mutant_under_test(_module_and_name(file, name))
            if anew:
                os.execv(
                    sys.executable, [sys.executable, "-m", "pytest", "-x", *session.config.args]
                )
            self._run([session.items[test] for test in tests])
            os._exit(_KILLED if self._failed else _SURVIVED)
        self._running[pid] = (file, name, time.monotonic() + longest)

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
                return self._note(pid, _SURVIVED if status == 0 else _KILLED)
            for running, (_, _, deadline) in list(self._running.items()):
                if time.monotonic() > deadline:
                    os.killpg(running, signal.SIGKILL)
                    os.waitpid(running, 0)
                    return self._note(running, _TIMED_OUT)
            time.sleep(0.003)

    def _note(self, pid: int, verdict: int) -> None:
        file, name, _ = self._running.pop(pid)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests left running
        file.exit_code_by_key[name] = verdict
        file.save()
        print("_.t"[(_SURVIVED, _KILLED, _TIMED_OUT).index(verdict)], end="", flush=True)


def _module_and_name(file: SourceFileMutationData, name: str) -> str:
    """mutmut's name of a mutant as the running module has it: without the folder on the path."""
    root = Path(file.path).parts[0]
    return name.removeprefix(f"{root}.")


def _jobs() -> int:
    return int(os.environ.get("JOBS") or 2)


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _generate(target: str) -> list[Path]:
    """Write the mutants of the target's files below mutants/, where they are new or have changed.

    What is beside the target comes along as it is, or as mutated before.
    """
    Path("mutants").mkdir(exist_ok=True)
    wanted = []
    with Path(os.devnull).open("w") as null, redirect_stdout(null):  # a line for each file
        copy_src_dir()
        copy_also_copy_files()
        for path in walk_source_files():
            copy = "mutants" / path
            if Path(target) in (path, path.parent) and config().should_mutate(path):
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
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # the programs that tests start
    set_mutant_under_test("")
    os.chdir("mutants")
    return int(pytest.main([*_OPTIONS, *tests], plugins=[Judge(files)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
