"""Modules that are loaded by their first use."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from accelwatch.daemon.deferred import Deferred, defer

NAME = "seldom_used_module"
BODY = "LOADED = []\nLOADED.append(1)\nvalue = 7\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the module is that is deferred."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{NAME}.py").write_text(BODY)
    yield tmp_path
    sys.modules.pop(NAME, None)


def deferred() -> Deferred:
    defer([NAME])
    module = import_module(NAME)
    assert isinstance(module, Deferred)
    return module


def test_importing_loads_nothing_and_the_first_use_does(folder: Path) -> None:
    module = deferred()
    (folder / f"{NAME}.py").write_text("value = 8\n")
    assert module.value == 8
    assert not isinstance(import_module(NAME), Deferred)
    assert import_module(NAME).value == 8


@pytest.mark.usefixtures("folder")
def test_it_is_one_module_for_all_who_imported_it() -> None:
    module = deferred()
    module.value = 9
    assert import_module(NAME).value == 9
    del module.value
    assert not hasattr(import_module(NAME), "value")
    assert "LOADED" in dir(module)


@pytest.mark.usefixtures("folder")
def test_what_is_loaded_already_stays() -> None:
    real = import_module(NAME)
    defer([NAME])
    assert sys.modules[NAME] is real


def test_a_first_use_that_fails_is_tried_again(folder: Path) -> None:
    module = deferred()
    (folder / f"{NAME}.py").rename(folder / "elsewhere.py")
    with pytest.raises(ImportError):
        _ = module.value
    (folder / "elsewhere.py").rename(folder / f"{NAME}.py")
    sys.path_importer_cache.clear()
    assert module.value == 7


@pytest.mark.usefixtures("folder")
def test_threads_that_use_it_first_together_load_it_once() -> None:
    module = deferred()
    start = threading.Barrier(8)
    seen: list[object] = []

    def use() -> None:
        start.wait()
        seen.append(module.LOADED)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in seen}) == 1
    assert seen[0] == [1]


SOCKETS = """
import sys
from accelwatch.daemon.deferred import Deferred, defer
defer()
import asyncio, socket, ssl
one, _ = socket.socketpair()
asked = isinstance(one, ssl.SSLSocket)
still = isinstance(sys.modules["ssl"], Deferred)
class Own(ssl.SSLSocket):
    def __init__(self): pass
print(asked, still, isinstance(Own(), ssl.SSLSocket), isinstance(one, ssl.SSLSocket))
print(ssl.SSLSocket.read.__name__)
"""


def test_no_socket_is_one_of_ssl_before_ssl_is_loaded() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SOCKETS], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.splitlines() == ["False True True False", "read"]
