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
    # What the targets that are found here are shown, and no others.
    scrape: Credentials = Credentials()
    labels: dict[str, str] = {}
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


class BackendAiServer(msgspec.Struct, frozen=True, kw_only=True):
    """The API of a Backend.AI manager, and the key that is shown to it; none without a URL."""

    url: str = ""
    access_key: str = ""
    secret_key_file: Path | None = None
    ca_file: Path | None = None
    # The Host that reaches the manager, where a proxy sends another than that of the URL.
    host: str = ""
    timeout_s: Short = field(default=10.0, name="timeout")


class BackendAiSd(msgspec.Struct, frozen=True, kw_only=True):
    """The agents of a Backend.AI cluster, as its manager lists them for Prometheus."""

    # Of the manager's internal address; the page is its own where the URL names none.
    url: Annotated[str, Meta(extra={"alone": True})] = ""
    # The manager's API and a superadmin's key, by which the resource group of each agent is a label.
    server: BackendAiServer = BackendAiServer()
    # Port of accelwatch's agent on each of the nodes; null where there is none.
    agent_port: Port | None = AGENT_PORT
    # Whether the pages of Backend.AI's own agents are followed, and how.
    platform: bool = True
    platform_scheme: Literal["http", "https"] = "http"
    refresh_s: Long = field(default=60.0, name="refresh_interval")
    timeout_s: Short = field(default=10.0, name="timeout")
    body_size_limit_bytes: Bytes = field(default=32 << 20, name="body_size_limit")
    # What accelwatch's agents that are found here are shown, and no others.
    scrape: Credentials = Credentials()
    labels: dict[str, str] = {}
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


class DnsSd(msgspec.Struct, frozen=True, kw_only=True):
    """Names whose records are targets, as Prometheus' `dns_sd_configs`."""

    # With or without a port; SRV records have their own.
    names: Annotated[tuple[str, ...], Meta(extra={"alone": True})] = ()
    type: Literal["A", "AAAA", "SRV"] = "A"
    port: Port = AGENT_PORT
    # Host and port of servers to query; those of /etc/resolv.conf when empty.
    nameservers: tuple[Address, ...] = ()
    refresh_s: Long = field(default=30.0, name="refresh_interval")
    timeout_s: Short = field(default=5.0, name="timeout")
    # What the targets that are found here are shown, and no others.
    scrape: Credentials = Credentials()
    labels: dict[str, str] = {}


class KubernetesSd(msgspec.Struct, frozen=True, kw_only=True):
    """Pods, or the endpoints of services, as a cluster's API server lists them."""

    role: Literal["pod", "endpointslice"] = "pod"
    # All when empty.
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    # Only the endpoints of this service.
    service: str = ""
    port: Port = AGENT_PORT
    # Name of the port of container or service; instead of a number.
    port_name: str = ""
    # URL; within a cluster its own when empty.
    api_server: str = ""
    # Label of a node object to the label that targets on it get.
    node_labels: dict[str, str] = {}
    pod_labels: dict[str, str] = {}
    # What the targets that are found here are shown, and no others.
    scrape: Credentials = Credentials()
    labels: dict[str, str] = {}
    timeout_s: Short = field(default=10.0, name="timeout")
    body_size_limit_bytes: Bytes = field(default=256 << 20, name="body_size_limit")
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


def scrape_for(settings: HttpSd | BackendAiSd | KubernetesSd) -> Scrape:
    """The settings of requests to a server that lists targets."""
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
    # Which of a node's three names is connected to.
    address: Literal["name", "hostname", "address"] = "address"
    # Only nodes in one of these; all when empty.
    partitions: tuple[str, ...] = ()
    # Only nodes with this generic resource (`gpu`, `gpu:h100`); all when empty.
    gres: str = "gpu"
    # Label to the beginning of the feature that holds it: `rack: rack-`.
    feature_labels: dict[str, str] = {}
    # Label that gets the leaf switch of the topology; none when empty.
    switch_label: str = ""
    # Name or path of the command.
    scontrol: str = "scontrol"
    # The cluster's configuration, for SLURM_CONF.
    slurm_conf: Path | None = None
    # Whether incidents of nodes that Slurm has reserved for maintenance are muted.
    maintenance: bool = True
    refresh_s: Long = field(default=60.0, name="refresh_interval")
    timeout_s: Short = field(default=10.0, name="timeout")
    # What the targets that are found here are shown, and no others.
    scrape: Credentials = Credentials()
    labels: dict[str, str] = {}


class FollowedHub(msgspec.Struct, frozen=True, kw_only=True):
    """A hub whose nodes are shown here too, with those of the others."""

    # As `--hub` accepts it: `https://hub1:9878`, `hub1`, `unix:/run/hub.sock`.
    url: Annotated[str, Meta(extra={"alone": True})] = ""
    # What it is called in pictures, labels and ids; its host when empty.
    name: str = ""
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    # Whether a hub on another machine that is read over http may see them.
    credentials_over_http: bool = False
    tls_config: TlsConfig = TlsConfig()
    # Devices, and nodes, of it that are kept here.
    device_limit: Annotated[int, Meta(ge=1, le=1 << 20)] = 50_000


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """Who is followed."""

    # Addresses with host ranges: `n[001-063]:9877`.
    static: tuple[str, ...] = ()
    # Hosts that are reached by ssh: `n[01-63]`, `user@host:port`.
    ssh: tuple[str, ...] = ()
    # Labels of the targets that are written out.
    labels: dict[str, str] = {}
    # Files in the format of Prometheus' file_sd; patterns are allowed.
    files: tuple[Path, ...] = ()
    # How often files are checked.
    refresh_s: Long = field(default=5.0, name="refresh_interval")
    http: tuple[HttpSd, ...] = ()
    dns: tuple[DnsSd, ...] = ()
    kubernetes: tuple[KubernetesSd, ...] = ()
    slurm: tuple[SlurmSd, ...] = ()
    backendai: tuple[BackendAiSd, ...] = ()
    # Hubs instead of nodes.
    hubs: tuple[FollowedHub, ...] = ()
    # Label to the name it gets, for all targets but static ones.
    rename_labels: dict[str, str] = {}
    # The labels that stay, by their new names; empty for all.
    keep_labels: tuple[str, ...] = ()
