"""Nodes and pods of a large cluster as an API server sends them, of the size that they have there.

A node has the 50 images that a kubelet lists at most; a pod has two containers, eight variables, the
volumes of a training job and managedFields.
"""

import json
from typing import Any

# Pods of a Job, beside each other on the nodes.
PODS_OF_A_JOB = 64


def node(index: int, version: int) -> dict[str, Any]:
    """A node with eight devices."""
    labels = {
        f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{number}": "true" for number in range(30)
    }
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": f"2026-11-28T21:{version % 60:02d}:00Z",
            "lastTransitionTime": "2026-11-01T00:00:00Z",
            "reason": f"KubeletHas{kind}",
            "message": f"kubelet has sufficient {kind} available",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {
            "names": [
                f"registry.example/team/image{number}@sha256:{number:064x}",
                f"registry.example/team/image{number}:v1.{number}",
            ],
            "sizeBytes": 1_000_000_000 + number,
        }
        for number in range(50)
    ]
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": f"gpu-{index:05d}",
            "uid": f"11111111-0000-4000-8000-{index:012d}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": {
                **labels,
                "kubernetes.io/hostname": f"gpu-{index:05d}",
                "topology.kubernetes.io/zone": f"zone-{index % 3}",
                "node.kubernetes.io/instance-type": "8xgpu",
            },
            "annotations": {"csi.volume.kubernetes.io/nodeid": "x" * 200},
        },
        "spec": {
            "podCIDR": f"10.{index % 250}.0.0/24",
            "providerID": f"example:///zone/{index}",
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        },
        "status": {
            "capacity": {"cpu": "192", "memory": "2113Gi", "nvidia.com/gpu": "8", "pods": "110"},
            "allocatable": {"cpu": "190", "memory": "2100Gi", "nvidia.com/gpu": "8", "pods": "110"},
            "conditions": conditions,
            "addresses": [
                {"type": "InternalIP", "address": f"10.200.{index // 250}.{index % 250}"},
                {"type": "Hostname", "address": f"gpu-{index:05d}"},
            ],
            "nodeInfo": {
                "machineID": f"{index:032x}",
                "systemUUID": f"22222222-0000-4000-8000-{index:012d}",
                "bootID": f"33333333-0000-4000-8000-{index:012d}",
                "kernelVersion": "6.8.0",
                "kubeletVersion": "v1.37.2",
            },
            "images": images,
        },
    }


def pod(index: int, nodes: int, version: int, phase: str = "Running") -> dict[str, Any]:
    """A pod of a Job, or one of twenty of a DaemonSet and the like on its node."""
    job = f"train-{index // PODS_OF_A_JOB:05d}"
    namespace = f"team-{index // PODS_OF_A_JOB % 40}"
    name = f"{job}-{index % PODS_OF_A_JOB}-{index:05x}"
    container = {
        "name": "main",
        "image": f"registry.example/team/train@sha256:{index // 1000:064x}",
        "command": ["/bin/sh", "-c", "torchrun --nnodes=8 --nproc-per-node=8 train.py"],
        "env": [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(8)],
        "resources": {
            "limits": {"nvidia.com/gpu": "8", "memory": "1Ti"},
            "requests": {"nvidia.com/gpu": "8", "cpu": "64"},
        },
        "volumeMounts": [
            {"name": f"volume-{number}", "mountPath": f"/mnt/{number}"} for number in range(6)
        ],
    }
    fields: dict[str, Any] = {
        f"f:{part}": {f"f:{name}": {".": {}} for name in ("a", "b", "c", "d", "e", "f")}
        for part in ("metadata", "spec", "status", "conditions", "containers", "volumes")
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "generateName": f"{job}-",
            "namespace": namespace,
            "uid": f"44444444-0000-4000-8000-{index:012d}",
            "resourceVersion": str(version),
            "creationTimestamp": "2026-11-20T00:00:00Z",
            "labels": {
                "batch.kubernetes.io/job-name": job,
                "batch.kubernetes.io/job-completion-index": str(index % PODS_OF_A_JOB),
                "app": "train",
            },
            "annotations": {"batch.kubernetes.io/job-completion-index": "1"},
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": job,
                    "uid": f"55555555-0000-4000-8000-{index // PODS_OF_A_JOB:012d}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {"manager": manager, "operation": "Update", "time": "2026-11-20T00:00:00Z"}
                | {"fieldsType": "FieldsV1", "fieldsV1": fields}
                for manager in ("kube-controller-manager", "kubelet")
            ],
        },
        "spec": {
            "nodeName": f"gpu-{index % nodes:05d}",
            "containers": [container, {**container, "name": "sidecar"}],
            "volumes": [{"name": f"volume-{number}", "emptyDir": {}} for number in range(6)],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}] * 3,
            "restartPolicy": "Never",
        },
        "status": {
            "phase": phase,
            "podIP": "10.1.2.3",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-11-20T00:00:00Z"}
                for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {"name": name, "ready": True, "restartCount": 0, "containerID": f"c://{index:064x}"}
                for name in ("main", "sidecar")
            ],
        },
    }


def encoded(document: object) -> bytes:
    """As an API server writes it: without spaces."""
    return json.dumps(document, separators=(",", ":")).encode()
