"""A cluster for the tests of the action."""

import asyncio
from collections.abc import Iterator

import pytest

from support.kubernetes.real import RealCluster, real_cluster


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    with real_cluster(tmp_path_factory.mktemp("kubernetes")) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: RealCluster) -> Iterator[RealCluster]:
    yield running
    asyncio.run(running.clear())
