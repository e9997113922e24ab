"""The kubelet of one node of the lab: runs the pods bound to it as processes, and reports on them."""

import argparse
import logging
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.access import Account, access_of
from accelwatch_lab.cluster.kubernetes.api import Api, ApiRefusalError, Object, pod_path
from accelwatch_lab.cluster.kubernetes.nodes import pod_status
from accelwatch_lab.cluster.kubernetes.nodes.events import now, write_event
from accelwatch_lab.cluster.kubernetes.nodes.heartbeat import Heartbeat
from accelwatch_lab.cluster.kubernetes.nodes.pod_process import PodProcess
from accelwatch_lab.cluster.kubernetes.nodes.rounds import run_rounds
from accelwatch_lab.cluster.slurm.controller import NODE

_LOG = logging.getLogger(__name__)
_FINISHED = ("Succeeded", "Failed")
_KILLED = 137


class Kubelet:
    """It."""

    def __init__(self, api: Api, node: str, address: str, folder: Path) -> None:
        """What pods print goes into the folder."""
        self._api = api
        self._node = node
        self._address = address
        self._folder = folder
        self._heartbeat = Heartbeat(api, node)
        # By uid: a pod of the same name is another pod.
        self._processes: dict[str, PodProcess] = {}

    def round(self) -> None:
        """List the pods bound here; start or end them. Raises ApiRefusalError, NoAnswerError."""
        self._heartbeat.beat()
        pods = self._api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={self._node}")
        present = {pod["metadata"]["uid"] for pod in pods}
        for uid in [uid for uid in self._processes if uid not in present]:
            # Deleted by force: nobody reads any more how it ended.
            self._processes.pop(uid).kill()
        for pod in pods:
            try:
                self._update(pod)
            except ApiRefusalError as refusal:
                # The pod has changed or is gone: the next round sees it.
                _LOG.warning("pod not updated: %s", refusal)

    def _update(self, pod: Object) -> None:
        going = "deletionTimestamp" in pod["metadata"]
        phase = pod["status"].get("phase")
        process = self._processes.get(pod["metadata"]["uid"])
        if phase in _FINISHED:
            if going:
                self._remove(pod)
        elif process is None and (going or phase == "Running"):
            # Never started, or started before this kubelet was: its process is gone.
            self._write(pod, pod_status.finished(pod, now(), _KILLED, "ContainerStatusUnknown"))
        elif process is None:
            self._start(pod)
        elif process.exit_code is not None:
            self._write(pod, pod_status.finished(pod, now(), process.exit_code))
        elif going:
            process.end(float(pod["metadata"].get("deletionGracePeriodSeconds", 0)))
        elif phase != "Running":
            self._write(pod, pod_status.running(pod, now(), self._address))

    def _start(self, pod: Object) -> None:
        """The next round says that it runs."""
        uid = pod["metadata"]["uid"]
        self._processes[uid] = PodProcess(pod, self._folder, {NODE: self._node})
        write_event(self._api, "kubelet", pod, "Started", "Container started")

    def _write(self, pod: Object, status: Object) -> None:
        """Only onto what was read: a condition that came since then would be lost."""
        version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
        self._api.merge(f"{pod_path(pod)}/status", {"metadata": version, "status": status})

    def _remove(self, pod: Object) -> None:
        """Nothing of the pod is left here; finalizers of others may keep its object."""
        self._processes.pop(pod["metadata"]["uid"], None)
        if pod["metadata"].get("deletionGracePeriodSeconds") == 0:
            return
        uid = {"uid": pod["metadata"]["uid"]}
        self._api.delete(pod_path(pod), {"gracePeriodSeconds": 0, "preconditions": uid})


def main() -> None:
    """Run until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the access to the API server")
    parser.add_argument("node")
    parser.add_argument("address")
    parser.add_argument("output", type=Path, help="folder of what pods print")
    options = parser.parse_args()
    options.output.mkdir(exist_ok=True)
    logging.basicConfig()
    api = Api(access_of(options.folder, Account.CONTROLLERS), lasting=True)
    kubelet = Kubelet(api, options.node, options.address, options.output)
    run_rounds(kubelet.round)


if __name__ == "__main__":
    main()
