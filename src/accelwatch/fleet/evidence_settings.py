"""Settings of `evidence`: which labels name node and device, and which clusters are read."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.config.field_types import Long, Path, Short, UpToMonth

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
_Severity = Literal["critical", "warning", "info"]


class ConditionSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A condition of nodes that is evidence besides those that are known; or another meaning of one."""

    type: Annotated[str, Meta(max_length=316, extra={"alone": True})] = ""
    # The status that means bad.
    bad: Literal["True", "False", "Unknown"] = "True"
    severity: _Severity = "warning"
    # Who sets it.
    source: _Name = "kubernetes"


class TaintSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A taint that another tool sets on nodes that it calls bad."""

    key: Annotated[str, Meta(max_length=316, extra={"alone": True})] = ""
    # Only with this value; with any when it is empty.
    value: str = ""
    severity: _Severity = "warning"
    source: _Name = "kubernetes"


class KubernetesEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster whose nodes' conditions, taints and labels are evidence."""

    # In texts and keys.
    name: _Name = "kubernetes"
    # URL; within a cluster its own when empty.
    api_server: str = ""
    # File of a bearer token; the service account's within a cluster.
    token_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    # Only nodes with these labels.
    label_selector: str = ""
    conditions: tuple[ConditionSetting, ...] = ()
    taints: tuple[TaintSetting, ...] = ()
    # Condition types and taint keys that are not evidence here.
    ignore: tuple[str, ...] = ()


class ReasonSetting(msgspec.Struct, frozen=True, kw_only=True):
    """How the reasons of a health check begin, with which it drains nodes."""

    prefix: Annotated[str, Meta(max_length=100, extra={"alone": True})] = ""
    source: _Name = "health_check"
    code: _Name = "health_check_failed"
    severity: _Severity = "critical"


class SlurmEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """A Slurm cluster whose health checks' reasons for draining nodes are evidence."""

    name: _Name = "slurm"
    # Name or path of the command.
    scontrol: str = "scontrol"
    # The cluster's configuration, for SLURM_CONF.
    slurm_conf: Path | None = None
    refresh_s: Long = field(default=60.0, name="refresh_interval")
    timeout_s: Short = field(default=10.0, name="timeout")
    # Besides those of Node Health Check and of soperator's checks.
    reasons: tuple[ReasonSetting, ...] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """How what is pushed finds its node and device, how long it stands, and what is read besides."""

    # Labels whose value is a node, or the address of one of its targets; the first that is known.
    node_labels: tuple[str, ...] = ("node", "instance", "host", "hostname")
    # Labels whose value is the uuid, name, id, PCI address or index of a device.
    device_labels: tuple[str, ...] = ("uuid", "UUID", "device", "gpu", "pci_bus_id")
    # How long evidence stands when nobody pushes it again.
    keep_s: UpToMonth = field(default=86400.0, name="keep")
    kubernetes: tuple[KubernetesEvidence, ...] = ()
    slurm: tuple[SlurmEvidence, ...] = ()
