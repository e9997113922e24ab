"""What backends say of their options is asked of a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from accelwatch.backend import Option
from accelwatch.node.sampler.declared_options import declared, loaded

TALKATIVE = """
import sys
print("{}")
from accelwatch.backend import Option
class Given:
    options = (Option("mine", is_path=True),)
class Silent:
    pass
class Odd:
    options = {"mine": 1}
class OddItem:
    options = ("mine",)
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of a module of backends that print when they are imported."""
    (tmp_path / "talkative_backend.py").write_text(TALKATIVE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "talkative_backend"


def test_it_is_the_same_from_a_process_of_its_own() -> None:
    names = ["hygon", "nvidia"]
    assert declared(names) == loaded(names)
    assert declared(["hygon"])["hygon"] == (Option("hy_smi", is_path=True), Option("pace_s"))


def test_who_prints_while_it_is_loaded_is_read_all_the_same(stranger: str) -> None:
    address = f"{stranger}:Given"
    assert declared([address]) == {address: (Option("mine", is_path=True),)}


@pytest.mark.parametrize("what", ["Silent", "Odd", "OddItem", "Missing"])
def test_who_declares_nothing_of_the_kind_is_left_out(stranger: str, what: str) -> None:
    assert declared([f"{stranger}:{what}", "hygon"]).keys() == {"hygon"}


def test_a_name_that_is_not_installed_is_left_out() -> None:
    assert declared(["nvdia"]) == {}


def test_without_backends_none_is_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert declared([]) == {}


@pytest.mark.parametrize(
    ("end", "message"), [("raise SystemExit('no')", "no"), ("import os; os._exit(3)", "status 3")]
)
def test_a_backend_that_ends_the_process_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    end: str,
    message: str,
) -> None:
    (tmp_path / "deadly_backend.py").write_text(end)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    name = f"deadly_backend:{message.replace(' ', '')}"
    assert declared([name]) == {}
    assert caplog.messages == [f"options are not checked backends={name}: {message}"]


def test_what_cannot_be_started_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert declared(["apple", "amd"]) == {}
    assert caplog.messages == ["options are not checked backends=amd,apple: not found"]


def test_the_command_prints_json() -> None:
    words = [sys.executable, "-m", "accelwatch.node.sampler.declared_options", "amd"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.startswith('{"amd":[{"name":"amdsmi"')
