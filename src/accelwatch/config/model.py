"""Every setting of the agent with its type, range and default; docs/configuration.md explains them.

The name in the file is the field's name, without its unit. Durations are seconds.
"""

from typing import Literal

import msgspec
from msgspec import field

from accelwatch.base.default_addresses import AGENT_ADDRESS
from accelwatch.config.alerts import Alerts
from accelwatch.config.field_types import (
    Address,
    Count,
    Expected,
    Group,
    Host,
    Long,
    Path,
    Short,
    VeryShort,
)
from accelwatch.config.node_health import NodeHealth
from accelwatch.config.otlp import Otlp
from accelwatch.config.usage import UsageSettings


class Collect(msgspec.Struct, frozen=True, kw_only=True):
    """What is read, how often, and what is left alone."""

    interval_s: Short = field(default=1.0, name="interval")
    timeout_s: Short = field(default=1.0, name="timeout")
    backends: tuple[str, ...] = ()
    groups: frozenset[Group] = frozenset()
    processes: bool = True
    argv: bool = False
    exclude: tuple[str, ...] = ()
    wake_suspended: bool = False
    # Devices that there must be, without partitions; 0: not set.
    expect: Expected = 0
    root: Path = "/"
    options: dict[str, dict[str, object]] = {}


class Web(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server listens and what it allows."""

    listen_address: tuple[Address, ...] = (AGENT_ADDRESS,)
    listen_any: bool = False
    allowed_hosts: tuple[Host, ...] = ()
    unix_socket: Path | None = None
    config_file: Path | None = None
    max_requests: Count = 40
    max_connections: Count = 512
    request_timeout_s: Long = field(default=30.0, name="request_timeout")
    header_timeout_s: Short = field(default=10.0, name="header_timeout")
    keepalive_timeout_s: Long = field(default=75.0, name="keepalive_timeout")
    stream_max_clients: Count = 32
    stream_stall_timeout_s: Short = field(default=10.0, name="stream_stall_timeout")


class Exposition(msgspec.Struct, frozen=True, kw_only=True):
    """What a scrape without parameters gets."""

    profile: Literal["default", "minimal"] = "default"
    groups: frozenset[Group] = frozenset()
    inventory: bool = True


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """What is logged, to standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class Workloads(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of device allocations."""

    sources: frozenset[Literal["backendai", "cgroup", "podresources", "slurm"]] = frozenset(
        {"backendai", "cgroup", "podresources", "slurm"}
    )
    kubelet_socket: Path = "/var/lib/kubelet/pod-resources/kubelet.sock"
    pod_logs: Path = "/var/log/pods"
    job_dirs: tuple[Path, ...] = ()
    gpu_order: dict[str, str] = {}
    scratch_root: Path | None = None


class RuleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which rules are in force; without files and packs none are, and nothing is spent on them."""

    # Rule files, and folders of them.
    files: tuple[Path, ...] = ()
    # Names of packs that are shipped.
    packs: tuple[str, ...] = ()
    # How often they are judged.
    interval_s: Short = field(default=1.0, name="interval")
    # Processor time that one rule may use each time; one that uses more for long is switched off.
    budget_s: VeryShort = field(default=0.02, name="budget")

    @property
    def any(self) -> bool:
        """Whether there are rules."""
        return bool(self.files or self.packs)


class HubRelation(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent with rules leaves to a hub that follows it and notifies people of incidents."""

    # How long the hub may be away before the agent notifies of rules that are marked `local`.
    silent_s: Long = field(default=600.0, name="silent")
    # Whether the agent notifies people all the same.
    beside: bool = False


class BlackBoxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the last minutes of this machine are kept on disk, and frozen when something breaks."""

    enabled: bool = True


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of one agent."""

    collect: Collect = Collect()
    web: Web = Web()
    exposition: Exposition = Exposition()
    log: Log = Log()
    workloads: Workloads = Workloads()
    rules: RuleSettings = RuleSettings()
    alerts: Alerts = Alerts()
    hub: HubRelation = HubRelation()
    blackbox: BlackBoxSettings = BlackBoxSettings()
    usage: UsageSettings = UsageSettings()
    otlp: Otlp = Otlp()
    node_health: NodeHealth = NodeHealth()
    state_dir: Path | None = None
