"""What a plan is priced by: the devices of a node's jobs, wherever they are."""

from accelwatch.fleet.remedies.worth import worth_of
from accelwatch.remediation.policy.plan.model import Worth
from accelwatch.schema.snapshot import DeviceView, Owner
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines


def view(index: int, *jobs: str, **changes: object) -> DeviceView:
    owners = tuple(Owner(kind="job", scheduler="slurm", job_id=one, user="ada") for one in jobs)
    return machines.view(index, owners=owners, **changes)


def test_the_devices_of_its_jobs_count_on_all_nodes_and_partitions_with_their_device() -> None:
    bench = Bench("a", "b", "c")
    part = machines.device(5, id="nvidia:part", uuid="MIG-1", parent_id=machines.device(1).id)
    bench.report("a", view(0, "7"), view(1, "7", "8"), view(5, device=part))
    bench.report("b", view(0, "8"), view(1))
    bench.report("c", view(0))
    bench.fleet.table.refresh(bench.fleet.nodes.values(), (), bench.clock.monotonic())
    assert worth_of(bench.fleet, "a") == Worth(devices=3, job_devices=3)
    assert worth_of(bench.fleet, "b") == Worth(devices=2, job_devices=2)
    assert worth_of(bench.fleet, "c") == Worth(devices=1, job_devices=0)
    assert worth_of(bench.fleet, "unknown") == Worth()
    bench.fleet.close()
