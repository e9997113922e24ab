"""The fake kubelet and the fake node as fixtures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from node.workloads.fake_kubelet import FakeKubelet
from node.workloads.fake_node import FakeNode


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[FakeKubelet]:
    """A kubelet; its path is short enough for a socket."""
    server = FakeKubelet(tmp_path / "k.sock")
    yield server
    if server.path.exists():
        server.close()


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    """A node without anything on it."""
    return FakeNode(tmp_path / "node")
