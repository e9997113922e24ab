"""The snapshots that a command requests: one, one each interval, or the first of a recording."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from accelwatch.cli.plan import Plan

if TYPE_CHECKING:
    from accelwatch.node.workloads.one_shot_lookup import OneShotLookup
    from accelwatch.schema.snapshot import Snapshot


def snapshots(request: Plan, meanwhile: Callable[[], object]) -> "Iterator[Snapshot]":
    """One snapshot, or one each interval until the count is reached.

    `meanwhile` is called once, where it can be while devices are being read.
    """
    if request.interval_s is not None:
        meanwhile()
        yield from _repeatedly(request)
        return
    recording = request.recording
    if recording is not None:
        from accelwatch.node.snapshots import first_recorded

        meanwhile()
        yield first_recorded(
            recording, argv=request.arguments.argv, within_s=request.settings.timeout_s
        )
        return
    from accelwatch.node.sampler.one_shot import OneShot

    reading = OneShot(request.settings)
    # Its collector is at work by now: a thread of this process no longer makes that start slower.
    owner_lookup = _owners(request)
    meanwhile()
    snapshot = reading.finish()
    yield snapshot if owner_lookup is None else owner_lookup.annotate(snapshot)


def _owners(request: Plan) -> "OneShotLookup | None":
    """Looks up whose the devices are; None for a recording, which has the owners."""
    if request.arguments.replay is not None:
        return None
    from accelwatch.node.workloads.one_shot_lookup import OneShotLookup

    return OneShotLookup(request.settings.root)


def _repeatedly(request: Plan) -> "Iterator[Snapshot]":
    from accelwatch.node.snapshots import read_repeatedly

    owner_lookup: OneShotLookup | None = None
    try:
        for snapshot in read_repeatedly(request.settings, count=request.arguments.count):
            if owner_lookup is None:
                owner_lookup = _owners(request)
            if owner_lookup is None:
                yield snapshot
                continue
            owned = owner_lookup.annotate(snapshot)
            owner_lookup.continue_in_background()
            yield owned
    finally:
        if owner_lookup is not None:
            owner_lookup.stop()
