"""How reading a store goes, in the words of the API."""

import msgspec


class StoreNote(msgspec.Struct, frozen=True, kw_only=True):
    """How reading the store goes, for /v1/fleet."""

    address: str
    read_at: float | None = None
    """Unix seconds of the latest read that gave something."""
    read_duration_s: float | None = None
    series: int = 0
    targets: int = 0
    unplaced_series: int = 0
    """Series of accelerators that no label gives a node."""
    warnings: tuple[str, ...] = ()
    fault: str = ""
