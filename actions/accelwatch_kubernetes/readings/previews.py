"""What the API server says to a drain of a node, pod by pod, before anything is done."""

from accelwatch_kubernetes.drain.leaving import leaving
from accelwatch_kubernetes.drain.preview import preview_texts
from accelwatch_kubernetes.readings.devices import claims_of_device
from accelwatch_kubernetes.readings.evictions import verdicts
from accelwatch_kubernetes.readings.pods import pods_of_node
from accelwatch_kubernetes.rows import Access

# As many pods as a kubelet runs by default (maxPods).
_MOST_REQUESTS = 110


async def drain_preview(access: Access, node: str, device: str) -> list[str]:
    """Sentences for people. Raises ActionUnavailableError."""
    pods = [pod for pod in await pods_of_node(access, node) if not pod.is_terminating]
    claims = await claims_of_device(access, node, device, pods)
    entries = [
        leaving(pod, access.options, device, claims.get(pod.metadata.namespace)) for pod in pods
    ]
    departing = [entry.pod for entry in entries if entry.stay is None][:_MOST_REQUESTS]
    results = await verdicts(access, departing, all_of_them=True)
    return list(preview_texts(entries, {verdict.uid: verdict for verdict in results}))
