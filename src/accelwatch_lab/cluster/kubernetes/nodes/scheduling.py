"""The lab's scheduler of pods, over the API: binds what waits to the first node that fits."""

import argparse
import logging
from collections import Counter
from pathlib import Path

from accelwatch_lab.cluster.kubernetes.access import Account, access_of
from accelwatch_lab.cluster.kubernetes.api import Api, Object, pod_path
from accelwatch_lab.cluster.kubernetes.nodes.events import write_event
from accelwatch_lab.cluster.kubernetes.nodes.fitting import (
    gpus_of,
    node_for,
    obstacle,
    used_gpus,
)
from accelwatch_lab.cluster.kubernetes.nodes.rounds import run_rounds

_NAME = "default-scheduler"


class PodScheduler:
    """It."""

    def __init__(self, api: Api) -> None:
        self._api = api
        # Pods that were reported to fit nowhere.
        self._refused: set[str] = set()

    def round(self) -> None:
        """Bind every pod that fits somewhere now. Raises ApiRefusalError, NoAnswerError."""
        pods = self._api.items("/api/v1/pods")
        waiting = [pod for pod in pods if _waits(pod)]
        if not waiting:
            return
        nodes = self._api.items("/api/v1/nodes")
        used = used_gpus(pods)
        for pod in sorted(waiting, key=_age):
            name = node_for(pod, nodes, used)
            if name:
                used[name] = used.get(name, 0) + gpus_of(pod)
                self._bind(pod, name)
            else:
                self._refuse(pod, nodes, used)

    def _bind(self, pod: Object, node: str) -> None:
        metadata = pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        named = {"name": metadata["name"], "namespace": metadata["namespace"]}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": named, "target": target}
        self._api.create(f"{pod_path(pod)}/binding", body)
        text = f"Successfully assigned {named['namespace']}/{named['name']} to {node}"
        write_event(self._api, _NAME, pod, "Scheduled", text)

    def _refuse(self, pod: Object, nodes: list[Object], used: dict[str, int]) -> None:
        """Once for each pod."""
        uid = pod["metadata"]["uid"]
        if uid in self._refused:
            return
        self._refused.add(uid)
        reasons = Counter(
            obstacle(pod, node, used.get(node["metadata"]["name"], 0)) for node in nodes
        )
        text = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        message = f"0/{len(nodes)} nodes are available: {text}."
        write_event(self._api, _NAME, pod, "FailedScheduling", message, warning=True)


def _waits(pod: Object) -> bool:
    metadata, spec = pod["metadata"], pod["spec"]
    not_yet = metadata.get("deletionTimestamp") or spec.get("schedulingGates")
    return not spec.get("nodeName") and not not_yet


def _age(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]


def main() -> None:
    """Schedule until ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the access to the API server")
    logging.basicConfig()
    scheduler = PodScheduler(
        Api(access_of(parser.parse_args().folder, Account.CONTROLLERS), lasting=True)
    )
    run_rounds(scheduler.round)


if __name__ == "__main__":
    main()
