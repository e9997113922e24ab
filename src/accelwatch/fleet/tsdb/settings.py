"""Settings of `prometheus`, `remote_write` and `federation` in hub.yaml; docs/fleet/prometheus.md."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, field

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.config.field_types import Group, Long, Path
from accelwatch.fleet.follow.access import check_access
from accelwatch.fleet.follow.http.url import server_url
from accelwatch.fleet.scrape_settings import Authorization, BasicAuth, Scrape, TlsConfig

# Labels that name a node, best first; never `instance`, which names an exporter's address.
NODE_LABELS = (
    "node",
    "kubernetes_node",
    "node_name",
    "nodename",
    "Hostname",
    "hostname",
)
RESERVED_HEADERS = frozenset(
    {"host", "content-type", "content-encoding", "content-length", "authorization", "user-agent"}
)
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_MATCHER = r'\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\\n]|\\.)*"\s*'
_MATCHERS = re.compile(rf"{_MATCHER}(?:,{_MATCHER})*,?\s*")

Seconds = Annotated[float, Meta(ge=1, le=300, extra={"form": "duration"})]


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """Where the fleet's state is read from instead of from its nodes; off without a URL."""

    # With the prefix before `/api/v1`: `http://mimir:8080/prometheus`.
    url: str | None = None
    # How often the state is read.
    interval_s: Long = field(default=15.0, name="interval")
    # For one query.
    timeout_s: Seconds = field(default=20.0, name="timeout")
    max_backoff_s: Long = field(default=60.0, name="max_backoff")
    # Of one answer after unpacking.
    body_size_limit_bytes: Annotated[int, Meta(ge=1 << 20, le=1 << 30)] = field(
        default=64 << 20, name="body_size_limit"
    )
    # Series that are believed in all; beyond them a read fails.
    series_limit: Annotated[int, Meta(ge=100, le=20_000_000)] = 2_000_000
    # Which of our own families are read.
    profile: Literal["default", "minimal"] = "default"
    # Further label matchers of every query: `cluster="a",job=~"gpu.*"`.
    matchers: str = ""
    node_labels: tuple[str, ...] = NODE_LABELS
    # Whether the label `instance`, without its port, may name a node when no other label does.
    instance_as_node: bool = False
    # Labels of samples that are kept with the node, besides those of scrape targets.
    labels: tuple[str, ...] = ("cluster", "rack", "pool", "partition")
    # Label that distinguishes targets of several clusters; empty for none.
    cluster_label: str = "cluster"
    # Whether nodes are called `CLUSTER/NODE`, where clusters have nodes of the same name.
    cluster_in_name: bool = False
    # Labels that distinguish two copies of the same target's samples.
    replica_labels: tuple[str, ...] = ("prometheus_replica", "replica", "__replica__")
    # Sent as `X-Scope-OrgID`.
    tenant: str = ""
    headers: dict[str, str] = {}
    # Headers whose value is the content of a file.
    header_files: dict[str, Path] = {}
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


class RemoteWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Where what the hub sees is written to; off without a URL."""

    # The whole URL of the receiver: `http://victoria:8428/api/v1/write`.
    url: str | None = None
    interval_s: Long = field(default=15.0, name="interval")
    timeout_s: Seconds = field(default=15.0, name="timeout")
    max_backoff_s: Long = field(default=30.0, name="max_backoff")
    profile: Literal["default", "minimal"] = "default"
    groups: frozenset[Group] = frozenset()
    # Added to every series: `hub: pod-1` where several hubs write to one store.
    labels: dict[str, str] = {}
    # Whether `accel_fleet_*` is written as well.
    fleet_metrics: bool = True
    # Requests that wait, compressed; the oldest are dropped beyond it.
    queue_bytes: Annotated[int, Meta(ge=1 << 20, le=1 << 34)] = 64 << 20
    samples_per_request: Annotated[int, Meta(ge=100, le=100_000)] = 5000
    # Requests under way at one time; a node's samples always go by the same.
    shards: Annotated[int, Meta(ge=1, le=64)] = 4
    tenant: str = ""
    headers: dict[str, str] = {}
    header_files: dict[str, Path] = {}
    basic_auth: BasicAuth = BasicAuth()
    authorization: Authorization = Authorization()
    tls_config: TlsConfig = TlsConfig()


class Federation(msgspec.Struct, frozen=True, kw_only=True):
    """Whether `/federate` gives all devices' families."""

    enabled: bool = False
    profile: Literal["default", "minimal"] = "default"
    groups: frozenset[Group] = frozenset()


def scrape_of(peer: Store | RemoteWrite) -> Scrape:
    """The credentials and TLS of a peer as those of a scrape, which `Access` understands."""
    return Scrape(
        scheme="https" if (peer.url or "").startswith("https:") else "http",
        basic_auth=peer.basic_auth,
        authorization=peer.authorization,
        tls_config=peer.tls_config,
    )


def check_peers(store: Store, write: RemoteWrite) -> None:
    """Raise ConfigError when the settings do not fit together."""
    _check_peer(store, "prometheus")
    _check_peer(write, "remote_write")
    if store.matchers and not _MATCHERS.fullmatch(store.matchers):
        raise ConfigError('prometheus.matchers: write them as label="value",label=~"regex"')
    cluster = (store.cluster_label,) if store.cluster_label else ()
    listed = (*store.node_labels, *store.labels, *store.replica_labels)
    for name in (*listed, *cluster, *write.labels):
        if not _LABEL.fullmatch(name):
            raise ConfigError(f"prometheus: {name[:60]!r} is not a valid label name")
    if "instance" in store.node_labels:
        raise ConfigError("prometheus.node_labels: for instance there is instance_as_node")
    if store.url and write.url and _endpoint(store.url) == _endpoint(write.url):
        raise ConfigError("remote_write: the hub would write to the store what it reads from it")


def _check_peer(peer: Store | RemoteWrite, section: str) -> None:
    if peer.url is None:
        return
    try:
        parsed = server_url(peer.url, peer.tls_config)
    except UsageError as error:
        raise ConfigError(f"{section}.url: {error}") from error
    if parsed.query:
        raise ConfigError(f"{section}.url: no query")
    check_access(scrape_of(peer), section)
    for name in (*peer.headers, *peer.header_files):
        if not _HEADER.fullmatch(name) or name.lower() in RESERVED_HEADERS:
            raise ConfigError(f"{section}.headers: {name[:64]!r} cannot be set")
    for key, text in {"tenant": peer.tenant, **_by_key(peer.headers)}.items():
        if not text.isprintable() or not text.isascii():
            raise ConfigError(f"{section}.{key}: a value is one line of ASCII")
        if text != text.strip():
            raise ConfigError(f"{section}.{key}: remove the blanks around the value")


def _by_key(headers: Mapping[str, str]) -> dict[str, str]:
    return {f"headers.{name}": text for name, text in headers.items()}


def _endpoint(url: str) -> tuple[str, int]:
    parsed = urlsplit(url)
    return parsed.hostname or "", parsed.port or {"https": 443}.get(parsed.scheme, 80)


# Keys that Prometheus knows, and why they are refused.
REFUSED = {
    f"{section}.{key}": text
    for section in ("prometheus", "remote_write")
    for key, text in {
        "basic_auth.password": "no secret belongs here; use password_file",
        "authorization.credentials": "no secret belongs here; use credentials_file",
        "tls_config.ca": "inline certificates are not taken; use ca_file",
        "tls_config.cert": "inline certificates are not taken; use cert_file",
        "tls_config.key": "inline keys are not taken; use key_file",
        "follow_redirects": "is not supported; redirects are never followed",
        "proxy_url": "is not supported",
    }.items()
}
