"""Which discoveries a configuration has."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.ssh.destination import ssh_targets
from accelwatch.fleet.target import Target, targets_of
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import (
    BackendAiSd,
    DnsSd,
    HttpSd,
    KubernetesSd,
    SlurmSd,
    Targets,
)
from accelwatch.fleet.targets.watch import Discoverer, in_thread

MakeDiscoverer = Callable[[], Discoverer]
S = TypeVar("S", HttpSd, DnsSd, KubernetesSd, SlurmSd, BackendAiSd)


# Sections whose targets somebody else names; each has credentials of its own.
SECTIONS = ("http", "dns", "kubernetes", "slurm", "backendai")


def static_targets(targets: Targets, scrape: Scrape) -> list[Target]:
    """The targets that are written out. Raises UsageError."""
    listed = targets_of(targets.static, targets.labels, scrape.scheme, scrape.credentials)
    return [*listed, *ssh_targets(targets.ssh, targets.labels)]


def without_credentials(targets: Targets, scrape: Scrape) -> list[str]:
    """Sections that have none, where `scrape` has some: `http[0]`."""
    if not scrape.credentials:
        return []
    return [
        f"{section}[{number}]"
        for section in SECTIONS
        for number, settings in enumerate(getattr(targets, section))
        if not settings.scrape
    ]


def discoverers(targets: Targets, scrape: Scrape) -> dict[str, MakeDiscoverer]:
    """Name to discovery, in the order in which later ones win; equal settings have equal names."""
    rules = Rules(scheme=scrape.scheme, rename=targets.rename_labels, keep=targets.keep_labels)
    ours = msgspec.structs.replace(rules, credentials=scrape.credentials, may_ssh=True)
    by_name: dict[str, MakeDiscoverer] = {}
    if targets.files:
        settings = Targets(files=targets.files, refresh_s=targets.refresh_s)
        by_name[_named("files", settings, ours)] = partial(_files, targets, ours)
    by_name.update(_each("http", targets.http, _http, rules))
    by_name.update(_each("dns", targets.dns, _dns, rules))
    by_name.update(_each("kubernetes", targets.kubernetes, _kubernetes, rules))
    by_name.update(_each("slurm", targets.slurm, _slurm, rules))
    by_name.update(_each("backendai", targets.backendai, _backendai, rules))
    return by_name


def _each(
    kind: str, section: Sequence[S], make: Callable[[S, Rules], Discoverer], rules: Rules
) -> Iterator[tuple[str, MakeDiscoverer]]:
    for settings in section:
        bound = msgspec.structs.replace(rules, credentials=settings.scrape)
        yield _named(kind, settings, bound), partial(make, settings, bound)


def _named(kind: str, settings: msgspec.Struct, rules: Rules) -> str:
    return f"{kind} {msgspec.json.encode((settings, rules)).decode()}"


def _files(targets: Targets, rules: Rules) -> Discoverer:
    from accelwatch.fleet.targets.files import TargetFiles

    return in_thread(TargetFiles(targets.files, rules), targets.refresh_s)


def _http(settings: HttpSd, rules: Rules) -> Discoverer:
    from accelwatch.fleet.targets.http import HttpTargets

    return HttpTargets(settings, rules)


def _dns(settings: DnsSd, rules: Rules) -> Discoverer:
    from accelwatch.fleet.targets.dns import DnsTargets

    return in_thread(DnsTargets(settings, rules), settings.refresh_s)


def _kubernetes(settings: KubernetesSd, rules: Rules) -> Discoverer:
    from accelwatch.fleet.targets.kubernetes.discovery import KubernetesTargets

    return KubernetesTargets(settings, rules)


def _slurm(settings: SlurmSd, rules: Rules) -> Discoverer:
    from accelwatch.fleet.targets.slurm.discovery import SlurmTargets

    return in_thread(SlurmTargets(settings, rules), settings.refresh_s)


def _backendai(settings: BackendAiSd, rules: Rules) -> Discoverer:
    from accelwatch.fleet.targets.backendai import BackendAiTargets

    return BackendAiTargets(settings, rules)
