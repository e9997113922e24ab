"""Which pods of a node leave, and why the others stay."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError, OptionsError
from accelwatch.plugins.options import checked
from accelwatch_kubernetes.drain.leaving import Stay, ignored_by_drain, leaving
from accelwatch_kubernetes.settings.drain_rules import platform_namespaces
from accelwatch_kubernetes.settings.options import KubernetesOptions
from support.kubernetes.pods import Object, pod, pod_of

_GPU = "GPU-8f3d"


def options(*rules: Object, protected: tuple[str, ...] = ("kube-system",)) -> KubernetesOptions:
    section = {"drain": list(rules), "protected_namespaces": list(protected)}
    return checked(section, KubernetesOptions)


def test_a_pod_of_a_controller_is_evicted() -> None:
    entry = leaving(pod_of(pod()), options())
    assert (entry.stay, entry.delete_after_s) == (None, None)


@pytest.mark.parametrize(
    ("document", "stay"),
    [
        (pod(phase="Succeeded"), Stay.OVER),
        (pod(phase="Failed"), Stay.OVER),
        (pod(annotations={"kubernetes.io/config.mirror": "f00"}), Stay.MIRROR),
        (pod(owner=("apps/v1", "DaemonSet", "dcgm")), Stay.DAEMON),
        (pod(namespace="kube-system"), Stay.PLATFORM),
        (pod(owner=None), Stay.UNOWNED),
    ],
)
def test_what_a_drain_leaves_alone(document: Object, stay: Stay) -> None:
    assert ignored_by_drain(pod_of(document), options()) is stay
    assert leaving(pod_of(document), options()).stay is stay


@pytest.mark.parametrize(
    "document",
    [
        pod("worker-0", owner=("slinky.slurm.net/v1beta1", "NodeSet", "worker")),
        pod("worker-0", owner=("slurm.nebius.ai/v1alpha1", "NodeSet", "worker")),
        pod("worker-0", owner=("apps.kruise.io/v1beta1", "StatefulSet", "w"), container="slurmd"),
    ],
)
def test_trap_22_slurmd_in_a_pod_is_left_to_slurm(document: Object) -> None:
    assert leaving(pod_of(document), options()).stay is Stay.SLURM


@pytest.mark.parametrize("namespace", ["cert-manager", "monitoring", "kube-system"])
def test_trap_22_the_platform_stays_where_its_namespaces_are_protected(namespace: str) -> None:
    protected = ("kube-*", "cert-manager", "monitoring")
    owner = ("apps/v1", "ReplicaSet", "prometheus-7c")
    document = pod("prometheus", namespace=namespace, owner=owner)
    assert leaving(pod_of(document), options(protected=protected)).stay is Stay.PLATFORM
    elsewhere = pod("prometheus", namespace="web", owner=owner)
    assert leaving(pod_of(elsewhere), options(protected=protected)).stay is None


def test_the_platform_is_the_clusters_own_namespace_and_ours(tmp_path: Path) -> None:
    file = tmp_path / "namespace"
    assert platform_namespaces(file) == ["kube-system", "accelwatch"]
    file.write_text("observing\n")
    assert platform_namespaces(file) == ["kube-system", "observing"]


def test_a_rule_goes_by_namespace_and_by_labels_and_the_first_that_fits_counts() -> None:
    rules = options(
        {"namespaces": ["ml-*"], "labels": {"tier": "gold"}, "leave": "after_completion"},
        {"namespaces": ["ml-*"], "leave": "delete_after", "after_s": 600},
    )
    gold = pod(namespace="ml-prod", labels={"tier": "gold", "app": "x"})
    assert leaving(pod_of(gold), rules).stay is Stay.COMPLETION
    tin = leaving(pod_of(pod(namespace="ml-prod", labels={"tier": "tin"})), rules)
    assert (tin.stay, tin.delete_after_s) == (None, 600.0)
    other = leaving(pod_of(pod(namespace="web", labels={"tier": "gold"})), rules)
    assert (other.stay, other.delete_after_s) == (None, None)


def test_what_no_controller_owns_leaves_only_where_a_rule_says_so() -> None:
    rules = options({"namespaces": ["notebooks"], "unowned": True})
    assert leaving(pod_of(pod(owner=None, namespace="notebooks")), rules).stay is None
    assert leaving(pod_of(pod(owner=None)), rules).stay is Stay.UNOWNED


@pytest.mark.parametrize(
    ("document", "stay"),
    [
        (pod(resources={"nvidia.com/gpu": "1"}, devices={"nvidia.com/gpu": (_GPU,)}), None),
        (
            pod(resources={"nvidia.com/gpu": "1"}, devices={"nvidia.com/gpu": ("GPU-other",)}),
            Stay.OTHER_DEVICE,
        ),
        (pod(resources={"nvidia.com/gpu": "1"}), Stay.UNKNOWN_DEVICE),
        (pod(), Stay.OTHER_DEVICE),
    ],
)
def test_only_who_holds_the_bad_device_leaves_where_the_rule_says_so(
    document: Object, stay: Stay | None
) -> None:
    rules = options({"device_only": True})
    assert leaving(pod_of(document), rules, _GPU).stay is stay
    # A fault of the whole node is a fault of all that it runs.
    assert leaving(pod_of(document), rules).stay is None
    assert leaving(pod_of(document), options(), _GPU).stay is None


@pytest.mark.parametrize(
    "rule", [{"leave": "delete_after"}, {"leave": "evict", "after_s": 5}, {"leave": "delete"}]
)
def test_a_rule_that_says_two_things_is_refused(rule: Object) -> None:
    with pytest.raises((ConfigError, OptionsError)):
        options(rule)
