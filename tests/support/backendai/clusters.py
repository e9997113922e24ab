"""Fixtures for the conftest of a folder: `cluster` runs a test on each cluster, `stand_in` on one."""

from collections.abc import Iterator

import pytest

from accelwatch_lab.cluster.backendai.api_server.release import NEWEST
from support.backendai.served import ServedCluster
from support.backendai.stand_in import StandInCluster, stand_in_cluster

# Whose answers the stand-in is composed from.
RELEASES = (NEWEST, "26.1.0")


@pytest.fixture
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInCluster]:
    """A new stand-in of the newest release."""
    with stand_in_cluster(tmp_path_factory.mktemp("backendai")) as cluster:
        yield cluster


@pytest.fixture(params=[f"stand-in {release}" for release in RELEASES])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedCluster]:
    """A cluster in which nothing runs: a stand-in of each release."""
    release = request.param.partition(" ")[2]
    with stand_in_cluster(tmp_path_factory.mktemp("backendai"), release) as served:
        yield served
