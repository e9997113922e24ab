"""What is wrong with the settings of targets that no single value shows."""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.fleet.follow.access import check_access
from accelwatch.fleet.scrape_settings import REFUSED, Credentials, Scrape
from accelwatch.fleet.ssh.destination import ssh_targets
from accelwatch.fleet.target import NODE_LABEL, checked_labels
from accelwatch.fleet.targets.discovery import SECTIONS, static_targets
from accelwatch.fleet.targets.settings import (
    BackendAiSd,
    BackendAiServer,
    DnsSd,
    HttpSd,
    KubernetesSd,
    SlurmSd,
    Targets,
    scrape_for,
)

# Dotted key and what is wrong.
Mistake = tuple[str, str]


def mistakes(targets: Targets, scrape: Scrape, section: str = "targets") -> Iterator[Mistake]:
    """Every mistake with its key."""
    hosts = msgspec.structs.replace(targets, ssh=())
    yield from _refused(f"{section}.static", lambda: static_targets(hosts, scrape))
    yield from _refused(f"{section}.ssh", lambda: ssh_targets(targets.ssh))
    yield from _labels(f"{section}.labels", targets.labels)
    names = dict.fromkeys((*targets.rename_labels.values(), *targets.keep_labels), "")
    yield from _labels(f"{section}.rename_labels", names)
    if targets.rename_labels.get("instance") == NODE_LABEL:
        yield f"{section}.rename_labels", "a label called instance never names a node"
    for kind in SECTIONS:
        for number, discovery in enumerate(getattr(targets, kind)):
            yield from _of_credentials(f"{section}.{kind}[{number}].scrape", discovery.scrape)
    for number, http in enumerate(targets.http):
        yield from _of_http(f"{section}.http[{number}]", http)
    for number, dns in enumerate(targets.dns):
        yield from _of_dns(f"{section}.dns[{number}]", dns)
    for number, kubernetes in enumerate(targets.kubernetes):
        yield from _of_kubernetes(f"{section}.kubernetes[{number}]", kubernetes)
    for number, backendai in enumerate(targets.backendai):
        yield from _of_backendai(f"{section}.backendai[{number}]", backendai)
    for number, slurm in enumerate(targets.slurm):
        yield from _of_slurm(f"{section}.slurm[{number}]", slurm)


def _of_http(key: str, settings: HttpSd | BackendAiSd) -> Iterator[Mistake]:
    from accelwatch.fleet.targets.http import endpoint

    yield from _refused(f"{key}.url", lambda: endpoint(settings.url, settings.tls_config))
    yield from _labels(f"{key}.labels", settings.labels)
    yield from _of_access(key, settings)


def _of_dns(key: str, settings: DnsSd) -> Iterator[Mistake]:
    from accelwatch.fleet.targets.dns import check_servers, split_name

    if not settings.names:
        yield f"{key}.names", "expected a name or a list of names"
    for name in settings.names:
        yield from _refused(f"{key}.names", lambda name=name: split_name(name, settings))  # type: ignore[misc]
    yield from _refused(f"{key}.nameservers", lambda: check_servers(settings.nameservers))
    yield from _labels(f"{key}.labels", settings.labels)


def _of_kubernetes(key: str, settings: KubernetesSd) -> Iterator[Mistake]:
    from accelwatch.fleet.targets.http import endpoint

    tls = settings.tls_config
    if settings.api_server:
        yield from _refused(f"{key}.api_server", lambda: endpoint(settings.api_server, tls))
    if settings.service and settings.role != "endpointslice":
        yield f"{key}.service", "only the role endpointslice uses a service; set role"
    for name in ("labels", "node_labels", "pod_labels"):
        configured: dict[str, str] = getattr(settings, name)
        labels = configured if name == "labels" else dict.fromkeys(configured.values(), "")
        yield from _labels(f"{key}.{name}", labels)
    yield from _of_access(key, settings)


def _of_backendai(key: str, settings: BackendAiSd) -> Iterator[Mistake]:
    yield from _of_http(key, settings)
    if settings.agent_port is None and not settings.platform:
        yield key, "nothing is followed: set agent_port or platform"
    if settings.server != BackendAiServer():
        yield from _of_server(f"{key}.server", settings.server)


def _of_server(key: str, settings: BackendAiServer) -> Iterator[Mistake]:
    from accelwatch.fleet.targets.backendai_groups import server_in

    try:
        server_in(settings)
    except ConfigError as error:
        name, _, text = str(error).partition(": ")
        yield f"{key}.{name}", text


def _of_slurm(key: str, settings: SlurmSd) -> Iterator[Mistake]:
    yield from _labels(f"{key}.labels", settings.labels)
    yield from _labels(f"{key}.feature_labels", settings.feature_labels)
    if settings.switch_label:
        yield from _labels(f"{key}.switch_label", {settings.switch_label: ""})


def _of_access(key: str, settings: HttpSd | BackendAiSd | KubernetesSd) -> Iterator[Mistake]:
    yield from _fitting(scrape_for(settings), key)


def _of_credentials(key: str, credentials: Credentials) -> Iterator[Mistake]:
    scrape = Scrape(basic_auth=credentials.basic_auth, authorization=credentials.authorization)
    yield from _fitting(scrape, key)


def _fitting(scrape: Scrape, key: str) -> Iterator[Mistake]:
    try:
        check_access(scrape, key)
    except ConfigError as error:
        location, _, text = str(error).partition(": ")
        yield location, text


def _labels(key: str, labels: Mapping[str, str]) -> Iterator[Mistake]:
    yield from _refused(key, lambda: checked_labels(labels))


def _refused(key: str, attempt: Callable[[], object]) -> Iterator[Mistake]:
    try:
        attempt()
    except UsageError as error:
        yield key, str(error)


def refused_keys() -> dict[str, str]:
    """Keys that Prometheus knows and that are refused, with the reason."""
    bound = tuple(f"targets.{kind}.scrape" for kind in SECTIONS)
    return {
        key.replace("scrape", section, 1): why
        for section in (
            *("targets.http", "targets.kubernetes", "targets.backendai", "targets.hubs"),
            *bound,
        )
        for key, why in REFUSED.items()
    }
