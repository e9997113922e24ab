"""The whole of it on made-up nodes: what a snapshot and an exposition say of who has a device."""

import logging
import shutil
import subprocess
import threading
from pathlib import Path

import msgspec
import pytest

from accelwatch.clock import ManualClock
from accelwatch.schema.device import Device
from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import DeviceView, Owner, Snapshot
from accelwatch.workloads import SourceState, Workloads, WorkloadSettings, job_cgroups
from accelwatch.workloads import allocation as allocation_module
from accelwatch_prometheus.render import Renderer
from accelwatch_prometheus.selection import Selection
from machines import device, snapshot, view
from workloads import kubelet_wire as wire
from workloads.fake_kubelet import FakeKubelet
from workloads.fake_node import CONTAINER, UID, UID_, FakeNode

MIG = "MIG-3f2a9c14-5b7d-5e21-9c3a-000000000001"
IN_POD = f"0::/kubepods.slice/kubepods-pod{UID_}.slice/cri-containerd-{CONTAINER}.scope\n"
IN_JOB = "0::/system.slice/slurmstepd.scope/job_{0}/step_0/user/task_0\n"


def workloads(node: FakeNode, socket: Path | None = None, **changes: object) -> Workloads:
    settings = WorkloadSettings(
        root=node.root,
        kubelet_socket=socket or node.root / "none.sock",
        pod_logs=node.root / "var/log/pods",
    )
    return Workloads(msgspec.structs.replace(settings, **changes))


def process(at: Device, pid: int, start: float | None, **changes: object) -> Process:
    plain = Process(device_id=at.id, pid=pid, start_time=start, user="4242")
    return msgspec.structs.replace(plain, **changes)


def with_processes(index: int, *processes: Process) -> DeviceView:
    plain = view(index)
    reading = msgspec.structs.replace(plain.reading, processes=processes)
    return msgspec.structs.replace(plain, reading=reading)


def partition(parent: Device, name: str, uuid: str) -> Device:
    return msgspec.structs.replace(
        parent, id=f"nvidia:{uuid}", uuid=uuid, parent_id=parent.id, partition=name
    )


def known(found: Workloads, shot: Snapshot) -> Snapshot:
    """The snapshot after the sources have been read with its processes in view."""
    found.annotate(shot)
    found.refresh()
    return found.annotate(shot)


def owners(shot: Snapshot) -> list[tuple[Owner, ...]]:
    return [one.owners for one in shot.devices]


def kubernetes(**fields: str) -> Owner:
    return Owner(kind="kubernetes", **fields)


def test_the_kubelet_tells_the_pod_also_of_an_idle_device(
    node: FakeNode, kubelet: FakeKubelet
) -> None:
    node.pod("ml", "train-0", UID, "main")
    body = wire.pod(
        "ml",
        "train-0",
        wire.container("main", wire.devices("nvidia.com/gpu", [f"{device(1).uuid}"])),
    )
    kubelet.answers(wire.reply(body))
    found = workloads(node, kubelet.path)
    shot = known(found, snapshot(view(0), view(1)))
    expected = kubernetes(
        namespace="ml", pod="train-0", pod_uid=UID, container="main", resource="nvidia.com/gpu"
    )
    assert owners(shot) == [(), (expected,)]
    status = {one.name: one for one in found.status()}
    assert status["podresources"].state is SourceState.OK
    assert status["podresources"].entries == 1
    assert status["slurm"].state is SourceState.ABSENT


def test_replicas_of_one_device_are_several_owners(node: FakeNode, kubelet: FakeKubelet) -> None:
    uuid = device(0).uuid
    pods = [
        wire.pod("ml", name, wire.container("c", wire.devices("nvidia.com/gpu", [f"{uuid}::{at}"])))
        for at, name in enumerate(("a", "b", "b"))
    ]
    kubelet.answers(wire.reply(b"".join(pods)))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert [one.pod for one in shot.devices[0].owners] == ["a", "b"]


def test_a_partition_has_its_own_owner(node: FakeNode, kubelet: FakeKubelet) -> None:
    """The process is seen on the parent too, and belongs to the partition only."""
    whole = device(0)
    part = partition(whole, "gi1/ci0", MIG)
    start = node.process(71, IN_POD)
    kubelet.answers(
        wire.reply(
            wire.pod("ml", "p", wire.container("c", wire.devices("nvidia.com/mig-1g.10gb", [MIG])))
        )
    )
    shot = snapshot(
        with_processes(0, process(whole, 71, start)), msgspec.structs.replace(view(0), device=part)
    )
    assert owners(known(workloads(node, kubelet.path), shot)) == [
        (),
        (kubernetes(namespace="ml", pod="p", container="c", resource="nvidia.com/mig-1g.10gb"),),
    ]


def test_processes_tell_where_the_kubelet_says_nothing(node: FakeNode) -> None:
    node.pod("ml", "train-0", UID, "main", "sidecar")
    node.container_log("ml", "train-0", "main", CONTAINER)
    start = node.process(71, IN_POD)
    shot = known(
        workloads(node), snapshot(with_processes(0, process(device(0), 71, start)), view(1))
    )
    owner = kubernetes(namespace="ml", pod="train-0", pod_uid=UID, container="main")
    assert owners(shot) == [(owner,), ()]
    (one,) = shot.devices[0].reading.processes or ()
    assert (one.pod, one.container, one.job) == ("ml/train-0", CONTAINER, None)


def test_annotating_twice_changes_nothing(node: FakeNode) -> None:
    node.pod("ml", "train-0", UID, "main")
    start = node.process(71, IN_POD)
    found = workloads(node)
    once = known(found, snapshot(with_processes(0, process(device(0), 71, start))))
    assert found.annotate(once) == once
    assert once.devices[0].owners[0].pod_uid == UID


def test_a_process_without_a_start_time_is_not_looked_up(node: FakeNode) -> None:
    """Its pid may be of a recording, or used again."""
    node.process(71, IN_POD)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, None))))
    assert owners(shot) == [()]


def test_a_pod_without_a_name_keeps_its_uid(node: FakeNode) -> None:
    filled = process(device(0), 71, None, pod=UID, container=CONTAINER)
    shot = known(workloads(node), snapshot(with_processes(0, filled)))
    assert owners(shot) == [(kubernetes(pod_uid=UID),)]
    assert (shot.devices[0].reading.processes or ())[0].pod == UID


def test_of_namesakes_the_newest_pod_counts(node: FakeNode, kubelet: FakeKubelet) -> None:
    import os

    newer = UID.replace("0b1c", "ffff")
    for uid, changed in ((newer, 2_000), (UID, 1_000)):
        node.pod("ml", "db-0", uid, "main")
        os.utime(node.root / f"var/log/pods/ml_db-0_{uid}", (changed, changed))
    body = wire.pod(
        "ml", "db-0", wire.container("main", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}"]))
    )
    kubelet.answers(wire.reply(body))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert shot.devices[0].owners[0].pod_uid == newer


@pytest.mark.parametrize(
    "place",
    [
        "kubepods.slice/kubepods-pod{0}.slice",
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{0}.slice",
        "memory/kubepods/besteffort/pod{1}",
        "kubepods/pod{1}",
        "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{0}.slice",
        "docker/aa/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{0}.slice",
    ],
)
def test_a_completed_pod_has_its_device_no_more(
    node: FakeNode, kubelet: FakeKubelet, place: str
) -> None:
    """The kubelet goes on naming it after the device was given to another pod."""
    ended = UID.replace("0b1c", "dead")
    node.pod("ml", "done", ended, "main")
    node.pod("ml", "next", UID, "main")
    node.cgroup(place.format(UID_, UID))
    given = wire.container("main", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}"]))
    pods = [wire.pod("ml", name, given) for name in ("done", "next", "unnamed")]
    kubelet.answers(wire.reply(b"".join(pods)))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert [one.pod for one in shot.devices[0].owners] == ["next", "unnamed"]


@pytest.mark.parametrize("named", [True, False])
def test_a_container_without_a_pod(node: FakeNode, named: bool) -> None:
    start = node.process(71, f"0::/system.slice/docker-{CONTAINER}.scope\n")
    if named:
        config = '{"Name": "/lab", "Config": {"Env": ["SECRET=hush"]}}'
        node.file(f"var/lib/docker/containers/{CONTAINER}/config.v2.json", config)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, start))))
    name = "lab" if named else CONTAINER[:12]
    assert owners(shot) == [(Owner(kind="container", container=name),)]


def test_a_busy_and_an_idle_device_of_a_slurm_job(node: FakeNode) -> None:
    told = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_USER": "ada",
        "SLURM_JOB_ACCOUNT": "physics",
        "SLURM_JOB_PARTITION": "h100",
        "SLURM_JOB_GPUS": "0,1",
    }
    start = node.process(71, IN_JOB.format(7), told)
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0/user/task_0", 71)
    busy = with_processes(0, process(device(0), 71, start, job="7"))
    shot = known(workloads(node), snapshot(busy, view(1), view(2)))
    job = Owner(
        kind="job", scheduler="slurm", job_id="7", user="ada", account="physics", queue="h100"
    )
    assert owners(shot) == [(job,), (job,), ()]


def test_a_job_whose_environment_is_not_ours_to_read(node: FakeNode) -> None:
    start = node.process(71, IN_JOB.format(7))
    (node.root / "proc/71/environ").unlink()
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0", 71)
    found = workloads(node)
    shot = known(found, snapshot(with_processes(0, process(device(0), 71, start)), view(1)))
    assert owners(shot) == [(Owner(kind="job", scheduler="slurm", job_id="7", user="4242"),), ()]
    (one,) = shot.devices[0].reading.processes or ()
    assert one.job == "7"
    (slurm,) = [one for one in found.status() if one.name == "slurm"]
    assert slurm.state is SourceState.FAILED
    assert "CAP_SYS_PTRACE" in slurm.remedy
    assert [check.ok for check in found.checks() if check.subject.startswith("slurm")] == [False]


def test_the_order_of_gpus_can_be_given(node: FakeNode) -> None:
    node.process(71, IN_JOB.format(7), {"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0,2"})
    node.cgroup("system.slice/slurmstepd.scope/job_7/step_0", 71)
    found = workloads(node, gpu_order={"0": "0000:1a:00.0", "2": "GPU-of-nobody"})
    shot = known(found, snapshot(view(0), view(1), view(2)))
    assert [bool(held) for held in owners(shot)] == [False, False, True]


def test_prolog_files_of_both_layouts(node: FakeNode) -> None:
    whole = device(1)
    node.file("jobs/0", "41\n")
    node.file("jobs/1.2", "42\n")
    node.file(
        "amd/2", '{"SLURM_JOB_ID": "43", "SLURM_JOB_USER": "ada", "SLURM_JOB_PARTITION": "q"}'
    )
    part = msgspec.structs.replace(view(1), device=partition(whole, "gi2/ci0", MIG))
    found = workloads(node, job_dirs=(node.root / "jobs", node.root / "amd", node.root / "none"))
    shot = known(found, snapshot(view(0), view(1), part, view(2)))
    told = [[(one.job_id, one.user, one.queue) for one in held] for held in owners(shot)]
    assert told == [[("41", "", "")], [], [("42", "", "")], [("43", "ada", "q")]]
    states = [(one.state, one.entries) for one in found.status() if one.name == "job_dir"]
    assert states == [(SourceState.OK, 2), (SourceState.OK, 1), (SourceState.ABSENT, 0)]


def test_a_stale_prolog_file_is_noticed_where_slurm_keeps_cgroups(node: FakeNode) -> None:
    node.file("jobs/0", "41\n42\n")
    node.cgroup("system.slice/slurmstepd.scope/job_42/step_batch", 9)
    shot = known(workloads(node, job_dirs=(node.root / "jobs",)), snapshot(view(0)))
    assert [one.job_id for one in shot.devices[0].owners] == ["42"]


def test_garbage_in_all_files_of_a_folder_is_told(node: FakeNode) -> None:
    node.file("jobs/0", "\x00\x01 what is this\n")
    found = workloads(node, job_dirs=(node.root / "jobs",))
    found.refresh()
    (status,) = [one for one in found.status() if one.name == "job_dir"]
    assert (status.state, status.reason) == (SourceState.FAILED, "protocol")


@pytest.mark.parametrize(
    ("variables", "job_id"),
    [({"PBS_JOBID": "12.pbs01"}, "12.pbs01"), ({"LSB_JOBID": "5", "LSFUSER": "ada"}, "5")],
)
def test_other_schedulers_by_the_environment(
    node: FakeNode, variables: dict[str, str], job_id: str
) -> None:
    start = node.process(71, "0::/user.slice\n", variables)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, start))))
    (owner,) = shot.devices[0].owners
    assert owner.job_id == job_id
    assert owner.user == variables.get("LSFUSER", "4242")
    assert (shot.devices[0].reading.processes or ())[0].job == job_id


def test_a_pod_within_a_job_is_both(node: FakeNode) -> None:
    both = IN_JOB.format(7).strip() + f"/kubepods-pod{UID_}.slice/crio-{CONTAINER}.scope\n"
    start = node.process(71, both)
    shot = known(workloads(node), snapshot(with_processes(0, process(device(0), 71, start))))
    assert {one.kind for one in shot.devices[0].owners} == {"kubernetes", "job"}


def test_foreign_pids_are_never_looked_up(node: FakeNode) -> None:
    start = node.process(71, IN_POD)
    foreign = process(device(0), 71, start, pid_namespace="foreign")
    shot = known(workloads(node), snapshot(with_processes(0, foreign)))
    assert owners(shot) == [()]
    assert (shot.devices[0].reading.processes or ())[0] == foreign


def test_sources_left_out_say_nothing(node: FakeNode, kubelet: FakeKubelet) -> None:
    start = node.process(71, IN_POD, {"PBS_JOBID": "1"})
    found = workloads(node, kubelet.path, sources=frozenset())
    shot = known(
        found, snapshot(with_processes(0, process(device(0), 71, start, pod=UID, job="9")))
    )
    assert owners(shot) == [()]
    assert kubelet.requests == []
    assert {one.state for one in found.status()} == {SourceState.OFF}
    assert all(check.ok for check in found.checks())


def test_a_name_that_matches_no_device_is_told(node: FakeNode, kubelet: FakeKubelet) -> None:
    body = wire.pod(
        "ml",
        "p",
        wire.container(
            "c", wire.devices("nvidia.com/gpu", ["GPU-strange"]), wire.devices("x/kvm", ["0"])
        ),
    )
    kubelet.answers(wire.reply(body))
    found = workloads(node, kubelet.path)
    known(found, snapshot(view(0)))
    status = found.status()[0]
    assert status.reason == "unmatched"
    assert status.message == "1 device names of the kubelet match no device: GPU-strange"


def test_owners_are_bounded(
    node: FakeNode, kubelet: FakeKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocation_module, "MAX_OWNERS", 5)
    pods = (
        wire.pod(
            "ml",
            f"p{at}",
            wire.container("c", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}::{at}"])),
        )
        for at in range(9)
    )
    kubelet.answers(wire.reply(b"".join(pods)))
    shot = known(workloads(node, kubelet.path), snapshot(view(0)))
    assert len(shot.devices[0].owners) == 5


def test_the_last_good_answer_stands_for_a_while(node: FakeNode, kubelet: FakeKubelet) -> None:
    body = wire.pod(
        "ml", "p", wire.container("c", wire.devices("nvidia.com/gpu", [f"{device(0).uuid}"]))
    )
    kubelet.answers(wire.reply(body))
    clock = ManualClock()
    settings = WorkloadSettings(
        root=node.root, kubelet_socket=kubelet.path, pod_logs=node.root / "none", keep_s=600
    )
    found = Workloads(settings, clock=clock)
    shot = snapshot(view(0))
    found.refresh()
    kubelet.close()
    clock.advance(100)
    found.refresh()
    status = found.status()[0]
    assert (status.state, status.reason, status.age_s) == (SourceState.FAILED, "absent", 100)
    assert len(found.annotate(shot).devices[0].owners) == 1
    clock.advance(501)
    found.refresh()
    assert found.annotate(shot).devices[0].owners == ()


def test_a_kubelet_that_fails_is_asked_less_and_less_often(
    node: FakeNode, kubelet: FakeKubelet
) -> None:
    kubelet.answers(b"garbage, and long enough for a frame")
    clock = ManualClock()
    settings = WorkloadSettings(root=node.root, kubelet_socket=kubelet.path, interval_s=10)
    found = Workloads(settings, clock=clock)
    for _ in range(60):
        found.refresh()
        clock.advance(10)
    asked = len(kubelet.requests)
    assert 5 <= asked <= 12
    kubelet.answers(wire.reply(b""))
    clock.advance(120)
    found.refresh()
    assert found.status()[0].state is SourceState.OK


def test_a_snapshot_with_nothing_to_add_stays_the_same(node: FakeNode) -> None:
    plain = view(0)
    bare = msgspec.structs.replace(
        plain, reading=msgspec.structs.replace(plain.reading, processes=None)
    )
    shot = snapshot(bare)
    assert workloads(node).annotate(shot).devices[0] is bare


def test_the_thread_finds_new_processes_and_ends(node: FakeNode) -> None:
    start = node.process(71, IN_POD)
    found = workloads(node, interval_s=0.05)
    shot = snapshot(with_processes(0, process(device(0), 71, start)))
    found.start()
    found.start()
    waiting = threading.Event()
    for _ in range(100):
        if found.annotate(shot).devices[0].owners:
            break
        waiting.wait(0.02)
    assert found.annotate(shot).devices[0].owners == (kubernetes(pod_uid=UID),)
    found.stop()
    assert not [one for one in threading.enumerate() if one.name == "workloads" and one.is_alive()]


def test_stopping_does_not_wait_for_a_kubelet_that_hangs(
    node: FakeNode, kubelet: FakeKubelet
) -> None:
    asked, done = threading.Event(), threading.Event()

    def hang(_connection: object) -> None:
        asked.set()
        done.wait(5)

    kubelet.script = hang
    found = workloads(node, kubelet.path)
    found.start()
    assert asked.wait(5)
    assert found.annotate(snapshot(view(0))).devices[0].owners == ()
    found.stop()
    done.set()


def test_a_defect_in_a_source_is_told_and_does_not_end_the_thread(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_root: Path) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(job_cgroups, "read", broken)
    found = workloads(node, interval_s=0.02)
    with caplog.at_level(logging.WARNING):
        found.start()
        waiting = threading.Event()
        for _ in range(100):
            if found.status()[-1].name == "workloads":
                break
            waiting.wait(0.02)
        assert "a defect" in found.status()[-1].message
        monkeypatch.undo()
        for _ in range(100):
            if found.status()[-1].name != "workloads":
                break
            waiting.wait(0.02)
    found.stop()
    assert found.status()[-1].name == "slurm"
    assert [one.message for one in caplog.records if "cannot be read" in one.message] == [
        "workloads cannot be read error=RuntimeError('a defect')"
    ]


OWNED = (
    kubernetes(namespace="ml", pod="p", container="c", pod_uid=UID, resource="nvidia.com/gpu"),
    Owner(kind="job", scheduler="slurm", job_id="7", user="ada", account="physics", queue="h100"),
)


def owned_snapshot() -> Snapshot:
    part = msgspec.structs.replace(
        view(0), device=partition(device(0), "gi1/ci0", MIG), owners=OWNED[:1]
    )
    return snapshot(msgspec.structs.replace(view(0), owners=OWNED[1:]), part)


def test_the_exposition_names_owners_of_devices_and_partitions() -> None:
    lines = [
        line
        for line in Renderer().render(owned_snapshot(), Selection()).splitlines()
        if "allocation_info{" in line
    ]
    identity = f'vendor="nvidia",device="nvidia0",uuid="{device(0).uuid}"'
    assert lines == [
        f'accel_kubernetes_allocation_info{{{identity},partition="gi1/ci0",namespace="ml",pod="p",'
        f'container="c",pod_uid="{UID}",resource="nvidia.com/gpu"}} 1',
        f'accel_job_allocation_info{{{identity},scheduler="slurm",job_id="7",user="ada",'
        'account="physics",queue="h100"} 1',
    ]


JOIN = """
rule_files: []
tests:
  - interval: 15s
    input_series:
{series}
    promql_expr_test:
      - expr: >-
          accel_power_watts
          * on (instance, uuid) group_left (job_id, user) accel_job_allocation_info
        eval_time: 15s
        exp_samples:
          - labels: '{{vendor="nvidia", device="nvidia0", uuid="{uuid}", instance="a:1",
              job_id="7", user="ada"}}'
            value: 642.125
"""


def test_the_documented_join_works_in_prometheus(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not on PATH (Debian: apt install prometheus)")
    text = Renderer().render(owned_snapshot(), Selection())
    series = "\n".join(
        f"      - series: '{name[:-1]},instance=\"a:1\"}}'\n        values: '{value} {value}'"
        for name, value in (
            line.rsplit(" ", 1)
            for line in text.splitlines()
            if line.startswith(("accel_power_watts{", "accel_job_allocation_info{"))
        )
    )
    rules = tmp_path / "join.yml"
    rules.write_text(JOIN.format(series=series, uuid=device(0).uuid))
    run = subprocess.run(
        [promtool, "test", "rules", str(rules)], text=True, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
