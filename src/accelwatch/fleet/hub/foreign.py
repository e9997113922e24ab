"""Expositions of any exporter, read by the dialect tables for a follower."""

import time
from collections.abc import Callable, Sequence

from accelwatch.fleet.dialects import PRECEDENCE, ForeignReader
from accelwatch.fleet.dialects.ours.page import OURS
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.poll import Exposed, ReadExposition
from accelwatch.fleet.target import Target


def foreign_reader(
    target: Target,
    precedence: Sequence[str] = PRECEDENCE,
    now: Callable[[], float] = time.time,
) -> ReadExposition:
    """A reader that keeps what it has learnt of one target between polls.

    `precedence` orders the dialects of an exposition that several exporters have written.
    """
    reader = ForeignReader(precedence=precedence)

    def read(body: bytes) -> Exposed:
        foreign = reader.read(body, now())
        if not foreign.dialects:
            text = f"{target.metrics_path} has no accelerator metrics in a known dialect"
            raise TargetFault(Reason.GARBAGE, text)
        node = () if foreign.node is None else (foreign.node,)
        return Exposed(
            dialect="+".join(foreign.dialects),
            devices=(*foreign.devices, *node),
            streams=OURS.name in foreign.dialects,
            rejected=dict(foreign.rejected),
            listing=foreign.listing,
        )

    return read
