"""Kubernetes as a lab's scheduler: real servers where they are in the cache, else the stand-in."""

import contextlib
import itertools
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import yaml

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.kubernetes.access import Account, token_file
from accelwatch_lab.cluster.kubernetes.api import Api, Object
from accelwatch_lab.cluster.kubernetes.hub_roles import roles
from accelwatch_lab.cluster.kubernetes.installed import API_SERVER, CONTROLLER_MANAGER, programs
from accelwatch_lab.cluster.kubernetes.manifests import (
    JOBS,
    PODS,
    address_of,
    job_of,
    node_of,
    notebook_on,
)
from accelwatch_lab.cluster.kubernetes.servers import Servers
from accelwatch_lab.cluster.kubernetes.showing import QUARANTINE, REASON, job_shown, node_shown
from accelwatch_lab.cluster.kubernetes.stand_in_server import StandInServer
from accelwatch_lab.cluster.processes import Processes
from accelwatch_lab.cluster.scheduler import JobNow, NodeNow
from accelwatch_lab.cluster.simulated import machines
from accelwatch_lab.cluster.slurm.controller import NODE
from accelwatch_lab.cluster.slurm.step_counter import job_folder
from accelwatch_lab.cluster.starts import starts_of
from accelwatch_lab.cluster.waiting import until

# A kubelet of the lab says each second that its node lives.
_GRACE_S = 8
_KUBELET = "accelwatch_lab.cluster.kubernetes.nodes.kubelet"
_SCHEDULING = "accelwatch_lab.cluster.kubernetes.nodes.scheduling"


class KubernetesScheduler:
    """It."""

    controller = API_SERVER
    controller_title = "the API server"
    shows_boots = True
    commands_wait_s = 3.0
    unplayable: Mapping[str, str] = MappingProxyType({})

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder = folder
        self.names: Sequence[str] = tuple(names)
        self.processes = Processes(folder)
        cached = programs()
        self._servers = (
            StandInServer(self.processes) if cached is None else Servers(self.processes, cached)
        )
        self.title = "Kubernetes" if cached is None else f"Kubernetes {cached.version}"
        self._api: Api | None = None
        # Of the pods that a Job has had.
        self._uids: dict[str, set[str]] = {}

    @property
    def shown_by(self) -> str:
        """A command of kubectl's."""
        return f"kubectl --kubeconfig {self._kubeconfig} get nodes,pods,events"

    @property
    def _kubeconfig(self) -> Path:
        return self._servers.folder / f"{Account.ADMIN}.kubeconfig"

    def start(self, spares: Sequence[str]) -> None:
        """The servers, a kubelet for each node, a scheduler of pods. Raises AccelwatchError."""
        self._start_servers()
        for path, entry in roles():
            self._admin.create(path, entry)
        for machine in machines(len(self.names)):
            self._admin.create("/api/v1/nodes", node_of(machine, spare=machine.name in spares))
            self.start_node(machine.name)
        argv = (sys.executable, "-m", _SCHEDULING, str(self._servers.folder))
        self.processes.start("scheduler", argv)
        until(self._is_up, "all nodes are Ready", 60.0)
        # The last node that is no spare is not free for a job: without the spare there is no room.
        others = [name for name in self.names if name not in spares]
        self._admin.create(PODS, notebook_on(others[-1]))

    def _start_servers(self) -> None:
        grace = f"--node-monitor-grace-period={_GRACE_S}"
        if isinstance(self._servers, Servers):
            # They check nodes more often than for the usual 50 seconds of grace.
            self._servers.start(f"{grace}s", "--node-monitor-period=1s")
        else:
            self._servers.start(grace)

    @property
    def _admin(self) -> Api:
        """Raises AccelwatchError before the start."""
        if self._api is None:
            self._api = Api(self._servers.access(Account.ADMIN))
        return self._api

    def _is_up(self) -> bool:
        return all("NOT_RESPONDING" not in node.states for node in self.nodes_now().values())

    def cancel_jobs(self) -> None:
        """They end with their nodes' kubelets; the controllers are slow to end by themselves."""
        self.processes.signal(CONTROLLER_MANAGER, signal.SIGKILL)

    def actions(self) -> str:
        """The action `kubernetes`."""
        power = [sys.executable, "-m", "accelwatch_lab.cluster.power", str(self._folder)]
        options = {
            "server": self._server(),
            "power_off": [*power, "off", "{node}"],
            "power_state": [*power, "is_off", "{node}"],
        }
        return _list_of("kubernetes", options)

    def sinks(self) -> str:
        """The receiver `kubernetes`, so that `kubectl` shows what is wrong with a node."""
        options = {"server": self._server(), "write": ["condition", "events"]}
        return _list_of("cluster", options)

    def _server(self) -> dict[str, str]:
        """The API server as the hub reaches it."""
        access = self._servers.access(Account.HUB)
        return {
            "api_server": access.url,
            "ca_file": str(access.ca_file),
            "token_file": str(token_file(self._servers.folder, Account.HUB)),
        }

    def submit(self, count: int) -> str:
        """Name of a Job whose workers count."""
        # A checkpoint stays when its Job is gone: another Job is not to go on from it.
        numbers = (number for number in itertools.count(1) if not self._was_job(f"job-{number}"))
        name = f"job-{next(numbers)}"
        self._admin.create(JOBS, job_of(name, count, self._folder))
        return name

    def _was_job(self, name: str) -> bool:
        return job_folder(self._folder, name).exists() or self.job_now(name) is not None

    def cancel(self, job: str) -> None:
        """End it."""
        with contextlib.suppress(AccelwatchError):
            self._admin.delete(f"{JOBS}/{job}", {"propagationPolicy": "Background"})

    def nodes_now(self) -> dict[str, NodeNow]:
        """Every node, in Slurm's words."""
        busy = {pod["spec"].get("nodeName", "") for pod in self._pods() if _is_active(pod)}
        running = {record.name for record in self.processes.running()}
        nodes = self._admin.items("/api/v1/nodes")
        names = [node["metadata"]["name"] for node in nodes]
        return {
            name: node_shown(node, busy=name in busy, off=self.daemon(name) not in running)
            for name, node in zip(names, nodes, strict=True)
        }

    def job_now(self, job: str) -> JobNow | None:
        """A Job; None when there is none."""
        current = self._admin.find(f"{JOBS}/{job}") if job else None
        if current is None:
            return None
        pods = [pod for pod in self._pods() if _job(pod) == job]
        uids = self._uids.setdefault(job, set())
        uids.update(pod["metadata"]["uid"] for pod in pods)
        # A pod that stands in for another, and, in a lab that another process reads, what the worker
        # has written.
        restarts = max(
            len(uids) - current["spec"]["parallelism"], starts_of(self._folder, job) - 1, 0
        )
        return job_shown(current, list(filter(_is_active, pods)), restarts)

    def _pods(self) -> list[Object]:
        return self._admin.items(PODS)

    def drain(self, node: str, reason: str) -> None:
        """As an administrator who claims it does: cordons it, and removes the hub's taint."""
        path = f"/api/v1/nodes/{node}"
        current = self._admin.get(path)
        taints = [
            taint for taint in current["spec"].get("taints") or () if taint["key"] != QUARANTINE
        ]
        metadata = {
            "resourceVersion": current["metadata"]["resourceVersion"],
            "annotations": {REASON: reason},
        }
        spec = {"unschedulable": True, "taints": taints}
        self._admin.merge(path, {"metadata": metadata, "spec": spec})

    def resume(self, node: str) -> None:
        """As an administrator does with `kubectl uncordon`."""
        patch = {
            "metadata": {"annotations": {REASON: None}},
            "spec": {"unschedulable": None},
        }
        self._admin.merge(f"/api/v1/nodes/{node}", patch)

    def daemon(self, node: str) -> str:
        """Its kubelet."""
        return f"kubelet.{node}"

    def start_node(self, node: str) -> None:
        """A kubelet for a node that has none."""
        (machine,) = (each for each in machines(len(self.names)) if each.name == node)
        argv = [sys.executable, "-m", _KUBELET, str(self._servers.folder), node]
        argv += [address_of(machine), str(self._folder / "pods")]
        self.processes.start(self.daemon(node), argv, {NODE: node})

    def output_of(self, name: str) -> str:
        """The end of what a process has printed."""
        try:
            return (self._folder / f"{name}.out").read_text(errors="replace")[-500:].strip()
        except OSError:
            return ""


def _list_of(name: str, options: Mapping[str, object]) -> str:
    """A list of one plug-in `kubernetes`, as it stands below a key of `hub.yaml`."""
    entry = {"name": name, "type": "kubernetes", "options": options}
    text: str = yaml.safe_dump([entry], sort_keys=False, width=1000)
    return "".join(f"  {line}\n" for line in text.splitlines())


def _job(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get("batch.kubernetes.io/job-name", ""))


def _is_active(pod: Object) -> bool:
    finished = pod["status"].get("phase") in ("Succeeded", "Failed")
    return not finished and "deletionTimestamp" not in pod["metadata"]
