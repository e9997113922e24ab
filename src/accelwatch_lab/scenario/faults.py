"""The vocabulary of faults in scenario files: words, parameters, times. `effects` says what they do."""

import math
from enum import StrEnum

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.durations import seconds
from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.schema.catalogue.lookup import reading_metrics
from accelwatch.schema.event import Category
from accelwatch.schema.metrics import Series
from accelwatch.schema.series import series_of
from accelwatch.system.kernel import xid
from accelwatch.system.located_yaml.document import LocatedDocument
from accelwatch.system.located_yaml.nodes import Location

Duration = float | int | str


class FaultKind(StrEnum):
    """What goes wrong: with a device, with a call of its backend, or with a whole node."""

    LOST = "lost"
    # Lost, and no longer found either.
    GONE = "gone"
    # The device, or the call, does not answer.
    HANG = "hang"
    ERROR = "error"
    PERMISSION = "permission"
    SUSPENDED = "suspended"
    EVENT = "event"
    # One quantity has no value, for a reason.
    ABSENT = "absent"
    THROTTLE = "throttle"
    STRAGGLER = "straggler"
    ECC = "ecc"
    LINK_DOWN = "link_down"
    # Links send again what arrives damaged.
    LINK_ERRORS = "link_errors"
    # Rows of memory are replaced by spare ones.
    REMAP = "remap"
    # The call is slower.
    SLOW = "slow"
    # SIGSEGV of the process that reads.
    CRASH = "crash"
    # Connections are cut as soon as they send a request.
    NODE_DOWN = "node_down"
    # Connections are accepted and nothing is ever answered; streams fall silent.
    NODE_HUNG = "node_hung"
    # Answers drip, a byte at a time.
    SLOW_LORIS = "slow_loris"
    # Answers are noise with a good status code.
    GARBAGE = "garbage"
    CLOCK_SKEW = "clock_skew"
    # The node is away, and has rebooted when it is back.
    REBOOT = "reboot"
    # A file server does not answer the node.
    NFS_STALL = "nfs_stall"


# Befall a call of a backend and nothing else: only a replay has such calls.
CALL_KINDS = frozenset({FaultKind.SLOW, FaultKind.CRASH})
# Befall a node that is polled over the network: only the simulator has such nodes.
NODE_KINDS = frozenset(
    {
        FaultKind.NODE_DOWN,
        FaultKind.NODE_HUNG,
        FaultKind.SLOW_LORIS,
        FaultKind.GARBAGE,
        FaultKind.CLOCK_SKEW,
        FaultKind.REBOOT,
        FaultKind.NFS_STALL,
    }
)
# Words of earlier versions of the simulator, and what they stand for where nothing else is given.
_OLDER_NAMES: dict[object, dict[str, object]] = {
    "hung": {"kind": "hang"},
    "xid": {"kind": "event", "code": "xid_79"},
}


class Call(StrEnum):
    """Which call of the backend suffers a `hang`, `slow`, `error` or `crash`."""

    OPEN = "open"
    DISCOVER = "discover"
    IDENTIFY = "identify"
    READ = "read"


class FaultSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One fault from `at` until `back`, or for ever; with `every` it comes again."""

    kind: FaultKind
    # Which device, or `*` for all.
    device: int | str = "*"
    at: Duration = 0.0
    back: Duration | None = None
    every: Duration | None = None
    call: Call = Call.READ
    # Of `slow`.
    delay: Duration = 0.5
    # Of an event or error; a bare number of an event is NVIDIA's: 79 is `xid_79`.
    code: int | str = ""
    # Of an event; without it NVIDIA's own of an Xid, `other` for other codes.
    category: Category | None = None
    text: str = ""
    # Which quantity or series is `absent`.
    quantity: str = ""
    # Why: of `throttle` a reason such as `thermal_hardware`, of `absent` one of the absences.
    reason: str = ""
    # Of `ecc` and `remap`: `corrected` or `uncorrected`.
    severity: str = "corrected"
    # Links that are down; errors a second of `ecc` and `link_errors`; rows of `remap`.
    count: int = 1
    # Share of the usual clock and work of `throttle` and `straggler`.
    factor: float = 0.6
    # Of `clock_skew`; a minus sign sets the clock back.
    by: Duration = "1m"

    @property
    def event_code(self) -> str:
        """The code as events and counters have it."""
        return self.code if isinstance(self.code, str) else f"xid_{self.code}"

    @property
    def event_category(self) -> Category:
        """The category as events and counters have it."""
        return self.category or xid.category_of(self.event_code, "")

    @property
    def throttle_reason(self) -> str:
        """The reason of a throttle."""
        return self.reason or "thermal_hardware"

    @property
    def absence(self) -> Absence:
        """The reason of an absence."""
        return Absence(self.reason) if self.reason else Absence.ERROR


class FaultState(msgspec.Struct, frozen=True):
    """A fault's state: whether it is active, since when, how often and for how long it was."""

    active: bool
    since_s: float
    times: int
    total_s: float


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A checked fault; times in seconds, `lasts_s` is None for one that stays."""

    spec: FaultSpec
    at_s: float = 0.0
    lasts_s: float | None = None
    every_s: float | None = None
    delay_s: float = 0.0
    by_s: float = 0.0
    # What is absent.
    series: Series = ()

    def state_at(self, time_s: float) -> FaultState | None:
        """How it stands at a moment; None before it first comes."""
        since = time_s - self.at_s
        if since < 0:
            return None
        lasts = math.inf if self.lasts_s is None else self.lasts_s
        if self.every_s is None:
            return FaultState(since < lasts, self.at_s, 1, min(since, lasts))
        cycles = math.floor(since / self.every_s)
        elapsed_s = since - cycles * self.every_s
        lasts = min(lasts, self.every_s)
        return FaultState(
            elapsed_s < lasts,
            time_s - elapsed_s,
            cycles + 1,
            cycles * lasts + min(elapsed_s, lasts),
        )

    def active(self, time_s: float) -> bool:
        """Whether it is active at a moment."""
        now = self.state_at(time_s)
        return now is not None and now.active


def with_current_names(data: object) -> object:
    """A fault as written, with words of earlier versions replaced by today's."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return data
    meaning = _OLDER_NAMES.get(data["kind"])
    return data if meaning is None else {**meaning, **data, "kind": meaning["kind"]}


def read_fault(document: LocatedDocument, spec: FaultSpec, location: Location) -> Fault:
    """A fault with its times, all that can be said without its device; complains of mistakes."""
    at_s = read_seconds(document, spec.at, (*location, "at"))
    lasts_s = None
    if spec.back is not None:
        lasts_s = read_seconds(document, spec.back, (*location, "back")) - at_s
        if lasts_s <= 0:
            document.complain((*location, "back"), "back must be after at")
    within(document, spec.factor, 0, 1, (*location, "factor"))
    within(document, spec.count, 1, 1_000_000, (*location, "count"))
    _check_values(document, spec, location)
    series: Series | None = ()
    if spec.kind is FaultKind.ABSENT:
        series = read_series(document, spec.quantity, (*location, "quantity"))
    return Fault(
        spec=spec,
        at_s=at_s,
        lasts_s=lasts_s,
        every_s=_every(document, spec, lasts_s, location),
        delay_s=read_seconds(document, spec.delay, (*location, "delay")),
        by_s=_signed(document, spec.by, (*location, "by")),
        series=series or (),
    )


def _every(
    document: LocatedDocument, spec: FaultSpec, lasts_s: float | None, location: Location
) -> float | None:
    if spec.every is None:
        return None
    every_s = read_seconds(document, spec.every, (*location, "every"))
    once = spec.kind is FaultKind.EVENT
    if every_s <= 0 or (not once and (lasts_s or every_s) >= every_s):
        text = "a fault that comes again must be back before that"
        document.complain((*location, "every"), text)
    return every_s


def _check_values(document: LocatedDocument, spec: FaultSpec, location: Location) -> None:
    if spec.kind is FaultKind.EVENT and not spec.event_code:
        document.complain((*location, "code"), "an event needs a code, such as xid_79")
    if spec.severity not in ("corrected", "uncorrected"):
        text = f"{spec.severity!r} is neither corrected nor uncorrected"
        document.complain((*location, "severity"), text)
    reasons = sorted(map(str, Absence))
    if spec.kind is FaultKind.ABSENT and spec.reason not in ("", *reasons):
        text = f"{spec.reason!r} is not a valid absence; expected one of {', '.join(reasons)}"
        document.complain((*location, "reason"), text)


def read_series(document: LocatedDocument, path: str, location: Location) -> Series | None:
    """A quantity or series by its dotted path; None, with a complaint, for what no device has."""
    series = series_of(path)
    rows = {row.key: row for row in reading_metrics()}
    row = rows.get(series[0])
    if row is None:
        close = nearest(series[0], list(rows))
        hint = f"; did you mean {close!r}?" if close else ""
        document.complain(location, f"no quantity {series[0]!r} that a device can have{hint}")
        return None
    if len(series) not in (1, len(row.labels) + 1):
        labels = ", ".join(row.labels) or "none"
        document.complain(location, f"{row.key} has the labels {labels}")
        return None
    return series


def read_seconds(document: LocatedDocument, duration: Duration, location: Location) -> float:
    """A duration that is not negative; 0, with a complaint, for what is none."""
    value = _signed(document, duration, location)
    if value < 0:
        document.complain(location, "a duration must not be negative")
    return value


def _signed(document: LocatedDocument, duration: Duration, location: Location) -> float:
    if isinstance(duration, int | float):
        return float(duration)
    try:
        return -seconds(duration[1:]) if duration.startswith("-") else seconds(duration)
    except UsageError as error:
        document.complain(location, str(error))
        return 0.0


def within(
    document: LocatedDocument, value: float, least: float, most: float, location: Location
) -> None:
    """Complain of a number that is out of range."""
    if not least <= value <= most:
        document.complain(location, f"{value:g} is not between {least:g} and {most:g}")
