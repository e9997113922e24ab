"""What is wrong with the settings of `evidence` that no single value shows."""

from collections.abc import Collection, Iterator, Sequence

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.evidence.slurm_health import NEVER
from accelwatch.fleet.evidence.tools import is_own
from accelwatch.fleet.evidence_settings import Evidence, KubernetesEvidence, SlurmEvidence

_OWN = "is ours, and no evidence: it would prove itself"


def mistakes(settings: Evidence, own_taints: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Dotted key below `evidence` and what is wrong. `own_taints` are keys that our actions set."""
    yield from _same_names("kubernetes", settings.kubernetes)
    yield from _same_names("slurm", settings.slurm)
    for number, cluster in enumerate(settings.kubernetes):
        yield from _of_kubernetes(f"kubernetes[{number}]", cluster, own_taints)
    for number, slurm in enumerate(settings.slurm):
        for at, reason in enumerate(slurm.reasons):
            key = f"slurm[{number}].reasons[{at}].prefix"
            if not reason.prefix:
                yield key, "expected how the reason begins, such as 'NHC:'"
            elif reason.prefix.lower().startswith(NEVER):
                yield key, f"{reason.prefix!r} {_OWN}"


def _same_names(
    section: str, clusters: Sequence[KubernetesEvidence | SlurmEvidence]
) -> Iterator[tuple[str, str]]:
    names = [cluster.name for cluster in clusters]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield f"{section}[{number}].name", f"there are two clusters called {name!r}; set name"


def _of_kubernetes(
    key: str, settings: KubernetesEvidence, own_taints: Collection[str]
) -> Iterator[tuple[str, str]]:
    for number, condition in enumerate(settings.conditions):
        name = f"{key}.conditions[{number}].type"
        if not condition.type:
            yield name, "expected a condition type"
        elif is_own(condition.type):
            yield name, f"{condition.type!r} {_OWN}"
    for number, taint in enumerate(settings.taints):
        name = f"{key}.taints[{number}].key"
        if not taint.key:
            yield name, "expected the key of a taint"
        elif is_own(taint.key) or taint.key in own_taints:
            yield name, f"{taint.key!r} {_OWN}"
    # Whether this is a pod is known only where the hub runs.
    if settings.api_server or settings.cert_file or settings.key_file:
        from accelwatch.fleet.evidence.node_watch import api_server_of

        try:
            api_server_of(
                settings, {"KUBERNETES_SERVICE_HOST": "x", "KUBERNETES_SERVICE_PORT": "1"}
            )
        except ConfigError as error:
            yield f"{key}.api_server", str(error).removeprefix("api_server: ")
