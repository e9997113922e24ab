"""Fixtures for the conftest of a folder: `cluster` runs a test on each cluster, `stand_in` on one."""

import asyncio
from collections.abc import Iterator

import pytest

from support.kubernetes.real import real_cluster
from support.kubernetes.served import ServedCluster
from support.kubernetes.stand_in import StandInCluster, stand_in_cluster


@pytest.fixture(scope="session")
def real_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    """The real servers, for all tests of a worker; skips where they are not in the cache."""
    with real_cluster(tmp_path_factory.mktemp("kubernetes")) as cluster:
        yield cluster


@pytest.fixture
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInCluster]:
    """A new stand-in."""
    with stand_in_cluster(tmp_path_factory.mktemp("stand-in")) as cluster:
        yield cluster


@pytest.fixture
def bare_stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInCluster]:
    """A new stand-in without controllers: the garbage collector removes pods without an owner."""
    with stand_in_cluster(tmp_path_factory.mktemp("stand-in"), ()) as cluster:
        yield cluster


@pytest.fixture(params=["stand-in", "real"])
def cluster(request: pytest.FixtureRequest) -> Iterator[ServedCluster]:
    """A cluster with nothing in it: the stand-in, and the real servers where they are in the cache."""
    if request.param == "stand-in":
        yield request.getfixturevalue("stand_in")
        return
    real = request.getfixturevalue("real_servers")
    yield real
    asyncio.run(real.clear())
