"""A lab's nodes on Kubernetes: where pods fit, what is written about them, how their workers count."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from accelwatch_lab.cluster.kubernetes.nodes import pod_status
from accelwatch_lab.cluster.kubernetes.nodes.fitting import GPU, node_for, obstacle, used_gpus
from accelwatch_lab.cluster.kubernetes.nodes.pod_process import PodProcess, variables_of
from accelwatch_lab.cluster.kubernetes.showing import job_shown, node_shown
from accelwatch_lab.cluster.kubernetes.worker import Counting, Member, Members
from accelwatch_lab.cluster.slurm.step_counter import lines_of
from accelwatch_lab.cluster.starts import starts_of
from accelwatch_lab.cluster.waiting import until

TAINT = {"key": "accelwatch.io/quarantine", "value": "r", "effect": "NoSchedule"}
READY = {"type": "Ready", "status": "True"}


def node(name: str, *taints: dict[str, str], gpus: int = 8, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"rack": name}},
        "spec": {"taints": list(taints), **spec},
        "status": {"allocatable": {GPU: str(gpus)}, "conditions": [READY]},
    }


def pod(gpus: int = 8, phase: str = "Pending", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: str(gpus)}}}
    return {
        "metadata": {"name": "p", "uid": "u", "annotations": {"a/b": "7"}},
        "spec": {"containers": [container], **spec},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": TAINT["key"], "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": TAINT["key"], "value": "r"}, True),
        ({"key": TAINT["key"], "value": "another"}, False),
        ({"key": "another", "operator": "Exists"}, False),
        ({"key": TAINT["key"], "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": TAINT["key"], "operator": "Exists", "effect": "NoSchedule"}, True),
    ],
)
def test_a_pod_goes_where_it_tolerates_the_taints(toleration: dict[str, str], fits: bool) -> None:
    assert "untolerated taint" in obstacle(pod(), node("n1", TAINT), 0)
    tolerating = pod(tolerations=[toleration])
    assert (node_for(tolerating, [node("n1", TAINT)], {}) == "n1") is fits


def test_a_pod_goes_to_the_first_node_that_takes_it() -> None:
    nodes = [
        node("n5"),
        node("n4"),
        node("n3", {"key": "k", "effect": "PreferNoSchedule"}, gpus=7),
        node("n2", {"key": "k", "effect": "NoExecute"}),
        node("n1", unschedulable=True),
    ]
    assert node_for(pod(), nodes, {}) == "n4"
    assert node_for(pod(), nodes, {"n4": 1}) == "n5"
    assert node_for(pod(7), nodes, {"n4": 2, "n5": 2}) == "n3"
    assert node_for(pod(nodeSelector={"rack": "n5"}), nodes, {}) == "n5"
    assert node_for(pod(), nodes, {"n4": 1, "n5": 1}) == ""


def test_gpus_are_used_until_a_pod_has_ended() -> None:
    pods = [
        pod(4, "Running", nodeName="n1"),
        pod(2, "Pending", nodeName="n1"),
        pod(8, "Failed", nodeName="n1"),
        pod(8, "Pending"),
    ]
    assert used_gpus(pods) == {"n1": 6}


def test_conditions_of_others_stay_on_a_pod() -> None:
    evicted = {"type": "DisruptionTarget", "status": "True"}
    running = pod(phase="Running")
    running["status"]["conditions"] = [READY, evicted]
    status = pod_status.finished(running, "2030-01-01T00:00:00Z", 143)
    kinds = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert (status["phase"], kinds["DisruptionTarget"], kinds["Ready"]) == (
        "Failed",
        "True",
        "False",
    )
    state = status["containerStatuses"][0]["state"]
    assert (state["terminated"]["exitCode"], state["running"]) == (143, None)
    assert pod_status.finished(running, "2030-01-01T00:00:00Z", 0)["phase"] == "Succeeded"


def test_a_container_has_its_variables() -> None:
    fields = {
        "NODE": "spec.nodeName",
        "NAME": "metadata.name",
        "INDEX": "metadata.annotations['a/b']",
    }
    one = pod(nodeName="n1")
    one["spec"]["containers"][0]["env"] = [
        {"name": "TEXT", "value": "t"},
        *(
            {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
            for name, path in fields.items()
        ),
    ]
    assert variables_of(one) == {"TEXT": "t", "NODE": "n1", "NAME": "p", "INDEX": "7"}


def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    ignoring = "trap : TERM; echo up; while :; do sleep 0.05; done"
    one = pod()
    one["spec"]["containers"][0]["command"] = ["sh", "-c", ignoring]
    process = PodProcess(one, tmp_path, {})

    def has_ended() -> bool:
        process.end(0.2)
        return process.exit_code is not None

    try:
        until(lambda: "up" in (tmp_path / "p.out").read_text(), "it runs")
        until(has_ended, "it has ended")
        assert process.exit_code == 128 + signal.SIGKILL
    finally:
        process.kill()


def test_a_node_is_shown_with_who_took_it_out() -> None:
    assert node_shown(node("n1"), busy=True).states == ("ALLOCATED",)
    spare = node_shown(
        node("n1", {"key": "accelwatch.io/spare", "effect": "NoSchedule"}), busy=False
    )
    assert (spare.states, spare.out) == (("IDLE",), False)
    ours = node("n1", TAINT)
    ours["metadata"]["annotations"] = {
        "accelwatch.io/hold": '{"incident":"i1","rule":"r","reason":"A GPU is lost","more":1}'
    }
    shown = node_shown(ours, busy=False)
    assert (shown.ours, shown.reason) == (True, "accelwatch:i1:r A GPU is lost")
    cordoned = node("n1", unschedulable=True)
    cordoned["metadata"]["annotations"] = {"example.com/reason": "power supply"}
    shown = node_shown(cordoned, busy=False)
    assert (shown.out, shown.ours, shown.reason) == (True, False, "power supply")
    assert node_shown(node("n1"), busy=False, off=True).states == ("IDLE", "DOWN")
    silent = node("n1", {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"})
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert node_shown(silent, busy=False).states == ("IDLE", "DOWN", "NOT_RESPONDING")


def test_a_job_runs_when_all_its_pods_do() -> None:
    job: dict[str, Any] = {"spec": {"parallelism": 2}, "status": {}}
    pods = [pod(phase="Running", nodeName="n2"), pod(phase="Running", nodeName="n1")]
    assert job_shown(job, pods, 1) == ("RUNNING", ("n1", "n2"), 1)
    assert job_shown(job, pods[:1], 0).state == "PENDING"
    assert job_shown(job, [pods[0], pod(nodeName="n1")], 0) == ("PENDING", ("n2",), 0)
    job["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    assert job_shown(job, pods, 0).state == "FAILED"


def test_workers_are_there_while_they_say_so(tmp_path: Path) -> None:
    members = Members(tmp_path, "j")
    assert members.present(1, 100.0) is None
    members.beat(0, Member(pod="a", node="n1", time=100.0))
    assert members.present(2, 100.0) is None
    members.beat(1, Member(pod="b", node="n2", time=100.5))
    assert [member.pod for member in members.present(2, 100.9) or ()] == ["a", "b"]
    assert members.present(2, 101.2) is None


def test_counting_goes_on_from_the_checkpoint_with_other_workers(tmp_path: Path) -> None:
    def team(*pods: str) -> list[Member]:
        return [Member(pod=name, node=f"node-{name}", time=time.time()) for name in pods]

    (tmp_path / "jobs" / "j").mkdir(parents=True)
    counting = Counting(tmp_path, "j")
    try:
        counting.follow(team("a", "b"))
        counting.follow(team("a", "b"))
        until(lambda: any(line.what == "checkpoint" for line in lines_of(tmp_path, "j")), "saved")
        counting.follow(None)
        written = lines_of(tmp_path, "j")
        assert {line.restart for line in written} == {0}
        counting.follow(team("a", "c"))
        until(lambda: len(lines_of(tmp_path, "j")) > len(written), "it counts again")
        line = lines_of(tmp_path, "j")[len(written)]
        saved = max(line.step for line in written if line.what == "checkpoint")
        assert (line.what, line.step, line.restart) == ("begun", saved, 1)
        assert line.nodes == ("node-a", "node-c")
        assert starts_of(tmp_path, "j") == 2
    finally:
        counting.follow(None)
