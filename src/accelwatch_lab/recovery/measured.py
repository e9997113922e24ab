"""A detector's figures from the file that `benchmarks/detection/detection_table.py --json` writes."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.base.errors import ConfigError
from accelwatch_lab.recovery.detector import ASSUMED, Delay, Detector, Origin, Share
from accelwatch_lab.recovery.failures import Channel, Recall

_Count = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(ge=0)]


class _Hits(msgspec.Struct, frozen=True):
    hits: _Count
    of: _Count

    def __post_init__(self) -> None:
        """Raises ValueError, which makes a file that says so one of another shape."""
        if self.hits > self.of:
            raise ValueError(f"{self.hits} of {self.of} cannot be")


class _Measures(msgspec.Struct, frozen=True):
    """What is read of a detector's table; delays are median and 95th percentile in seconds."""

    recall: dict[str, _Hits] = {}
    right_node: _Hits = _Hits(0, 0)
    group_single: _Hits = _Hits(0, 0)
    delays: dict[str, tuple[_Seconds, _Seconds] | None] = {}


class _Scored(msgspec.Struct, frozen=True):
    measures: _Measures


class _File(msgspec.Struct, frozen=True):
    detectors: dict[str, _Scored]


def measured(data: bytes, name: str, detector: str | None) -> Detector:
    """The detector of a file of this name, JSON or YAML; what was not measured stays assumed.

    Raises ConfigError for a file of another shape, and where it has several detectors and none, or
    another, is named.
    """
    try:
        decode = msgspec.yaml.decode if name.endswith((".yaml", ".yml")) else msgspec.json.decode
        scored = decode(data, type=_File).detectors
    except DECODE_ERRORS as error:
        raise ConfigError(
            f"{name}: not a scored run of benchmarks/detection/detection_table.py --json: {error}"
        ) from error
    chosen = _chosen(scored, name, detector)
    measures = scored[chosen].measures
    return Detector(
        recall={
            group: _share(measures.recall.get(group.value, _Hits(0, 0)), ASSUMED.recall[group])
            for group in Recall
        },
        right_node=_share(measures.right_node, ASSUMED.right_node),
        single_group=_share(measures.group_single, ASSUMED.single_group),
        delays={channel: _delay(measures, channel) for channel in Channel},
        source=f"{chosen}, {name}",
    )


def _chosen(scored: Mapping[str, _Scored], name: str, detector: str | None) -> str:
    names = ", ".join(sorted(scored)) or "none"
    if detector is None and len(scored) == 1:
        return next(iter(scored))
    if detector is None:
        raise ConfigError(f"{name}: choose one with --detector; there are: {names}")
    if detector not in scored:
        raise ConfigError(f"{name}: no detector {detector!r}; there are: {names}")
    return detector


def _share(measure: _Hits, otherwise: Share) -> Share:
    if not measure.of:
        return otherwise
    return Share(measure.hits / measure.of, Origin.MEASURED, f"{measure.hits} of {measure.of}")


def _delay(measures: _Measures, channel: Channel) -> Delay:
    spread = measures.delays.get(channel.value)
    if spread is None:
        return ASSUMED.delays[channel]
    return Delay(*spread, Origin.MEASURED)
