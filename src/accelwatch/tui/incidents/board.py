"""What the Incidents screen shows: those that the hub reports, in order, filtered, folded."""

from collections.abc import Hashable, Sequence

from accelwatch.alerting.evaluation.documents import IncidentDocument
from accelwatch.alerting.rules.document import Severity
from accelwatch.fleet.picture.incidents import SORTS, IncidentRow, Keeps, above, listed
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import IncidentNow
from accelwatch.tui.incidents.filters import incident_filter, labels_of

_GREATEST_FIRST = frozenset({"worst", "newest"})


class IncidentBoard:
    """Mutable; belongs to the application's thread."""

    def __init__(self) -> None:
        # What the list shows, in its order.
        self.rows: list[IncidentRow] = []
        # Whether those that are over are shown.
        self.over = True
        self.sort = SORTS[0]
        self.descending = True
        self.filter_text = ""
        self._keeps: Keeps | None = None
        self._unfolded: set[str] = set()
        self._reported: Sequence[IncidentNow] = ()
        self._by_id: dict[str, IncidentNow] = {}
        self._positions: dict[str, int] = {}
        self._by_device: dict[tuple[str, str], IncidentDocument] = {}

    def read_incidents(self, view: FleetView) -> None:
        """Read the incidents of a tick."""
        if view.incidents is not self._reported:
            self._reported = view.incidents
            self._by_id = {entry.incident.id: entry for entry in self._reported}
            self._unfolded &= self._by_id.keys()
            self._by_device = _gravest(self._reported)
            self._arrange()

    def _arrange(self) -> None:
        self.rows = listed(
            self._reported,
            keeps=self._keeps,
            over=self.over,
            unfolded=self._unfolded,
            sort=self.sort,
            descending=self.descending,
        )
        self._positions = {row.incident.id: position for position, row in enumerate(self.rows)}

    @property
    def reported(self) -> Sequence[IncidentNow]:
        """All that the hub reports, whatever the filter."""
        return self._reported

    @property
    def labels(self) -> frozenset[str]:
        """The names of the labels that incidents have."""
        return labels_of(entry.incident for entry in self._reported)

    def incident(self, id_: str) -> IncidentNow | None:
        """An incident by its id, if the hub reports it."""
        return self._by_id.get(id_)

    def about(self, node: str, device: str) -> IncidentDocument | None:
        """The gravest that is open about a device, by its id."""
        return self._by_device.get((node, device))

    def members(self, id_: str) -> list[IncidentNow]:
        """Those that are part of a group."""
        return [entry for entry in self._reported if above(entry.incident) == id_]

    def position_of(self, key: Hashable) -> int | None:
        """Where an incident is on the list, by its id."""
        return self._positions.get(key)  # type: ignore[call-overload,no-any-return]  # any hashable

    def beside(self, id_: str, step: int) -> IncidentNow | None:
        """The incident so many rows on; None beyond the ends."""
        position = self._positions.get(id_)
        neighbour = -1 if position is None else position + step
        return self.rows[neighbour].entry if 0 <= neighbour < len(self.rows) else None

    def unfolded(self, id_: str) -> bool:
        """Whether the members of a group are shown below it."""
        return id_ in self._unfolded

    def fold(self, id_: str) -> None:
        """Show the members of a group, or hide them."""
        self._unfolded ^= {id_}
        self._arrange()

    def show_over(self, *, over: bool) -> None:
        """Show those that are over too, or not."""
        self.over = over
        self._arrange()

    def sort_by(self, name: str) -> None:
        """Sort by something, or turn its order round."""
        if name not in SORTS:
            return
        if self.sort == name:
            self.descending = not self.descending
        else:
            self.sort, self.descending = name, name in _GREATEST_FIRST
        self._arrange()

    def set_filter(self, text: str) -> None:
        """Show only what a text or a condition keeps. Raises ExpressionError."""
        self._keeps = incident_filter(text, self.labels)
        self.filter_text = " ".join(text.split())
        self._arrange()


def _gravest(reported: Sequence[IncidentNow]) -> dict[tuple[str, str], IncidentDocument]:
    """By node and device."""
    incidents = [
        entry.incident for entry in reported if entry.incident.device and not entry.incident.closed
    ]
    incidents.sort(key=lambda incident: _weight(incident.severity))
    return {(incident.node, incident.device): incident for incident in incidents}


def _weight(severity: str) -> int:
    """Greater is worse; an unknown severity of a newer hub counts as the least."""
    return Severity(severity).weight if severity in set(Severity) else -1
