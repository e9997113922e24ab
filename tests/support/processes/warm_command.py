"""Runs our command as a process of its own, forked from one that has imported what most commands need.

A new interpreter for each of a hundred commands spends its time on imports. A fork is as far from the
test and from other commands: own memory, environment, folder and streams. What begins before imports is
for `installed_command`.
"""

import atexit
import functools
import os
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import msgspec

_LIBRARIES = "LD_LIBRARY_PATH"
_SERVER = "from support.processes import warm_command; warm_command.serve()"


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    words: tuple[str, ...]
    environ: dict[str, str]
    folder: str
    out: str
    err: str


class _Server:
    """The process that forks, for as long as the suite runs; one command at a time."""

    def __init__(self, libraries: str | None) -> None:
        self._lock = threading.Lock()
        path = os.pathsep.join(
            filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")))
        )
        environ = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ if libraries is None else {**environ, _LIBRARIES: libraries},
            start_new_session=True,
        )
        atexit.register(self.close)

    def run(self, order: _Order, timeout_s: float) -> int:
        """The exit code, negative for a signal."""
        orders, answers = self._process.stdin, self._process.stdout
        assert orders is not None
        assert answers is not None
        with self._lock:
            orders.write(msgspec.json.encode(order) + b"\n")
            orders.flush()
            if not select.select([answers], [], [], timeout_s)[0]:
                _server.cache_clear()
                os.killpg(self._process.pid, 9)
                raise AssertionError(f"{order.words} does not end")
            return int(answers.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


# The loader reads where libraries are at the start of a process only: one server for each such path.
@functools.cache
def _server(libraries: str | None) -> _Server:
    return _Server(libraries)


def accelwatch(
    *words: str, environ: Mapping[str, str] | None = None, timeout_s: float = 60.0
) -> "subprocess.CompletedProcess[str]":
    """The finished command, as `installed_command.accelwatch`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ACCELWATCH_")}
    env.update({"NO_COLOR": "1", **(environ or {})})
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        here = str(Path.cwd())
        order = _Order(words=words, environ=env, folder=here, out=str(out), err=str(err))
        code = _server(env.get(_LIBRARIES)).run(order, timeout_s)
        return subprocess.CompletedProcess(words, code, out.read_text(), err.read_text())


def serve() -> None:
    """Fork for each line of standard input; the exit code is the answer."""
    import accelwatch.cli.fleet.fleet
    import accelwatch.cli.fleet.fleet_once
    import accelwatch.cli.startup.app
    import accelwatch.cli.trial.demo
    import accelwatch.fleet.hub.serve  # noqa: F401 - for having them loaded

    for line in sys.stdin:
        order = msgspec.json.decode(line, type=_Order)
        if (pid := os.fork()) == 0:
            _be(order)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _be(order: _Order) -> NoReturn:
    """The command, from its first line on."""
    from accelwatch.cli.startup.main import main

    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environ)
    for at, path in enumerate((os.devnull, order.out, order.err)):
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, at)
        os.close(opened)
    sys.argv = ["accelwatch", *order.words]
    try:
        main()
    finally:
        os._exit(1)  # not reached: the command ends the process itself
