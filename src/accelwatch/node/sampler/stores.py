"""The store that goes with a collector's settings, and whether it goes on with other settings."""

from pathlib import Path

import msgspec

from accelwatch.base.clock import Clock
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.node.store import Store


def store_for(settings: CollectSettings, clock: Clock) -> Store:
    """A new store; event counters and known devices are kept in the state directory if there is one."""
    count_file = identity_file = None
    if settings.state_dir is not None and not settings.one_shot:
        from accelwatch.node.store.persistence.counts import CountFile
        from accelwatch.node.store.persistence.identity_file import IdentityFile

        folder = Path(settings.state_dir)
        count_file, identity_file = CountFile(folder), IdentityFile(folder)
    return Store(
        clock,
        interval_s=settings.interval_s,
        timeout_s=settings.timeout_s,
        groups=settings.groups,
        one_shot=settings.one_shot,
        root=Path(settings.root),
        expect=settings.expect,
        count_file=count_file,
        identity_file=identity_file,
    )


def only_paced(before: CollectSettings, after: CollectSettings) -> bool:
    """Whether only the pace is another, so that a store knows the same devices in the same way."""
    paced = msgspec.structs.replace(before, interval_s=after.interval_s, timeout_s=after.timeout_s)
    return paced == after
