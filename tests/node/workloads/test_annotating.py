"""What annotating leaves as it is, and how the sources are read beside it, on good and bad days."""

import logging
import threading
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.clock import ManualClock
from accelwatch.node.workloads import SourceState, Workloads, WorkloadSettings
from accelwatch.node.workloads.sources import job_cgroups
from node.workloads import kubelet_wire as wire
from node.workloads.annotation import (
    IN_POD,
    known,
    kubernetes,
    owners,
    process,
    with_processes,
    workloads,
)
from node.workloads.fake_kubelet import FakeKubelet
from node.workloads.fake_node import UID, FakeNode
from support.machines.composed import device, snapshot, view
from support.processes.waiting import GUARD_S, wait_until


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


def test_a_kubelet_that_fails_is_queried_less_and_less_often(
    node: FakeNode, kubelet: FakeKubelet
) -> None:
    kubelet.answers(b"garbage, and long enough for a frame")
    clock = ManualClock()
    settings = WorkloadSettings(root=node.root, kubelet_socket=kubelet.path, interval_s=10)
    found = Workloads(settings, clock=clock)
    for _ in range(60):
        found.refresh()
        clock.advance(10)
    requested = len(kubelet.requests)
    assert 5 <= requested <= 12
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
    wait_until(lambda: found.annotate(shot).devices[0].owners)
    assert found.annotate(shot).devices[0].owners == (kubernetes(pod_uid=UID),)
    found.stop()
    wait_until(lambda: not any(thread.name == "workloads" for thread in threading.enumerate()))


def test_stopping_does_not_wait_for_a_kubelet_that_hangs(
    node: FakeNode, kubelet: FakeKubelet
) -> None:
    requested, done = threading.Event(), threading.Event()

    def hang(_connection: object) -> None:
        requested.set()
        done.wait(GUARD_S)

    kubelet.script = hang
    found = workloads(node, kubelet.path)
    found.start()
    assert requested.wait(GUARD_S)
    assert found.annotate(snapshot(view(0))).devices[0].owners == ()
    found.stop()
    done.set()
    # Left behind, it would read what the next test puts in place.
    wait_until(lambda: not any(thread.name == "workloads" for thread in threading.enumerate()))


def test_a_defect_in_a_source_is_reported_and_does_not_end_the_thread(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_root: Path) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(job_cgroups, "read", broken)
    found = workloads(node, interval_s=0.02)
    with caplog.at_level(logging.WARNING):
        found.start()
        wait_until(lambda: found.status()[-1].name == "workloads")
        assert "a defect" in found.status()[-1].message
        monkeypatch.undo()
        wait_until(lambda: found.status()[-1].name != "workloads")
    found.stop()
    assert found.status()[-1].name == "slurm"
    assert [one.message for one in caplog.records if "cannot be read" in one.message] == [
        "workloads cannot be read error=RuntimeError('a defect')"
    ]


def test_an_annotation_holds_until_a_process_or_a_fact_is_another(node: FakeNode) -> None:
    node.pod("ml", "train-0", UID, "main")
    start = node.process(71, IN_POD)
    found = workloads(node)
    busy = process(device(0), 71, start, gpu_memory_bytes=5)
    once = known(found, snapshot(with_processes(0, busy)))
    busier = process(device(0), 71, start, gpu_memory_bytes=6)
    again = found.annotate(snapshot(with_processes(0, busier)))
    assert [one.pod for one in again.processes()] == ["ml/train-0"]
    assert [one.gpu_memory_bytes for one in again.processes()] == [6]
    assert owners(again) == owners(once)
    other = process(device(0), 72, start)
    assert owners(found.annotate(snapshot(with_processes(0, other)))) == [()]
    node.process(72, IN_POD)
    assert owners(known(found, snapshot(with_processes(0, other)))) == owners(once)
