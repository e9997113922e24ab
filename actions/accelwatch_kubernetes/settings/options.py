"""Options of the action."""

import re
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.action.checkpoint_options import CheckpointOptions
from accelwatch.action.power_switch import check_power
from accelwatch.api_client.kubernetes.server import ServerOptions
from accelwatch.base.errors import ConfigError
from accelwatch_kubernetes.settings import checkpoint_patterns
from accelwatch_kubernetes.settings.drain_rules import DrainRule, platform_namespaces

# A qualified name of Kubernetes: a DNS subdomain, `/`, and a name of at most 63 characters.
_QUALIFIED = re.compile(
    r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)
_Text = Annotated[str, Meta(max_length=317)]
_Argv = Annotated[list[str], Meta(max_length=64)]


class DeviceEffect(StrEnum):
    """What the taint of a device does."""

    # No further pod gets it.
    NO_SCHEDULE = "NoSchedule"
    # The pods that use it are deleted at once, whatever their PodDisruptionBudget says.
    NO_EXECUTE = "NoExecute"
    # Nothing: the status of the rule says whom NoExecute would evict.
    NONE = "None"


class DeviceOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a single device is quarantined, by a DeviceTaintRule."""

    effect: DeviceEffect = DeviceEffect.NO_SCHEDULE


class KubernetesOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cluster, and how nodes are marked in it."""

    # Where the API server is; empty within a cluster.
    server: ServerOptions = ServerOptions()
    # Distinguishes our marks from those of another hub on the same cluster.
    hub: Annotated[str, Meta(min_length=1, max_length=63)] = "accelwatch"
    # Key of the taint of a node that we hold; its value is the rule.
    taint: _Text = "accelwatch.io/quarantine"
    # Whether that taint evicts at once what runs on the node. It checks no PodDisruptionBudget.
    no_execute: bool = False
    # Whether a node that we hold is also made unschedulable, as `kubectl cordon` does.
    cordon: bool = False
    # Key of the taint of an idle spare.
    spare_taint: _Text = "accelwatch.io/spare"
    # More keys of taints with which others hold nodes; `example.com/` stands for all below it.
    foreign_taints: list[_Text] = []
    # Label of a node that names its pool.
    pool_label: _Text = ""
    # Whether and how single devices are quarantined, on nodes with a DRA driver; left out: not at all.
    devices: DeviceOptions | None = None
    # Namespaces whose pods never leave a node; `*` stands for anything.
    protected_namespaces: list[_Text] = msgspec.field(default_factory=platform_namespaces)
    # How pods leave a node that is drained; the first that fits counts, without one they are evicted.
    drain: list[DrainRule] = []
    # Where the newest checkpoint of a job is looked for: by it two deaths are known to be the same.
    checkpoints: CheckpointOptions | None = None
    # Command that powers a node off; `{node}` stands for its name.
    power_off: _Argv = []
    # Command that ends with 0 when a node has no power, and with 1 when it has.
    power_state: _Argv = []
    power_timeout_s: Annotated[float, Meta(gt=0.0, le=600.0)] = 60.0

    def __post_init__(self) -> None:
        checkpoint_patterns.check(self.checkpoints)
        for key, value in (("taint", self.taint), ("spare_taint", self.spare_taint)):
            if not _QUALIFIED.fullmatch(value):
                raise ConfigError(f"{key}: expected DOMAIN/NAME, such as accelwatch.io/quarantine")
        if self.taint == self.spare_taint:
            raise ConfigError("spare_taint: expected another key than that of taint")
        for key, argv in (("power_off", self.power_off), ("power_state", self.power_state)):
            if argv and not PurePosixPath(argv[0]).is_absolute():
                raise ConfigError(f"{key}: expected a list that starts with an absolute path")
        check_power(self.power_off, self.power_state)
