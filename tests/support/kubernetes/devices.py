"""ResourceSlices, ResourceClaims and DeviceTaintRules, as an API server sends them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from accelwatch.action.intent import DeviceKey
from accelwatch.action.observed import Observed
from accelwatch_kubernetes.devices.own_keys import RULES, SLICES, VERSION
from accelwatch_kubernetes.observed_context import NODE, ObservedContext, observed_context_of
from accelwatch_kubernetes.settings.options import DeviceEffect, DeviceOptions, KubernetesOptions
from support.kubernetes.nodes import NOW, Object, node

NVIDIA = "gpu.nvidia.com"
GPU_0 = DeviceKey("GPU-aaaa-0", serial="165", slot="0000:65:00.0")
GPU_1 = DeviceKey("GPU-aaaa-1", slot="0000:66:00.0")
OPTIONS = KubernetesOptions(devices=DeviceOptions())
PCI = "resource.kubernetes.io/pciBusID"


def options(effect: DeviceEffect, **more: Any) -> KubernetesOptions:
    """With another effect."""
    return KubernetesOptions(devices=DeviceOptions(effect=effect), **more)


def device(name: str, taints: Sequence[Mapping[str, str]] = (), **attributes: str) -> Object:
    """A device with attributes that are texts; `pci` is the standard one."""
    named = {PCI if key == "pci" else key: {"string": text} for key, text in attributes.items()}
    return {"name": name, "attributes": named, **({"taints": list(taints)} if taints else {})}


USUAL = (
    device("gpu-0", uuid=GPU_0.id, type="gpu", pci="0000:65:00.0"),
    device("gpu-1", uuid=GPU_1.id, type="gpu", pci="0000:66:00.0"),
)


def resource_slice(
    *devices: Object,
    driver: str = NVIDIA,
    node_name: str = "n1",
    generation: int = 1,
    name: str = "",
) -> Object:
    """A slice of the pool that has the node's name."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{node_name}-{driver}-{generation}"},
        "spec": {
            "driver": driver,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": generation, "resourceSliceCount": 1},
            "devices": list(devices or USUAL),
        },
    }


def rule(
    name: str,
    annotation: Mapping[str, Any] | None,
    selector: Mapping[str, str] | None,
    effect: str = "NoSchedule",
    counted: str = "",
) -> Object:
    """A rule that the server has stored."""
    annotations = {} if annotation is None else {"accelwatch.io/hold": json.dumps(annotation)}
    conditions = [{"type": "EvictionInProgress", "status": "False", "message": counted}]
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-of-{name}",
            "resourceVersion": "5",
            "annotations": annotations,
        },
        "spec": {
            "deviceSelector": selector,
            "taint": {"key": "accelwatch.io/quarantine", "effect": effect},
        },
        "status": {"conditions": conditions if counted else []},
    }


def listed(*objects: Object) -> str:
    """A list as the server sends it."""
    return json.dumps({"items": list(objects)})


def context(
    *rules: Object,
    slices: Sequence[Object] | None = None,
    version: str = "v1",
    document: Object | None = None,
    configured: KubernetesOptions = OPTIONS,
) -> ObservedContext:
    """What an observation shows of a node with two devices, unless it says otherwise."""
    own = {
        NODE: json.dumps(node() if document is None else document),
        RULES: listed(*rules),
        SLICES: listed(*([resource_slice()] if slices is None else slices)),
        VERSION: version,
    }
    return observed_context_of(Observed(time=NOW, own=own), configured)
