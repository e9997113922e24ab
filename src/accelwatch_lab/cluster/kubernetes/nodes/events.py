"""Events as a cluster's own programs write them; `kubectl get events` shows them."""

import time
from datetime import UTC, datetime

from accelwatch_lab.cluster.kubernetes.api import Api, Object


def now() -> str:
    """This moment, as the API writes moments."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def now_micro() -> str:
    """This moment, as the API writes moments with a fraction."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write_event(
    api: Api, source: str, about: Object, reason: str, message: str, *, warning: bool = False
) -> None:
    """An event about a pod. Raises ApiRefusalError, NoAnswerError."""
    metadata = about["metadata"]
    at = now()
    namespace = metadata["namespace"]
    api.create(
        f"/api/v1/namespaces/{namespace}/events",
        {
            "metadata": {
                "name": f"{metadata['name']}.{time.time_ns():x}",
                "namespace": namespace,
            },
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "namespace": namespace,
                "uid": metadata["uid"],
            },
            "type": "Warning" if warning else "Normal",
            "reason": reason,
            "message": message,
            "source": {"component": source},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
        },
    )
