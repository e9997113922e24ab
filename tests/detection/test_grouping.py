"""Who is compared with whom."""

import numpy as np

from accelwatch.detection.baselines.grouping import device_groups, node_groups
from support.detection.simulated import Fleet


def _none(fleet: Fleet) -> np.ndarray:
    return np.full(len(fleet.node_of), -1, dtype=np.intp)


def test_devices_of_the_same_job_and_model_are_peers() -> None:
    fleet = Fleet(3)
    fleet.job[8:16] = -1
    fleet.model[16:20] = 1
    grouping = device_groups(fleet.frame(), _none(fleet))
    assert sorted(grouping.groups.size.tolist()) == [4, 8, 12]
    assert len(set(grouping.groups.code[:8])) == 1
    assert grouping.groups.code[0] != grouping.groups.code[16]


def test_stages_split_a_job() -> None:
    fleet = Fleet(4)
    stage = np.repeat(np.array([0, 1], dtype=np.intp), 16)
    assert device_groups(fleet.frame(), stage).groups.size.tolist() == [16, 16]


def test_five_devices_of_two_nodes_are_comparable() -> None:
    assert device_groups(Fleet(5, each=1).frame(), np.full(5, -1)).groups.comparable.all()
    assert not device_groups(Fleet(4, each=1).frame(), np.full(4, -1)).groups.comparable.any()
    assert not device_groups(Fleet(1).frame(), np.full(8, -1)).groups.comparable.any()


def _comparable_on_one_node(fleet: Fleet) -> bool:
    frame = fleet.frame()._replace(single_node=True)
    return bool(device_groups(frame, _none(fleet)).groups.comparable.any())


def test_where_there_is_one_node_five_devices_of_its_job_are_comparable() -> None:
    assert _comparable_on_one_node(Fleet(1, each=5))
    assert not _comparable_on_one_node(Fleet(1, each=4))


def test_where_there_is_one_node_devices_of_no_job_are_not_comparable() -> None:
    fleet = Fleet(1)
    fleet.job[:] = -1
    assert not _comparable_on_one_node(fleet)


def test_where_there_is_one_node_devices_of_other_models_are_not_comparable() -> None:
    fleet = Fleet(1)
    fleet.model[4:] = 1
    assert not _comparable_on_one_node(fleet)


def test_each_group_is_a_slice_of_the_order() -> None:
    fleet = Fleet(3)
    fleet.job[::2] = -1
    grouping = device_groups(fleet.frame(), _none(fleet))
    for group in range(len(grouping.keys)):
        rows = grouping.order[grouping.starts[group] : grouping.starts[group + 1]]
        assert (grouping.groups.code[rows] == group).all()
        assert len(rows) == grouping.groups.size[group]


def test_groups_have_their_job_and_how_many_nodes_they_are_on() -> None:
    fleet = Fleet(3)
    fleet.job[16:] = -1
    groups = device_groups(fleet.frame(), _none(fleet)).groups
    assert dict(zip(groups.job.tolist(), groups.nodes.tolist(), strict=True)) == {0: 2, -1: 1}


def test_keys_are_names_and_not_codes() -> None:
    fleet = Fleet(2)
    keys = device_groups(fleet.frame(), _none(fleet)).keys
    fleet.names = fleet.names._replace(jobs=("another", "train"))
    fleet.job[:] = 1
    assert device_groups(fleet.frame(), _none(fleet)).keys == keys


def test_a_node_has_the_job_of_its_devices_though_some_rest() -> None:
    fleet = Fleet(6)
    fleet.job[3] = -1
    groups = node_groups(fleet.frame()).groups
    assert groups.size.tolist() == [6]
    assert groups.job.tolist() == [0]
    assert groups.comparable.all()


def test_nodes_of_several_jobs_are_not_comparable() -> None:
    fleet = Fleet(12)
    fleet.names = fleet.names._replace(jobs=("train", "other"))
    fleet.job[: 6 * 8 : 8] = 1
    groups = node_groups(fleet.frame()).groups
    shared = groups.code[0]
    assert not groups.comparable[shared]
    assert groups.job[shared] == -1
    assert groups.comparable[groups.code[-1]]


def test_nodes_of_other_models_are_not_peers() -> None:
    fleet = Fleet(12)
    fleet.names = fleet.names._replace(models=("B200", "H100"))
    fleet.model[48:] = 1
    assert node_groups(fleet.frame()).groups.size.tolist() == [6, 6]


def test_a_node_without_devices_is_of_no_job() -> None:
    fleet = Fleet(2)
    frame = fleet.frame()
    few = frame._replace(node_of=frame.node_of[:8], job=frame.job[:8], model=frame.model[:8])
    groups = node_groups(few).groups
    assert groups.job[groups.code].tolist() == [0, -1]
