"""A collector's orders; encodable, because they cross to the child process."""

import msgspec

from accelwatch.node.store.reports import Component


class CollectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to collect. Times in seconds."""

    # Entry-point names, or `module:attribute`; empty: every installed one except `replay`.
    backends: tuple[str, ...] = ()
    # Names left out when `backends` is empty.
    without: frozenset[str] = frozenset()
    one_shot: bool = False
    interval_s: float = 1.0
    # Deadline of one device's read; for a single reading, of everything together.
    timeout_s: float = 1.0
    # After this a backend that still opens or discovers is shown as unavailable.
    open_timeout_s: float = 5.0
    # How often quantities that hardly change are read again.
    slow_every_s: float = 5.0
    # How often devices are looked for and identified again.
    rediscover_s: float = 10.0
    # Opt-in groups of quantities.
    groups: frozenset[str] = frozenset()
    processes: bool = True
    argv: bool = False
    wake_suspended: bool = False
    # Devices that there must be; 0: nobody says.
    expect: int = 0
    # Prefix of /sys, /proc and /dev.
    root: str = "/"
    state_dir: str | None = None
    # Devices to leave alone: id, uuid, serial, PCI id or host-local name.
    excluded: tuple[str, ...] = ()
    # Each backend's own section, by the backend's name.
    options: dict[str, dict[str, object]] = {}


class QuarantinedComponent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must not be called yet."""

    component: Component
    # What the row of a held-out device says.
    reason: str = ""


class StartOrder(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """The first order to a collector."""

    settings: CollectSettings
    quarantined: tuple[QuarantinedComponent, ...] = ()
    # Let devices be called one by one even if they are slow, so that a crash names one of them.
    careful: bool = False
    # Moment of the monotonic clock from which the deadline of a single reading counts.
    started_at: float | None = None


class LetIn(msgspec.Struct, frozen=True, kw_only=True, tag="let_in"):
    """Call again what was held out."""

    component: Component


Order = StartOrder | LetIn
