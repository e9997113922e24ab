"""Which device a pod holds, as far as the API server shows it."""

from collections.abc import Mapping

import pytest

from accelwatch_kubernetes.drain.devices import uses_device
from support.kubernetes.pods import Object, pod, pod_of

_ONE = {"nvidia.com/gpu": "1"}


def of(*ids: str) -> Object:
    return pod(resources=_ONE, devices={"nvidia.com/gpu": ids})


@pytest.mark.parametrize(
    ("document", "device", "held"),
    [
        (of("GPU-1"), "gpu-1", True),
        (of("GPU-1"), "GPU-2", False),
        # Time slicing gives one GPU out several times.
        (of("GPU-1::3"), "GPU-1", True),
        # A part of a GPU does not say of which.
        (of("MIG-5"), "GPU-1", None),
        (of("MIG-5"), "MIG-5", True),
        (of("MIG-5"), "MIG-6", False),
        (of("0000:3b:00.0"), "00000000:3B:00.0", True),
        (of("0001:3b:00.0"), "0000:3b:00.0", False),
        (pod(resources=_ONE), "GPU-1", None),
        (pod(resources={"cpu": "1", "hugepages-2Mi": "1Gi"}), "GPU-1", False),
    ],
)
def test_by_what_the_kubelet_shows(document: Object, device: str, held: bool | None) -> None:
    assert uses_device(pod_of(document), device, {}) is held


@pytest.mark.parametrize(
    ("claims", "held"),
    [
        ({"trainer-gpu": frozenset({"GPU-1", "0000:3b:00.0"})}, True),
        ({"trainer-gpu": frozenset({"GPU-2"})}, False),
        ({"other": frozenset({"GPU-1"})}, None),
        ({"trainer-gpu": frozenset()}, None),
    ],
)
def test_by_what_its_claim_was_given(
    claims: Mapping[str, frozenset[str]], held: bool | None
) -> None:
    assert uses_device(pod_of(pod(claims={"gpu": "trainer-gpu"})), "GPU-1", claims) is held


def test_a_device_that_is_known_counts_whatever_else_is_not() -> None:
    document = pod(resources={**_ONE, "rdma/hca": "1"}, devices={"nvidia.com/gpu": ("GPU-1",)})
    assert uses_device(pod_of(document), "GPU-1", {}) is True
    assert uses_device(pod_of(document), "GPU-2", {}) is None
