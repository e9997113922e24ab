"""What has happened on a machine: each state that is not well with its end, and each event. Pure."""

from collections.abc import Hashable, Iterable

import msgspec

from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import SEVERITIES, ErrorEvent, severity
from accelwatch.schema.snapshot import DeviceView, Snapshot, is_awaited, observed_since
from accelwatch.schema.status.device_status import state_severity
from accelwatch.schema.status.verdict import verdict
from accelwatch.tui.drawing import format as fmt

# Changes that are remembered; of those that are over the oldest go.
MOST = 1000


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A state from when to when, or an event at a moment. Times in Unix seconds."""

    # The same as long as it is the same change.
    key: Hashable
    # The state, or the code of the event.
    label: str
    started_at: float
    # Whether `started_at` is when it began; else nobody reports since when.
    dated: bool = True
    # When it was over; None while it goes on.
    resolved_at: float | None = None
    # Whether it is an event, which has no end.
    event: bool = False
    severity: str = "info"
    # In a fleet.
    node: str = ""
    device_id: str = ""
    # The device's; empty: the machine's.
    name: str = ""
    text: str = ""
    # What to do about it while it goes on.
    remedy: str = ""

    @property
    def is_ongoing(self) -> bool:
        """Whether it is a state that has not ended."""
        return self.resolved_at is None and not self.event


def in_order(changes: Iterable[Change]) -> list[Change]:
    """What goes on first, the worst of it at the top; then what is over and events, newest first.

    What is not dated comes last among its like.
    """
    return sorted(
        changes,
        key=lambda change: (
            not change.is_ongoing,
            SEVERITIES.index(change.severity) if change.is_ongoing else 0,
            -change.started_at if change.dated else 0.0,
            str(change.key),
        ),
    )


class Changes:
    """Needs snapshots in the order of time."""

    def __init__(self) -> None:
        # By device.
        self._open: dict[str, Change] = {}
        # Changes that are over, and errors, which have no end.
        self._recorded: list[Change] = []
        self._events: set[Hashable] = set()
        self._order: list[Change] | None = None

    def record(self, snapshot: Snapshot) -> None:
        """What is another than before."""
        names = {view.device.id: view.device.name for view in snapshot.devices}
        for view in snapshot.devices:
            self._state(view, snapshot)
        for removed in self._open.keys() - names.keys():
            self._close(removed, snapshot.time)
        keys = {_key(event) for event in snapshot.events}
        if not keys <= self._events:
            for event in snapshot.events:
                if _key(event) not in self._events:
                    self._remember(_event(event, names.get(event.device_id, "")))
            self._events = keys

    def _state(self, view: DeviceView, snapshot: Snapshot) -> None:
        if is_awaited(view):
            return
        id_, label = view.device.id, fmt.status_text(view)
        before = self._open.get(id_)
        if before is not None and before.label == label:
            self._renew(before, view, snapshot)
            return
        well = view.state is DeviceState.OK
        if before is not None:
            self._close(
                id_, view.state_since if before.started_at <= view.state_since else snapshot.time
            )
        if not well:
            level = "warning" if fmt.is_stale(view) else state_severity(view.state)
            self._order = None
            started_at = view.state_since or snapshot.time
            change = Change(
                key=(id_, label, started_at),
                label=label,
                started_at=started_at,
                dated=observed_since(view, snapshot) is not None,
                severity=level,
                device_id=id_,
                name=view.device.name,
            )
            self._open[id_] = _explained(change, view, snapshot)

    def _renew(self, change: Change, view: DeviceView, snapshot: Snapshot) -> None:
        """Update the explanation of a state, which may change while it goes on."""
        renewed = _explained(change, view, snapshot)
        if renewed != change:
            self._order = None
            self._open[change.device_id] = renewed

    def _close(self, device_id: str, time: float) -> None:
        change = self._open.pop(device_id)
        self._remember(msgspec.structs.replace(change, resolved_at=time))

    def _remember(self, change: Change) -> None:
        self._order = None
        self._recorded.append(change)
        del self._recorded[:-MOST]

    def rows(self) -> list[Change]:
        """All of them in the order of `in_order`; one list until something changes."""
        if self._order is None:
            self._order = in_order([*self._open.values(), *self._recorded])
        return self._order

    def clear(self) -> None:
        """Forget everything, as a jump in a recording needs."""
        self._open = {}
        self._recorded, self._order = [], None
        self._events = set()


def _explained(change: Change, view: DeviceView, snapshot: Snapshot) -> Change:
    """The change with what is wrong and what to do."""
    finding = verdict(view, snapshot)
    evidence = f"({finding.evidence})" if finding.evidence else ""
    text = " ".join(fragment for fragment in (finding.summary, evidence) if fragment)
    return msgspec.structs.replace(change, text=text, remedy=finding.remedy)


def _key(event: ErrorEvent) -> Hashable:
    return event.code, event.device_id, event.time, event.text


def _event(event: ErrorEvent, name: str) -> Change:
    doubt = "" if event.trusted else " (written by user space)"
    return Change(
        key=_key(event),
        label=event.code,
        started_at=event.time,
        event=True,
        severity=severity(event),
        device_id=event.device_id,
        name=name,
        text=event.text + doubt,
    )
