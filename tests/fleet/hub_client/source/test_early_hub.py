"""The dashboard's own hub, begun before the command line is read: ordered, or never left behind."""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch import __main__ as start
from accelwatch.fleet.hub_client import early
from accelwatch.fleet.hub_client.child import ChildError
from accelwatch.fleet.hub_client.early import Named, Order


@pytest.fixture
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing begun, and garbage collected again at the end."""
    monkeypatch.setattr(early, "_started_child", None)
    yield
    gc.unfreeze()
    gc.enable()


_UNWANTED = """
from accelwatch.fleet.hub_client import early
early.begin(printed=True)
print(early._begun.process.pid, early._begun.folder, flush=True)
"""
_LOADED = """
import importlib, sys
importlib.import_module("accelwatch.fleet.hub_client.{shared}")
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["fleet", "-t", "n1"], True),
        (["fleet", "-c", "hub.yaml", "--once"], True),
        (["fleet"], False),
        (["hub", "-t", "n1"], False),
        ([], False),
        (["fleet", "--hub", "http://h:9878"], False),
        (["fleet", "--hub=http://h:9878"], False),
        (["fleet", "--replay", "archive"], False),
        (["fleet", "-t", "n1", "--help"], False),
        (["fleet", "-h"], False),
    ],
)
def test_it_is_begun_for_who_seems_to_want_one(words: list[str], expected: bool) -> None:
    assert start._follows(words) is expected


def test_it_is_not_begun_for_a_shell_that_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ACCELWATCH_COMPLETE", "complete_bash")
    assert not start._follows(["fleet", "-t", "n1"])


def _run(program: str) -> str:
    words = [sys.executable, "-c", program]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("shared", ["session", "source"])
def test_both_processes_share_no_screen_no_parser_and_no_table(shared: str) -> None:
    loaded = set(_run(_LOADED.format(shared=shared)).split())
    assert loaded.isdisjoint({"typer", "textual", "rich", "numpy"})


def test_one_that_nobody_wants_ends_with_its_parent() -> None:
    pid, folder = _run(_UNWANTED).split()
    until = time.monotonic() + 20
    while Path(folder).exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path(folder).exists()
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.usefixtures("_anew")
@pytest.mark.parametrize("before", [True, False])
def test_it_does_what_it_is_ordered(tmp_path: Path, before: bool) -> None:
    """Begun before its order is known or with it: a file that is not there is told all the same."""
    if before:
        early.fork_hub(printed=True)
        begun = early._started_child
        assert begun is not None
    file = str(tmp_path / "none.yaml")
    child = early.ordered(Order(named=Named(targets=("n1",)), config_file=file, printed=True))
    try:
        assert early._started_child is None
        with pytest.raises(ChildError, match=r"none\.yaml") as caught:
            child.wait_ready()
        assert caught.value.exit_code == 2
    finally:
        child.close()


@pytest.mark.usefixtures("_anew")
def test_an_order_may_be_longer_than_a_pipe_holds() -> None:
    names = tuple(f"n{number:06}" for number in range(20_000))
    child = early.ordered(Order(named=Named(targets=(*names, "n[2-1]")), printed=True))
    try:
        with pytest.raises(ChildError, match=r"n\[2-1\]"):
            child.wait_ready()
    finally:
        child.close()


@pytest.mark.usefixtures("_anew")
def test_who_has_ended_before_its_order_is_told_when_it_is_waited_for() -> None:
    early.fork_hub(printed=True)
    assert early._started_child is not None
    early._started_child.process.kill()
    assert early._started_child.process.poll_within(20.0) is not None
    child = early.ordered(Order(named=Named(targets=("n1",)), printed=True))
    try:
        with pytest.raises(ChildError, match="the dashboard's own hub has ended: SIGKILL"):
            child.wait_ready()
    finally:
        child.close()
