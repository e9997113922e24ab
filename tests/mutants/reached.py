"""Which functions were reached, and during which test: told by the processes that tests start, too.

Forks and programs share a file with the number of the test that runs; each appends what it reaches, once
a test.
"""

import mmap
import os
import struct
from os import write  # before tests replace it
from pathlib import Path

from mutmut.mutation import trampoline

_FOLDER = "MUTANTS_REACHED"
_NUMBER = struct.Struct("=i")
# The number of what is called while pytest imports the tests.
IMPORTING = -1


class Recorder:
    """Writes a line for each function and test, `number name`."""

    def __init__(self, folder: Path) -> None:
        with (folder / "test").open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _NUMBER.size)
        self._lines = os.open(folder / "reached", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._test = IMPORTING
        self._written: set[str] = set()

    def start(self, test: int) -> None:
        _NUMBER.pack_into(self._shared, 0, test)

    def hit(self, name: str, caller: str | None = None) -> None:
        (test,) = _NUMBER.unpack_from(self._shared)
        if test != self._test:
            self._test = test
            self._written = set()
        if name not in self._written:
            self._written.add(name)
            write(self._lines, f"{test} {name}\n".encode())


def start(folder: Path) -> Recorder:
    """Record from now on, in the programs that are started with this environment as well."""
    (folder / "test").write_bytes(_NUMBER.pack(IMPORTING))
    os.environ[_FOLDER] = str(folder)
    return _record(folder)


def go_on() -> None:
    """Record in a program that was started by a test, where there is a recording."""
    if folder := os.environ.get(_FOLDER):
        _record(Path(folder))


def end() -> None:
    os.environ.pop(_FOLDER, None)


def read(folder: Path) -> dict[int, set[str]]:
    """Functions by the number of the test that reached them."""
    functions: dict[int, set[str]] = {}
    for line in (folder / "reached").read_text().splitlines():
        test, _, name = line.partition(" ")
        functions.setdefault(int(test), set()).add(name)
    return functions


def _record(folder: Path) -> Recorder:
    recorder = Recorder(folder)
    vars(trampoline)["record_trampoline_hit"] = recorder.hit
    return recorder
