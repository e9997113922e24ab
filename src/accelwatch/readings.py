"""Readings of this machine for programs: one snapshot, or one each interval.

The command line and the Python API (`accelwatch.snapshot`, `accelwatch.watch`) both come here.
"""

from collections.abc import Iterator

from accelwatch.sampler.one_shot import Isolation, read_once
from accelwatch.sampler.settings import CollectSettings
from accelwatch.schema.snapshot import Snapshot

__all__ = ["CollectSettings", "Isolation", "Snapshot", "read_once", "read_repeatedly"]


def read_repeatedly(settings: CollectSettings, *, count: int | None = None) -> Iterator[Snapshot]:
    """A snapshot every `settings.interval_s`, `count` of them or for ever."""
    raise NotImplementedError
