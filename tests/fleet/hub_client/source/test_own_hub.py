"""The dashboard's own hub: it takes its order, shares little, and says why it cannot start."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelwatch.fleet.hub_client.local_hub.child import ChildError
from accelwatch.fleet.hub_client.local_hub.own_hub import Named, Order, start_hub


@pytest.fixture(autouse=True)
def _unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


_LOADED = """
import importlib, sys
importlib.import_module("accelwatch.fleet.hub_client.{shared}")
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""


@pytest.mark.parametrize("shared", ["connection.session", "source"])
def test_both_processes_share_no_screen_no_parser_and_no_table(shared: str) -> None:
    words = [sys.executable, "-c", _LOADED.format(shared=shared)]
    run = subprocess.run(words, check=True, capture_output=True, text=True)
    assert set(run.stdout.split()).isdisjoint({"click", "textual", "rich", "numpy"})


def test_it_does_what_it_is_ordered(tmp_path: Path) -> None:
    file = str(tmp_path / "none.yaml")
    child = start_hub(Order(named=Named(targets=("n1",)), config_file=file, printed=True))
    try:
        with pytest.raises(ChildError, match=r"none\.yaml") as caught:
            child.wait_ready()
        assert caught.value.exit_code == 2
    finally:
        child.close()


def test_an_order_may_be_longer_than_a_pipe_holds() -> None:
    names = tuple(f"n{number:06}" for number in range(20_000))
    child = start_hub(Order(named=Named(targets=(*names, "n[2-1]")), printed=True))
    try:
        with pytest.raises(ChildError, match=r"n\[2-1\]"):
            child.wait_ready()
    finally:
        child.close()


def test_one_that_is_killed_is_reported_when_it_is_waited_for() -> None:
    child = start_hub(Order(named=Named(targets=("n1",)), printed=True))
    try:
        child.process.kill()
        assert child.process.poll_within(20.0) is not None
        with pytest.raises(ChildError, match="the dashboard's own hub has ended: SIGKILL"):
            child.wait_ready()
    finally:
        child.close()
