"""Flags that `hub` and `fleet` share: whom to follow."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from accelwatch.cli.parameters import option

if TYPE_CHECKING:
    from accelwatch.fleet.hub.model import HubSettings
    from accelwatch.fleet.hub_client.local_hub.own_hub import Named

Texts = list[str] | None

ConfigFile = Annotated[
    Path | None,
    option(
        "--config.file", "-c", metavar="FILE", help="A hub's configuration (docs/fleet/hub.md)."
    ),
]
Static = Annotated[
    Texts,
    option(
        "--targets",
        "-t",
        metavar="HOSTS",
        help="Targets with host ranges, n[001-063]:9877; may be repeated.",
    ),
]
Files = Annotated[
    Texts,
    option(
        "--targets-file",
        metavar="FILE",
        help="Targets as Prometheus' file_sd lists them, watched; may be repeated.",
    ),
]
Http = Annotated[
    Texts,
    option(
        "--targets-http",
        metavar="URL",
        help="Targets as Prometheus' http_sd answers them; may be repeated.",
    ),
]
Dns = Annotated[
    Texts,
    option(
        "--targets-dns",
        metavar="NAME[:PORT]",
        help="Every address of a name is a target; may be repeated.",
    ),
]
Kubernetes = Annotated[
    str | None,
    option(
        "--targets-kubernetes",
        metavar="SELECTOR",
        help="Pods of this cluster with these labels, app=accelwatch.",
    ),
]
Slurm = Annotated[bool, option("--targets-slurm", help="Slurm's nodes with GPUs, from scontrol.")]
Ssh = Annotated[
    Texts,
    option(
        "--ssh",
        metavar="HOSTS",
        help="Hosts that ssh reaches, n[01-63] or user@host:port; nothing is installed there.",
    ),
]
SshConfig = Annotated[
    str | None,
    option(
        "--ssh-config", metavar="FILE", help="Configuration of ssh instead of its own (ssh -F)."
    ),
]
Prometheus = Annotated[
    str | None,
    option(
        "--prometheus",
        metavar="URL",
        help="Read the fleet from a Prometheus-compatible server instead of its nodes.",
    ),
]


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """Whom the flags name."""

    targets: Static = None
    targets_file: Files = None
    targets_http: Http = None
    targets_dns: Dns = None
    targets_kubernetes: Kubernetes = None
    targets_slurm: Slurm = False
    ssh: Ssh = None
    ssh_config: SshConfig = None

    @property
    def anyone(self) -> bool:
        """Whether any flag names somebody."""
        named = (name for name in self.__struct_fields__ if name != "ssh_config")
        return any(getattr(self, name) for name in named)

    def named(self) -> "Named":
        """The same, for a process that has no command line."""
        from accelwatch.fleet.hub_client.local_hub.own_hub import Named

        return Named(
            targets=tuple(self.targets or ()),
            targets_files=tuple(self.targets_file or ()),
            http=tuple(self.targets_http or ()),
            dns=tuple(self.targets_dns or ()),
            kubernetes=self.targets_kubernetes,
            slurm=self.targets_slurm,
            ssh=tuple(self.ssh or ()),
            ssh_config=self.ssh_config,
        )

    def laid_over(self, settings: "HubSettings") -> "HubSettings":
        """The settings with these targets besides their own. Raises ConfigError."""
        from accelwatch.fleet.hub.flags import with_targets

        return with_targets(settings, **msgspec.structs.asdict(self.named()))
