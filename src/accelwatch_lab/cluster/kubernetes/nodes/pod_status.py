"""What a kubelet writes into the status of a pod. Pure."""

from accelwatch_lab.cluster.kubernetes.api import Object

_OWN = ("Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers")
_STARTED = "lab://started"


def running(pod: Object, at: str, address: str) -> Object:
    """Its process runs since then."""
    state = {"running": {"startedAt": at}}
    return {
        "phase": "Running",
        "startTime": at,
        "hostIP": address,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions(pod, at, ready=True),
        "containerStatuses": [_container(pod, state, ready=True)],
    }


def finished(pod: Object, at: str, exit_code: int, reason: str = "") -> Object:
    """Its process has ended."""
    started = (pod["status"].get("startTime")) or at
    terminated = {
        "exitCode": exit_code,
        "reason": reason or ("Error" if exit_code else "Completed"),
        "startedAt": started,
        "finishedAt": at,
    }
    return {
        "phase": "Failed" if exit_code else "Succeeded",
        "conditions": _conditions(pod, at, ready=False),
        "containerStatuses": [_container(pod, {"terminated": terminated}, ready=False)],
    }


def _container(pod: Object, state: Object, *, ready: bool) -> Object:
    container = pod["spec"]["containers"][0]
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "containerID": f"{_STARTED}/{pod['metadata']['uid']}",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        # A merge patch leaves what it does not name; a container is in one state.
        "state": {"running": None, "waiting": None, "terminated": None, **state},
    }


def _conditions(pod: Object, at: str, *, ready: bool) -> list[Object]:
    """Those of others stay, `DisruptionTarget` above all."""
    others = [
        condition
        for condition in pod["status"].get("conditions") or ()
        if condition["type"] not in _OWN
    ]
    values = {name: "True" if ready or name == "Initialized" else "False" for name in _OWN}
    return [
        *others,
        *(
            {"type": name, "status": value, "lastTransitionTime": at}
            for name, value in values.items()
        ),
    ]
