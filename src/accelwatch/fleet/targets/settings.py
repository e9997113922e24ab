"""Who is followed (`targets` of hub.yaml): written out, or found by one of the discoveries."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from accelwatch.base.default_addresses import AGENT_PORT
from accelwatch.config.field_types import Address, Long, Path, Short
from accelwatch.fleet.scrape_settings import (
    Authorization,
    BasicAuth,
    Bytes,
    Credentials,
    Scrape,
    TlsConfig,
)

Port = Annotated[int, Meta(ge=1, le=65535)]


class HttpSd(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that answers with targets, as Prometheus' `http_sd_configs`."""

    url: Annotated[str, Meta(extra={"alone": True})] = ""
    refresh_s: Long = field(default=60.0, name="refresh_interval")
    timeout_s: Short = field(default=10.0, name="timeout")
    body_size_limit_bytes: Bytes = field(default=32 << 20, name="body_size_limit")
    scrape: Credentials = Credentials()
    """What the targets that are found here are shown, and no others."""
    labels: dict[str, str] = {}
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


class DnsSd(msgspec.Struct, frozen=True, kw_only=True):
    """Names whose records are targets, as Prometheus' `dns_sd_configs`."""

    names: Annotated[tuple[str, ...], Meta(extra={"alone": True})] = ()
    """With or without a port; SRV records have their own."""
    type: Literal["A", "AAAA", "SRV"] = "A"
    port: Port = AGENT_PORT
    nameservers: tuple[Address, ...] = ()
    """Host and port of servers to ask; those of /etc/resolv.conf when empty."""
    refresh_s: Long = field(default=30.0, name="refresh_interval")
    timeout_s: Short = field(default=5.0, name="timeout")
    scrape: Credentials = Credentials()
    """What the targets that are found here are shown, and no others."""
    labels: dict[str, str] = {}


class KubernetesSd(msgspec.Struct, frozen=True, kw_only=True):
    """Pods, or the endpoints of services, as a cluster's API server lists them."""

    role: Literal["pod", "endpointslice"] = "pod"
    namespaces: tuple[str, ...] = ()
    """All when empty."""
    label_selector: str = ""
    service: str = ""
    """Only the endpoints of this service."""
    port: Port = AGENT_PORT
    port_name: str = ""
    """Name of the port of container or service; instead of a number."""
    api_server: str = ""
    """URL; within a cluster its own when empty."""
    node_labels: dict[str, str] = {}
    """Label of a node object to the label that targets on it get."""
    pod_labels: dict[str, str] = {}
    scrape: Credentials = Credentials()
    """What the targets that are found here are shown, and no others."""
    labels: dict[str, str] = {}
    timeout_s: Short = field(default=10.0, name="timeout")
    body_size_limit_bytes: Bytes = field(default=256 << 20, name="body_size_limit")
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


def scrape_for(settings: HttpSd | KubernetesSd) -> Scrape:
    """How a server that knows targets is asked."""
    return Scrape(
        timeout_s=settings.timeout_s,
        body_size_limit_bytes=settings.body_size_limit_bytes,
        basic_auth=settings.basic_auth,
        authorization=settings.authorization,
        tls_config=settings.tls_config,
    )


class SlurmSd(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a Slurm cluster, as `scontrol show nodes` lists them."""

    port: Port = AGENT_PORT
    address: Literal["name", "hostname", "address"] = "address"
    """Which of a node's three names is connected to."""
    partitions: tuple[str, ...] = ()
    """Only nodes in one of these; all when empty."""
    gres: str = "gpu"
    """Only nodes with this generic resource (`gpu`, `gpu:h100`); all when empty."""
    feature_labels: dict[str, str] = {}
    """Label to the beginning of the feature that holds it: `rack: rack-`."""
    switch_label: str = ""
    """Label that gets the leaf switch of the topology; none when empty."""
    scontrol: str = "scontrol"
    """Name or path of the command."""
    slurm_conf: Path | None = None
    """The cluster's configuration, for SLURM_CONF."""
    maintenance: bool = True
    """Whether nobody is told of nodes that Slurm has reserved for maintenance."""
    refresh_s: Long = field(default=60.0, name="refresh_interval")
    timeout_s: Short = field(default=10.0, name="timeout")
    scrape: Credentials = Credentials()
    """What the targets that are found here are shown, and no others."""
    labels: dict[str, str] = {}


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """Who is followed."""

    static: tuple[str, ...] = ()
    """Addresses with host ranges: `n[001-063]:9877`."""
    ssh: tuple[str, ...] = ()
    """Hosts that are reached by ssh: `n[01-63]`, `user@host:port`."""
    labels: dict[str, str] = {}
    """Labels of the targets that are written out."""
    files: tuple[Path, ...] = ()
    """Files in the format of Prometheus' file_sd; patterns are taken."""
    refresh_s: Long = field(default=5.0, name="refresh_interval")
    """How often files are looked at."""
    http: tuple[HttpSd, ...] = ()
    dns: tuple[DnsSd, ...] = ()
    kubernetes: tuple[KubernetesSd, ...] = ()
    slurm: tuple[SlurmSd, ...] = ()
    rename_labels: dict[str, str] = {}
    """Label to the name it gets, for all targets but static ones."""
    keep_labels: tuple[str, ...] = ()
    """The labels that stay, by their new names; empty for all."""
