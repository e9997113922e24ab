"""The fake kubelet as a fixture."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from workloads.fake_kubelet import FakeKubelet


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[FakeKubelet]:
    """A kubelet; its path is short enough for a socket."""
    server = FakeKubelet(tmp_path / "k.sock")
    yield server
    if server.path.exists():
        server.close()
