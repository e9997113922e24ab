"""Which pods of a node leave, and how; of each that does not, why not. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from accelwatch_kubernetes.drain.devices import uses_device
from accelwatch_kubernetes.objects.pod import Pod
from accelwatch_kubernetes.settings.drain_rules import DrainRule, Leave
from accelwatch_kubernetes.settings.options import KubernetesOptions
from accelwatch_kubernetes.workloads.kinds.slurm_pods import is_slurmd

_USUAL = DrainRule()


class Stay(StrEnum):
    """Why a pod does not leave."""

    OVER = "it has ended"
    MIRROR = "it is a static pod of its node"
    DAEMON = "it belongs to a DaemonSet"
    PLATFORM = "its namespace is protected"
    SLURM = "it runs slurmd, whose jobs only Slurm can move"
    UNOWNED = "no controller would create it again"
    COMPLETION = "the drain rules let it run until it ends"
    OTHER_DEVICE = "it does not hold the bad device"
    UNKNOWN_DEVICE = "the API server does not show which device it holds"


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a pod of a node that is drained."""

    pod: Pod
    # None for one that leaves.
    stay: Stay | None = None
    # Seconds after which it may be deleted if the node is fenced; None: never.
    delete_after_s: float | None = None


def leaving(
    pod: Pod,
    options: KubernetesOptions,
    device: str = "",
    claims: Mapping[str, frozenset[str]] | None = None,
) -> Leaving:
    """What becomes of a pod; `device` is the bad one, empty where the whole node is bad.

    `claims` as in `devices.uses_device`.
    """
    if (stay := ignored_by_drain(pod, options)) is not None:
        return Leaving(pod=pod, stay=stay)
    rule = rule_of(pod, options)
    if rule.leave is Leave.AFTER_COMPLETION:
        return Leaving(pod=pod, stay=Stay.COMPLETION)
    if rule.device_only and device:
        uses = uses_device(pod, device, claims or {})
        if uses is None:
            return Leaving(pod=pod, stay=Stay.UNKNOWN_DEVICE)
        if not uses:
            return Leaving(pod=pod, stay=Stay.OTHER_DEVICE)
    return Leaving(pod=pod, delete_after_s=rule.after_s)


def ignored_by_drain(pod: Pod, options: KubernetesOptions) -> Stay | None:
    """Why a pod is nothing that a drain waits for or ends; None for all others."""
    controller = pod.controller
    if pod.is_over:
        return Stay.OVER
    if pod.is_mirror:
        return Stay.MIRROR
    if controller is not None and controller.kind == "DaemonSet":
        return Stay.DAEMON
    namespace = pod.metadata.namespace
    if any(fnmatchcase(namespace, pattern) for pattern in options.protected_namespaces):
        return Stay.PLATFORM
    if is_slurmd(pod):
        return Stay.SLURM
    if controller is None and not rule_of(pod, options).unowned:
        return Stay.UNOWNED
    return None


def rule_of(pod: Pod, options: KubernetesOptions) -> DrainRule:
    """The first rule that a pod fits; evict where none does."""
    namespace, labels = pod.metadata.namespace, pod.metadata.labels
    return next((rule for rule in options.drain if rule.fits(namespace, labels)), _USUAL)
