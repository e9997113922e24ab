"""How much a black box keeps. The worst case on disk is RING + FROZEN: 60 MiB."""

import msgspec

_MIB = 1 << 20


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds, sizes in bytes."""

    # What is kept of the time before an event, and of the ring.
    before_s: float = 900.0
    # How long after the last event of an incident is kept as well.
    after_s: float = 60.0
    # The same after the first one, however many follow.
    most_after_s: float = 180.0
    # A device that breaks again in the same way within this time freezes nothing new.
    again_s: float = 3600.0
    # The least time between two documents.
    step_s: float = 1.0
    # The ring is written in files of this length; what is older goes file by file.
    segment_s: float = 180.0
    segment_bytes: int = 2 * _MIB
    ring_bytes: int = 14 * _MIB
    frozen_bytes: int = 46 * _MIB
    frozen_files: int = 24
    frozen_age_s: float = 30 * 86400.0
