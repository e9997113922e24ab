"""Which ways of finding targets a configuration asks for."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import DnsSd, HttpSd, KubernetesSd, SlurmSd, Targets
from accelwatch.fleet.targets.target import Target, targets_of
from accelwatch.fleet.targets.watch import Way, in_thread

MakeWay = Callable[[], Way]
S = TypeVar("S", HttpSd, DnsSd, KubernetesSd, SlurmSd)


def rules_of(targets: Targets, scheme: str) -> Rules:
    """How discovered targets are made."""
    return Rules(scheme=scheme, rename=targets.rename_labels, keep=targets.keep_labels)


def standing_targets(targets: Targets, scheme: str) -> list[Target]:
    """The targets that are written out. Raises UsageError."""
    return targets_of(targets.static, targets.labels, scheme)


def ways(targets: Targets, scheme: str) -> dict[str, MakeWay]:
    """Name to discovery, in the order in which later ones win; equal settings have equal names."""
    rules = rules_of(targets, scheme)
    found: dict[str, MakeWay] = {}
    if targets.files:
        one = Targets(files=targets.files, refresh_s=targets.refresh_s)
        found[_named("files", one, rules)] = partial(_files, targets, rules)
    found.update(_each("http", targets.http, _http, rules))
    found.update(_each("dns", targets.dns, _dns, rules))
    found.update(_each("kubernetes", targets.kubernetes, _kubernetes, rules))
    found.update(_each("slurm", targets.slurm, _slurm, rules))
    return found


def _each(
    kind: str, section: Sequence[S], make: Callable[[S, Rules], Way], rules: Rules
) -> Iterator[tuple[str, MakeWay]]:
    for one in section:
        yield _named(kind, one, rules), partial(make, one, rules)


def _named(kind: str, settings: msgspec.Struct, rules: Rules) -> str:
    return f"{kind} {msgspec.json.encode((settings, rules)).decode()}"


def _files(targets: Targets, rules: Rules) -> Way:
    from accelwatch.fleet.targets.files import TargetFiles

    return in_thread(TargetFiles(targets.files, rules), targets.refresh_s)


def _http(settings: HttpSd, rules: Rules) -> Way:
    from accelwatch.fleet.targets.http import HttpTargets

    return HttpTargets(settings, rules)


def _dns(settings: DnsSd, rules: Rules) -> Way:
    from accelwatch.fleet.targets.dns import DnsTargets

    return in_thread(DnsTargets(settings, rules), settings.refresh_s)


def _kubernetes(settings: KubernetesSd, rules: Rules) -> Way:
    from accelwatch.fleet.targets.kubernetes.discovery import KubernetesTargets

    return KubernetesTargets(settings, rules)


def _slurm(settings: SlurmSd, rules: Rules) -> Way:
    from accelwatch.fleet.targets.slurm import SlurmTargets

    return in_thread(SlurmTargets(settings, rules), settings.refresh_s)
