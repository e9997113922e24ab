"""The store that goes with a collector's settings."""

from pathlib import Path

from accelwatch.clock import Clock
from accelwatch.sampler.settings import CollectSettings
from accelwatch.store import Store
from accelwatch.store.counts import CountFile


def store_for(settings: CollectSettings, clock: Clock) -> Store:
    """A new store; event counters are loaded from, and kept in, the state directory if there is one."""
    keeps = settings.state_dir is not None and not settings.one_shot
    return Store(
        clock,
        interval_s=settings.interval_s,
        timeout_s=settings.timeout_s,
        groups=settings.groups,
        one_shot=settings.one_shot,
        root=Path(settings.root),
        count_file=CountFile(Path(settings.state_dir)) if keeps and settings.state_dir else None,
    )
