"""What a collector is told to do; encodable, because it crosses to the child process."""

import msgspec

from accelwatch.node.store.reports import Component


class CollectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to collect. Times in seconds."""

    backends: tuple[str, ...] = ()
    """Entry-point names, or `module:attribute`; empty: every installed one except `replay`."""
    without: frozenset[str] = frozenset()
    """Names left out when `backends` is empty."""
    one_shot: bool = False
    interval_s: float = 1.0
    timeout_s: float = 1.0
    """Deadline of one device's read; for a single reading, of everything together."""
    open_timeout_s: float = 5.0
    """After this a backend that still opens or discovers is shown as unavailable."""
    slow_every_s: float = 5.0
    """How often quantities that hardly change are read again."""
    rediscover_s: float = 10.0
    """How often devices are looked for and identified again."""
    groups: frozenset[str] = frozenset()
    """Opt-in groups of quantities."""
    processes: bool = True
    argv: bool = False
    wake_suspended: bool = False
    expect: int = 0
    """Devices that there must be; 0: nobody says."""
    root: str = "/"
    """Prefix of /sys, /proc and /dev."""
    state_dir: str | None = None
    excluded: tuple[str, ...] = ()
    """Devices to leave alone: id, uuid, serial, PCI id or host-local name."""
    options: dict[str, dict[str, object]] = {}
    """Each backend's own section, by the backend's name."""


class QuarantinedComponent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must not be called yet."""

    part: Component
    reason: str = ""
    """What the row of a held-out device says."""


class StartOrder(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """The first order to a collector."""

    settings: CollectSettings
    held_out: tuple[QuarantinedComponent, ...] = ()
    careful: bool = False
    """Let devices be called one by one even if they are slow, so that a crash names one of them."""
    began: float | None = None
    """Moment of the monotonic clock from which the deadline of a single reading counts."""


class LetIn(msgspec.Struct, frozen=True, kw_only=True, tag="let_in"):
    """Call again what was held out."""

    part: Component


Order = StartOrder | LetIn
