"""Whose line is drawn for an incident, and who its peers are."""

import asyncio

import numpy as np
import pytest

from accelwatch.alerting.rules.document import Scope
from accelwatch.alerting.rules.verdict import Entity
from accelwatch.fleet.graphs.peers import MOST_PEERS, Subject, some_of, subject_of
from accelwatch.fleet.state.fleet_status import refresh_nodes
from support.fleet.job_fleet import JobFleet, device_id

MODEL = "model NVIDIA H100 80GB HBM3"


def subject(fleet: JobFleet, node: str = "a", index: int | None = 0) -> Subject:
    """Of a device of a node, or of the node."""
    entity = Entity(
        scope=Scope.NODE if index is None else Scope.DEVICE,
        node=node,
        device="" if index is None else device_id(index),
    )
    found = subject_if_any(fleet, entity)
    assert found is not None
    return found


def subject_if_any(fleet: JobFleet, entity: Entity) -> Subject | None:
    async def go() -> Subject | None:
        await refresh_nodes(fleet.fleet, (), lambda: asyncio.sleep(0))
        return subject_of(fleet.fleet, entity)

    return asyncio.run(go())


def names(fleet: JobFleet, found: Subject) -> list[str]:
    """Node and index of each peer."""
    table = fleet.fleet.table
    at = {row: key for key, row in _rows(fleet).items()}
    assert all(table.devices[row] is not None for row in found.peers)
    return sorted(at[int(row)] for row in found.peers)


def _rows(fleet: JobFleet) -> dict[str, int]:
    table = fleet.fleet.table
    return {
        f"{slots.node}{device.index}": row
        for slots in table.all_slots()
        for row, device in zip(slots.rows, slots.devices, strict=True)
    }


def test_peers_are_the_other_devices_of_the_job() -> None:
    fleet = JobFleet(["a", "b", "c"], jobs={"a": "7", "b": "7"})
    fleet.draw({("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 1.0, ("c", 0): 1.0})
    found = subject(fleet)
    assert found.name == "a nvidia0"
    assert names(fleet, found) == ["a1", "b0"]
    assert found.band == f"other devices of job 7 and {MODEL}"


def test_another_model_of_the_job_is_no_peer() -> None:
    fleet = JobFleet(["a", "b"], jobs={"a": "7", "b": "7"})
    fleet.devices["b", 0] = {"model": "NVIDIA A100"}
    fleet.draw({("a", 0): 1.0, ("b", 0): 1.0, ("b", 1): 1.0})
    assert names(fleet, subject(fleet)) == ["b1"]


def test_another_stage_of_the_job_is_no_peer() -> None:
    labels = {"a": {"stage": "0"}, "b": {"stage": "1"}, "c": {"stage": "0"}}
    fleet = JobFleet(["a", "b", "c"], jobs=dict.fromkeys("abc", "7"), labels=labels)
    fleet.draw({(node, 0): 1.0 for node in "abc"})
    found = subject(fleet)
    assert names(fleet, found) == ["c0"]
    assert found.band == f"other devices of job 7, stage 0 and {MODEL}"


@pytest.mark.parametrize("jobs", [{}, {"a": "7"}, {"b": "8"}])
def test_without_others_of_the_job_those_of_the_model_are_peers(jobs: dict[str, str]) -> None:
    fleet = JobFleet(["a", "b", "c"], jobs=jobs)
    fleet.devices["c", 0] = {"model": "NVIDIA A100"}
    fleet.draw({(node, 0): 1.0 for node in "abc"})
    found = subject(fleet)
    assert names(fleet, found) == ["b0"]
    assert found.band == f"other devices of {MODEL}"


def test_one_device_has_no_peers() -> None:
    fleet = JobFleet(["a", "b"])
    fleet.devices["b", 0] = {"model": "NVIDIA A100"}
    fleet.draw({("a", 0): 1.0, ("b", 0): 1.0})
    found = subject(fleet)
    assert (len(found.peers), found.band) == (0, "")


def test_devices_without_a_model_are_alike_by_nothing() -> None:
    fleet = JobFleet(["a", "b"])
    fleet.devices = {("a", 0): {"model": None}, ("b", 0): {"model": None}}
    fleet.draw({("a", 0): 1.0, ("b", 0): 1.0})
    assert len(subject(fleet).peers) == 0


def test_of_a_node_it_is_all_its_devices_beside_those_of_other_nodes() -> None:
    fleet = JobFleet(["a", "b"], jobs={"a": "7", "b": "7"})
    fleet.draw({("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 1.0})
    found = subject(fleet, index=None)
    assert len(found.rows) == 2
    assert found.name == "the median of the 2 devices of a"
    assert names(fleet, found) == ["b0"]
    assert found.band == f"other devices of job 7 and {MODEL} on other nodes"


def test_a_partition_is_beside_partitions_only() -> None:
    fleet = JobFleet(["a", "b"])
    for node in "ab":
        fleet.devices[node, 1] = {"parent_id": device_id(0)}
    fleet.draw({(node, index): 1.0 for node in "ab" for index in (0, 1)})
    assert names(fleet, subject(fleet)) == ["b0"]
    found = subject(fleet, index=1)
    assert names(fleet, found) == ["b1"]
    assert found.band == f"other partitions of {MODEL}"


@pytest.mark.parametrize(
    "entity",
    [
        Entity(scope=Scope.DEVICE, node="z", device="x"),
        Entity(scope=Scope.DEVICE, node="a", device="x"),
        Entity(scope=Scope.JOB, job="7"),
        Entity(scope=Scope.RACK, rack="r7"),
        Entity(scope=Scope.DEVICE, group="rack=r7"),
    ],
)
def test_of_what_is_no_device_or_node_that_is_known_there_is_nothing(entity: Entity) -> None:
    fleet = JobFleet(["a"])
    fleet.draw({("a", 0): 1.0})
    assert subject_if_any(fleet, entity) is None


def test_of_very_many_peers_some_are_taken_evenly() -> None:
    some = some_of(np.arange(10 * MOST_PEERS))
    assert len(some) == MOST_PEERS
    assert (some[0], some[-1]) == (0, 10 * MOST_PEERS - 1)
    assert set(np.diff(some)) <= {9, 10, 11}
    few = np.arange(5)
    assert some_of(few) is few
