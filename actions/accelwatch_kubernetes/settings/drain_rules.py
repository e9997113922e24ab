"""Options of a drain: which pods of a node leave, and how."""

from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.base.errors import ConfigError

# Where a pod finds the name of its namespace.
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
# Of our manifests; for a hub that does not run in the cluster.
_USUAL_NAMESPACE = "accelwatch"
_Text = Annotated[str, Meta(max_length=317)]


def platform_namespaces(own: Path = _OWN_NAMESPACE) -> list[str]:
    """Those whose pods never leave where nothing is configured: the cluster's and our own."""
    try:
        name = own.read_text().strip()
    except (OSError, UnicodeDecodeError):
        name = ""
    return ["kube-system", name or _USUAL_NAMESPACE]


class Leave(StrEnum):
    """How a pod leaves a node that is drained."""

    # It is evicted as soon as its PodDisruptionBudget allows it.
    EVICT = "evict"
    # It stays until it has ended.
    AFTER_COMPLETION = "after_completion"
    # It is evicted; what is still there after a deadline is deleted, once the node is fenced.
    DELETE_AFTER = "delete_after"


class DrainRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How some pods leave; the first rule that a pod fits counts."""

    # Names, in which `*` stands for anything; none: of all namespaces.
    namespaces: list[_Text] = []
    # That a pod has to have, all of them.
    labels: dict[_Text, _Text] = {}
    leave: Leave = Leave.EVICT
    # Seconds after which what is still there is deleted; for `delete_after`.
    after_s: Annotated[float, Meta(gt=0.0, le=86400.0)] | None = None
    # Whether only pods leave that are known to hold the bad device.
    device_only: bool = False
    # Whether pods leave, too, that no controller makes again.
    unowned: bool = False

    def __post_init__(self) -> None:
        if (self.leave is Leave.DELETE_AFTER) != (self.after_s is not None):
            raise ConfigError("drain: after_s goes with leave: delete_after, and only with that")

    def fits(self, namespace: str, labels: dict[str, str]) -> bool:
        """Whether a pod is one of those that it is about."""
        named = not self.namespaces or any(
            fnmatchcase(namespace, pattern) for pattern in self.namespaces
        )
        return named and self.labels.items() <= labels.items()
