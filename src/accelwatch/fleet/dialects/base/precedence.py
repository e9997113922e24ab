"""In which order exporters of one node are believed: ours, the configured ones, the others. Pure."""

from collections.abc import Callable, Sequence

from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest

# Ours, then the vendor's, then others; a dialect that is not listed comes last.
PRECEDENCE: tuple[str, ...] = (
    "accelwatch",
    "dcgm-exporter-4.9",
    "dcgm-exporter",
    "amd-device-metrics-exporter",
    "xpumd",
    "xpum",
    "gaudi-metric-exporter",
    "npu-exporter",
    "rbln-metrics-exporter",
    "furiosa-metrics-exporter",
    "neuron-monitor",
    "gke-tpu",
    "tt-metrics-exporter",
    "mlu-exporter",
    "dcu-exporter",
    "ix-exporter",
    "mx-exporter",
    "nvidia_gpu_exporter",
    "nvitop-exporter",
    "macmon",
    "all-smi",
    "backendai-nvidia",
    "backendai-amd",
    "backendai-tpu",
    "backendai-graphcore",
    "backendai-rebellions",
    "backendai-habana",
    "backendai-furiosa",
    "backendai-hyperaccel",
    "backendai",
    "node_exporter",
    "red-hat",
)
_OURS = PRECEDENCE[0]


def precedence(configured: Sequence[str]) -> tuple[str, ...]:
    """Every dialect in order. A name is a dialect's, or its beginning: `dcgm` is both generations.

    Raises UsageError for a name that is no dialect's.
    """
    chosen = [dialect for name in configured for dialect in _named(name)]
    return tuple(dict.fromkeys((_OURS, *chosen, *PRECEDENCE)))


def _named(name: str) -> list[str]:
    plain = _plain(name)
    exact = [dialect for dialect in PRECEDENCE if _plain(dialect) == plain]
    family = [dialect for dialect in PRECEDENCE if _plain(dialect).startswith(f"{plain}-")]
    if not plain or not (exact or family):
        close = nearest(name, list(PRECEDENCE))
        hint = (
            f"did you mean {close}?" if close else f"expected some of {', '.join(PRECEDENCE[1:])}"
        )
        raise UsageError(f"no dialect {name[:60]!r}; {hint}")
    return [dialect for dialect in PRECEDENCE if dialect in exact or dialect in family]


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def ranker(order: Sequence[str]) -> Callable[[str], int]:
    """The rank of a source by its dialects (`dcgm-exporter+node_exporter`), that of the best of them."""
    ranks = {name: position for position, name in enumerate(order)}

    def rank(dialects: str) -> int:
        return min(ranks.get(dialect, len(ranks)) for dialect in dialects.split("+"))

    return rank
