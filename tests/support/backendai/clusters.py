"""Fixtures for the conftest of a folder: `cluster` runs a test on each cluster, `stand_in` on one."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from support.backendai.real import RealCluster, real_cluster
from support.backendai.served import ServedCluster
from support.backendai.stand_in import StandInCluster, stand_in_cluster

# Whose answers the stand-in is composed from.
RELEASES = (NEWEST, "26.1.0")


@pytest.fixture
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInCluster]:
    """A new stand-in of the newest release."""
    with stand_in_cluster(tmp_path_factory.mktemp("backendai")) as cluster:
        yield cluster


# By it the tests of other folders, each of which has a fixture of its own, find those that run.
_RUNNING = pytest.StashKey[RealCluster]()


@pytest.fixture(scope="session")
def real_servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> RealCluster:
    """The real servers, for all tests of a worker; they end when it does."""
    config = request.config
    if _RUNNING not in config.stash:
        running = contextlib.ExitStack()
        cluster = running.enter_context(real_cluster(tmp_path_factory.mktemp("bai")))
        config.add_cleanup(running.close)
        config.stash[_RUNNING] = cluster
    return config.stash[_RUNNING]


@pytest.fixture(params=[*(f"stand-in {release}" for release in RELEASES), "real"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedCluster]:
    """A cluster in which nothing runs: a stand-in of each release, and real servers."""
    if request.param == "real":
        real: RealCluster = request.getfixturevalue("real_servers")
        yield real
        asyncio.run(real.clear())
        return
    release = request.param.partition(" ")[2]
    with stand_in_cluster(tmp_path_factory.mktemp("backendai"), release) as served:
        yield served
