"""Groups of rows: the same as each device is called, worked out again only where something changed."""

from collections.abc import Iterable

import numpy as np

from accelwatch.fleet.state.rows.groups import NO_GROUP, GroupIndex, Groups
from accelwatch.fleet.target import targets_of
from accelwatch.schema.snapshot import DeviceView, Owner
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

KEYS = ("node", "rack", "model", "job", "user", "stage")


def job(name: str) -> Owner:
    return Owner(kind="job", scheduler="slurm", job_id=name, user=f"u{name}")


def view(index: int, *jobs: str, **changes: object) -> DeviceView:
    return machines.view(index, owners=tuple(map(job, jobs)), **changes)


def bench() -> Bench:
    made = Bench()
    racks = {"a": {"rack": "r1", "stage": "0"}, "b": {"rack": "r1", "stage": "1"}, "c": {}}
    for node, labels in racks.items():
        made.targets |= {target.node: target for target in targets_of([node], labels)}
    made.fleet.set_targets(made.targets.values())
    part = machines.device(5, id="nvidia:part", uuid="MIG-1", parent_id=machines.device(1).id)
    made.report("a", view(0, "7"), view(1, "7", "8"), view(5, device=part))
    made.report("b", view(0, "8"), view(1))
    return made


def bring(made: Bench) -> GroupIndex:
    made.fleet.table.refresh(made.fleet.nodes.values(), (), made.clock.monotonic())
    return made.fleet.groups


def members(made: Bench, groups: Groups) -> dict[str, list[str]]:
    """Node and index of the devices of each group."""
    seats = {row: seats.node for seats in made.fleet.table.all_slots() for row in seats.rows}
    rows = zip(groups.rows.tolist(), groups.groups.tolist(), strict=True)
    names: dict[str, list[str]] = {name: [] for name in groups.names}
    for row, group in rows:
        device = made.fleet.table.devices[row]
        assert device is not None
        names[groups.names[group]].append(f"{seats[row]}{device.index}")
    return {name: sorted(some) for name, some in names.items()}


def firsts(made: Bench, groups: Groups, node: str, indexes: Iterable[int]) -> list[str | None]:
    """The one group of each device."""
    rows = [made.fleet.table.rows.get((node, machines.device(at).id)) or 0 for at in indexes]
    numbers = groups.of_row[rows].tolist()
    return [None if number == NO_GROUP else groups.names[number] for number in numbers]


def test_devices_are_grouped_by_what_they_their_owners_and_their_targets_say() -> None:
    made = bench()
    index = bring(made)
    shown = {key: members(made, index.by(key)) for key in KEYS}
    assert shown["node"] == {"a": ["a0", "a1", "a5"], "b": ["b0", "b1"]}
    assert shown["rack"] == {"r1": ["a0", "a1", "a5", "b0", "b1"]}
    assert shown["stage"] == {
        "7/0": ["a0", "a1", "a5"],
        "8/0": ["a1", "a5"],
        "8/1": ["b0"],
    }
    assert shown["model"] == {"nvidia NVIDIA H100 80GB HBM3": ["a0", "a1", "a5", "b0", "b1"]}
    assert shown["job"] == {"7": ["a0", "a1", "a5"], "8": ["a1", "a5", "b0"]}
    assert shown["user"] == {"trainer": ["a5", "b1"], "u7": ["a0", "a1"], "u8": ["a1", "b0"]}
    jobs = index.by("job")
    assert firsts(made, jobs, "a", (0, 1)) == ["7", "7"]
    assert firsts(made, jobs, "b", (0, 1)) == ["8", None]
    assert jobs.counts().tolist() == [3, 3]
    assert (jobs.of_row[5:] == NO_GROUP).all()
    made.fleet.close()


def test_within_a_job_devices_are_parted_by_their_model() -> None:
    made = bench()
    other = machines.device(2, model="NVIDIA L40S")
    untold = machines.device(3, model=None)
    made.report("b", view(0, "8"), view(2, "8", device=other), view(3, "8", device=untold))
    index = bring(made)
    h100 = "nvidia NVIDIA H100 80GB HBM3"
    assert members(made, index.by("job_model")) == {
        f"7/{h100}": ["a0", "a1", "a5"],
        f"8/{h100}": ["a1", "a5", "b0"],
        "8/nvidia NVIDIA L40S": ["b2"],
        "8/nvidia": ["b3"],
    }
    assert members(made, index.by("stage_model")) == {
        f"7/0/{h100}": ["a0", "a1", "a5"],
        f"8/0/{h100}": ["a1", "a5"],
        f"8/1/{h100}": ["b0"],
        "8/1/nvidia NVIDIA L40S": ["b2"],
        "8/1/nvidia": ["b3"],
    }
    made.fleet.close()


def test_groups_are_the_same_arrays_until_something_changes() -> None:
    made = bench()
    before = bring(made).by("job")
    made.report(
        "a", view(0, "7"), view(1, "7", "8")
    )  # its partition is missing, and had the same jobs
    made.report("b", view(0, "8"), view(1))
    kept = bring(made).by("rack")
    made.clock.advance(1)
    made.report("b", view(0, "8"), view(1))
    assert bring(made).by("rack") is kept
    made.report("b", view(0, "9"), view(1))
    changed = bring(made).by("job")
    assert changed is not before
    assert "9" in changed.names
    assert bring(made).by("rack") is kept
    made.fleet.close()


def test_owners_of_a_device_are_those_of_its_partition_where_it_has_none() -> None:
    made = Bench("a")
    part = machines.device(5, id="nvidia:part", uuid="MIG-1", parent_id=machines.device(1).id)
    made.report("a", view(1, "7"), view(5, "9", device=part))
    assert members(made, bring(made).by("job")) == {"7": ["a1"], "9": ["a5"]}
    made.report("a", view(1, "8"), view(5, device=part))
    assert members(made, bring(made).by("job")) == {"8": ["a1", "a5"]}
    made.fleet.close()


def test_a_missing_device_keeps_its_slot_and_loses_its_job() -> None:
    made = bench()
    bring(made).by("job")
    made.report("a", view(0, "7"))
    index = bring(made)
    assert members(made, index.by("job")) == {"7": ["a0"], "8": ["b0"]}
    assert members(made, index.by("rack"))["r1"] == ["a0", "a1", "a5", "b0", "b1"]
    made.fleet.close()


def test_labels_that_change_change_groups() -> None:
    made = bench()
    index = bring(made)
    index.by("stage")
    made.targets |= {target.node: target for target in targets_of(["b"], {"stage": "0"})}
    made.fleet.set_targets(made.targets.values())
    assert members(made, bring(made).by("stage")) == {
        "7/0": ["a0", "a1", "a5"],
        "8/0": ["a1", "a5", "b0"],
    }
    made.fleet.close()


def test_rows_of_nodes_that_have_gone_are_in_no_group() -> None:
    made = bench()
    bring(made).by("node")
    made.fleet.nodes["a"].expected = None
    made.targets = {name: target for name, target in made.targets.items() if name != "a"}
    made.fleet.set_targets(made.targets.values())
    groups = bring(made).by("node")
    assert members(made, groups) == {"b": ["b0", "b1"]}
    assert int(np.count_nonzero(groups.of_row != NO_GROUP)) == 2
    made.targets |= {target.node: target for target in targets_of(["d"])}
    made.fleet.set_targets(made.targets.values())
    made.report("d", view(0))
    assert members(made, bring(made).by("node")) == {"b": ["b0", "b1"], "d": ["d0"]}
    made.fleet.close()


def test_a_fleet_without_devices_has_no_groups() -> None:
    made = Bench("a")
    groups = bring(made).by("job")
    assert (groups.names, len(groups.rows), groups.counts().tolist()) == ((), 0, [])
    made.fleet.close()
