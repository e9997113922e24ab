"""The objects of a lab: its nodes and its Job, as they are sent to the API server."""

import sys
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.api import Object
from accelwatch_lab.cluster.kubernetes.nodes.fitting import GPU
from accelwatch_lab.simulator.nodes import Node

NAMESPACE = "default"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SPARE_TAINT = "accelwatch.io/spare"
# Seconds in which a worker ends by itself, with time to spare.
_GRACE_S = 5
_GPUS = 8


def node_of(machine: Node, *, spare: bool) -> Object:
    """A simulated machine as its kubelet registers it."""
    taints = [{"key": SPARE_TAINT, "effect": "NoSchedule"}] if spare else []
    amounts = {"cpu": "96", "memory": "2Ti", "pods": "110", GPU: str(_GPUS)}
    labels = {
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [
                {"type": "InternalIP", "address": address_of(machine)},
                {"type": "Hostname", "address": machine.name},
            ],
            "nodeInfo": {
                "machineID": machine.boot_id.replace("-", ""),
                "systemUUID": machine.boot_id,
                "bootID": machine.boot_id,
                "kernelVersion": "6.8.0",
                "osImage": "accelwatch lab",
                "containerRuntimeVersion": "lab://1",
                "kubeletVersion": "v1.37.2",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def address_of(machine: Node) -> str:
    """Of loopback: another one for each node."""
    return f"127.0.0.{machine.index + 1}"


def job_of(name: str, count: int, folder: Path) -> Object:
    """A Job over so many nodes whose pods run the workers.

    A disruption is no failure of it, and a pod is replaced when nothing of it is left: two copies at a
    time would write into one checkpoint.
    """
    container = {
        "name": "worker",
        "image": "accelwatch/lab",
        "command": [sys.executable, "-m", "accelwatch_lab.cluster.kubernetes.worker"],
        "args": [str(folder), str(count)],
        "env": [
            {"name": "JOB_NAME", "value": name},
            _field("POD_NAME", "metadata.name"),
            _field("NODE_NAME", "spec.nodeName"),
        ],
        "resources": {"limits": {GPU: str(_GPUS)}, "requests": {GPU: str(_GPUS)}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            "backoffLimit": 6,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    }
                ]
            },
            "template": {
                "metadata": {"labels": {"app": "lab"}},
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": _GRACE_S,
                    "containers": [container],
                },
            },
        },
    }


def notebook_on(node: str) -> Object:
    """A pod of another user, which has one GPU of a node."""
    container = {
        "name": "notebook",
        "image": "accelwatch/lab",
        "command": ["sleep", "infinity"],
        "resources": {"limits": {GPU: "1"}, "requests": {GPU: "1"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "notebook", "labels": {"app": "notebook"}},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [container],
        },
    }


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
