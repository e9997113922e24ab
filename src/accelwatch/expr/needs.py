"""What a rule needs: series, windows, events, groups and labels; what its windows cost in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from accelwatch.base.errors import ExpressionError
from accelwatch.expr.checking.boot import UPTIME_AGE
from accelwatch.expr.checking.tree import (
    Affected,
    Event,
    EventPattern,
    Fold,
    Node,
    Peers,
    Reading,
    Window,
    walk,
)
from accelwatch.expr.syntax.duration import spoken
from accelwatch.expr.vocabulary.rule_names import LABEL_PREFIX, of_host
from accelwatch.expr.vocabulary.windows import (
    WindowComponent,
    bytes_of,
    components_of,
    steps_of,
)
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.metrics import Kind, Series
from accelwatch.schema.series import path_of

# Most memory for the windows of all rules together.
MOST_BYTES = 256 << 20
_SHOWN = 3
# Bytes of a series beside its components: the last sample and its time.
_LAST_BYTES = 16


class WindowNeed(msgspec.Struct, frozen=True, cache_hash=True):
    """A window that must be kept: what it computes (`WindowKind`), of which series, how long."""

    kind: str
    series: Series
    seconds: int
    quantile: float | None = None
    # Whether only samples of the job that runs on the device count.
    of_job: bool = False

    @property
    def components(self) -> tuple[WindowComponent, ...]:
        """What each step of it holds."""
        return components_of(self.kind, counter=is_counter(self.series))

    def __str__(self) -> str:
        length = f" over {spoken(self.seconds)}" if self.seconds else ""
        whose = " since its job began" if self.of_job else ""
        return f"{self.kind} of {path_of(self.series)}{length}{whose}"


@dataclass(frozen=True, slots=True)
class EventNeed:
    """Events that must be remembered; `seconds` is 0 where only the last one counts."""

    pattern: EventPattern
    seconds: int


@dataclass(frozen=True, slots=True)
class Needs:
    """All that an expression reads."""

    # Whose current value is needed, or of which a window is; those of the host among them.
    series: frozenset[Series] = frozenset()
    # Identity fields and owners.
    fields: frozenset[str] = frozenset()
    # Labels of the node.
    labels: frozenset[str] = frozenset()
    windows: frozenset[WindowNeed] = frozenset()
    events: frozenset[EventNeed] = frozenset()
    # By what devices must be grouped.
    groups: frozenset[str] = frozenset()
    # Ids of other rules whose firing is read.
    rules: frozenset[str] = frozenset()

    def __or__(self, other: "Needs") -> "Needs":
        return Needs(*(getattr(self, field) | getattr(other, field) for field in self.__slots__))


def needs(tree: Node) -> Needs:
    """What a tree reads."""
    nodes = list(walk(tree))
    if any(isinstance(node, Event) and node.until_boot for node in nodes):
        nodes += walk(UPTIME_AGE)
    keys = {key for node in nodes if isinstance(node, Reading) for key in node.keys}
    fields = {key for key in keys if isinstance(key, str)}
    labels = {key for key in fields if key.startswith(LABEL_PREFIX)}
    return Needs(
        series=frozenset(key for key in keys if isinstance(key, tuple)),
        fields=frozenset(fields - labels),
        labels=frozenset(label.removeprefix(LABEL_PREFIX) for label in labels),
        windows=frozenset(
            WindowNeed(node.kind, key, node.seconds, node.quantile, node.of_job)
            for node in nodes
            if isinstance(node, Window)
            for key in node.reading.keys
            if isinstance(key, tuple)
        ),
        events=frozenset(
            EventNeed(node.pattern, node.seconds) for node in nodes if isinstance(node, Event)
        ),
        groups=frozenset(node.by for node in nodes if isinstance(node, Peers | Fold | Affected)),
        rules=frozenset(node.rule for node in nodes if isinstance(node, Affected)),
    )


def is_counter(series: Series) -> bool:
    """Whether a series only grows."""
    row = by_key().get(series[0])
    return row is not None and row.kind is Kind.COUNTER


def window_bytes(windows: Iterable[WindowNeed], devices: int, nodes: int) -> int:
    """Memory that windows need together for so many devices; those of a series share theirs.

    Windows over quantities of the host are kept once for each of the `nodes`.
    """
    windows = list(windows)
    of_nodes = [window for window in windows if of_host(window.series)]
    of_devices = [window for window in windows if not of_host(window.series)]
    return devices * _bytes_each(of_devices) + nodes * _bytes_each(of_nodes)


def _bytes_each(windows: Iterable[WindowNeed]) -> int:
    """Memory of windows for one device, or one node."""
    lengths: dict[Series, dict[WindowComponent, int]] = {}
    for window in windows:
        of_series = lengths.setdefault(window.series, {})
        for component in window.components:
            of_series[component] = max(of_series.get(component, 0), steps_of(window.seconds))
    return sum(bytes_of(of_series) + _LAST_BYTES for of_series in lengths.values())


def refuse_costly(
    rules: Mapping[str, Needs], devices: int, nodes: int, most: int = MOST_BYTES
) -> None:
    """Raise ExpressionError, which names the dearest windows, if those of all rules need too much."""
    rules_by_window: dict[WindowNeed, list[str]] = {}
    for name, need in rules.items():
        for window in need.windows:
            rules_by_window.setdefault(window, []).append(name)
    total = window_bytes(rules_by_window, devices, nodes)
    if total <= most:
        return
    sizes = {window: window_bytes([window], devices, nodes) for window in rules_by_window}
    dearest = sorted(sizes, key=lambda window: (-sizes[window], str(window)))[:_SHOWN]
    listing = "\n".join(
        f"  {window} ({_mib(sizes[window])}): {', '.join(sorted(rules_by_window[window])[:_SHOWN])}"
        for window in dearest
    )
    raise ExpressionError(
        f"the windows of these rules take {_mib(total)} for {devices} devices on {nodes} nodes, and "
        f"the most is {_mib(most)}; the dearest are\n{listing}\nask for shorter ones"
    )


def _mib(count: int) -> str:
    return f"{count / (1 << 20):.0f} MiB"
