"""The JobSet controller and its restart agents as processes, beside the real API server.

`make jobset` builds both from JobSet's repository. Nodes are names: a pod that is bound runs nothing but
the restart agent, in mounts of its own, where it finds the namespace of its pod.
"""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from accelwatch_lab.cluster.cached_programs import cached
from accelwatch_lab.cluster.kubernetes.access import Account
from accelwatch_lab.cluster.kubernetes.api import pod_path
from accelwatch_lab.cluster.ports import free_ports
from support.kubernetes.objects import MERGE, NODES
from support.kubernetes.real import RealCluster
from support.servers.certificate_authority import Authority

Object = dict[str, Any]
VERSION = "0.12.0"
FOLDER = cached("jobset", VERSION)
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HOOKS = "/apis/admissionregistration.k8s.io/v1"
_ROUND_S = 0.05
# Where an agent reads the namespace of its pod. Nothing outside the mounts of the process changes.
_IN_A_POD = """\
mount -t tmpfs none /run
mkdir -p /var/run/secrets/kubernetes.io/serviceaccount
printf default >/var/run/secrets/kubernetes.io/serviceaccount/namespace
exec "$0"
"""


def built() -> Path:
    """The folder of programs and custom resource definition; skips the test where they are not."""
    if not (FOLDER / "in-place-restart-agent").exists():
        pytest.skip(f"the JobSet controller is not in {FOLDER}: make jobset")
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not on PATH; util-linux has it")
    return FOLDER


def kubeconfig(cluster: RealCluster) -> Path:
    """Of an administrator."""
    return cluster.servers.folder / f"{Account.ADMIN}.kubeconfig"


@contextlib.asynccontextmanager
async def controller(cluster: RealCluster, folder: Path) -> AsyncIterator[None]:
    """The controller with InPlaceRestart and its webhooks, while the block runs."""
    definition = yaml.safe_load((built() / "crd.yaml").read_text())
    await cluster.request("POST", _CRDS, definition)
    webhooks, health = free_ports(2)
    authority = Authority(folder)
    authority.issue("tls")  # the names of its files are those that the controller reads
    config = folder / "controller.yaml"
    settings = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(folder)},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "featureGates": {"InPlaceRestart": True},
    }
    config.write_text(json.dumps(settings))
    with (folder / "controller.log").open("wb") as log:
        words = [str(built() / "jobset"), f"--config={config}"]
        environ = {**os.environ, "KUBECONFIG": str(kubeconfig(cluster))}
        process = subprocess.Popen(words, env=environ, stdout=log, stderr=log)
    try:
        for kind, verb in (("Mutating", "mutate"), ("Validating", "validate")):
            hook = _webhook(kind, verb, webhooks, authority)
            await cluster.ask("POST", f"{_HOOKS}/{kind.lower()}webhookconfigurations", hook)
        yield
    finally:
        process.terminate()
        process.wait()


def _webhook(kind: str, verb: str, port: int, authority: Authority) -> Object:
    url = f"https://127.0.0.1:{port}/{verb}-jobset-x-k8s-io-v1alpha2-jobset"
    bundle = base64.b64encode(authority.file.read_bytes()).decode()
    rule = {
        "apiGroups": ["jobset.x-k8s.io"],
        "apiVersions": ["v1alpha2"],
        "operations": ["CREATE"],
        "resources": ["jobsets"],
    }
    hook = {
        "name": f"{verb}.jobset.example.net",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": bundle},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [rule],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "jobset"},
        "webhooks": [hook],
    }


class Running(NamedTuple):
    """The container of a pod."""

    process: subprocess.Popen[bytes]
    restarts: int


class PodsOfAgents:
    """Scheduler and kubelets: one pod a node, each with a restart agent, restarted in place."""

    def __init__(self, cluster: RealCluster, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        self._running: dict[str, Running] = {}

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """While the block runs."""
        stops = asyncio.Event()
        task = asyncio.create_task(self._run(stops))
        try:
            yield
        finally:
            stops.set()
            await task
            for running in self._running.values():
                _end(running.process)

    async def _run(self, stops: asyncio.Event) -> None:
        while not stops.is_set():
            pods = (await self._cluster.ask("GET", "/api/v1/pods"))["items"]
            for pod in pods:
                await self._turn(pod, pods)
            await asyncio.sleep(_ROUND_S)

    async def _turn(self, pod: Object, pods: list[Object]) -> None:
        uid = pod["metadata"]["uid"]
        if not pod["spec"].get("nodeName"):
            await self._bind(pod, pods)
        elif "deletionTimestamp" in pod["metadata"]:
            if uid in self._running:
                _end(self._running.pop(uid).process)
                await self._report(pod, "Failed", {"terminated": {"exitCode": 143}}, 0)
            body = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            await self._cluster.request("DELETE", pod_path(pod), body)
        elif pod["status"].get("phase") == "Pending":
            self._running[uid] = Running(self._start(pod), 0)
            await self._report(pod, "Running", _running_now(), 0)
        elif uid in self._running and self._running[uid].process.poll() is not None:
            # restartPolicyRules: every exit code but 0 restarts the container where it is.
            _end(self._running[uid].process)
            restarts = self._running[uid].restarts + 1
            self._running[uid] = Running(self._start(pod), restarts)
            await self._report(pod, "Running", _running_now(), restarts)

    def _start(self, pod: Object) -> subprocess.Popen[bytes]:
        annotations, name = pod["metadata"]["annotations"], pod["metadata"]["name"]
        own = {
            "KUBECONFIG": str(kubeconfig(self._cluster)),
            "JOBSET_NAME": annotations["jobset.sigs.k8s.io/jobset-name"],
            "POD_NAME": name,
            "SHELL": "/bin/sh",
            "WORKER_COMMAND": f"echo {name} >>{self._folder}/workers; exec sleep 3600",
        }
        words = ["unshare", "-rm", "sh", "-c", _IN_A_POD, str(built() / "in-place-restart-agent")]
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                words, env={**os.environ, **own}, stdout=log, stderr=log, start_new_session=True
            )

    async def _bind(self, pod: Object, pods: list[Object]) -> None:
        taken = {
            other["spec"].get("nodeName")
            for other in pods
            if other["status"].get("phase") not in {"Failed", "Succeeded"}
        }
        for node in (await self._cluster.ask("GET", NODES))["items"]:
            name, spec = node["metadata"]["name"], node["spec"]
            if name not in taken and not spec.get("unschedulable") and not spec.get("taints"):
                binding = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": pod["metadata"]["name"]},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": name},
                }
                await self._cluster.request("POST", f"{pod_path(pod)}/binding", binding)
                pod["spec"]["nodeName"] = name
                return

    async def _report(self, pod: Object, phase: str, state: Object, restarts: int) -> None:
        container = {"name": "worker", "image": "none", "imageID": "", "restartCount": restarts}
        container |= {"ready": phase == "Running", "state": state}
        ready = {"type": "Ready", "status": str(phase == "Running")}
        status = {"phase": phase, "conditions": [ready], "containerStatuses": [container]}
        await self._cluster.request(
            "PATCH", f"{pod_path(pod)}/status", {"status": status}, kind=MERGE
        )


def _running_now() -> Object:
    return {"running": {"startedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}}


def _end(process: subprocess.Popen[bytes]) -> None:
    """The agent and its worker, which has its session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
