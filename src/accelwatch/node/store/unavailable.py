"""How many quantities each collector could not read, by reason."""

from collections import Counter
from collections.abc import Mapping, Sequence

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView

# By backend, which quantities are absent and why.
_Absences = list[tuple[str, Mapping[Series, Absence]]]


class Unavailable:
    """Counts again only when a device leaves out other quantities than before."""

    def __init__(self) -> None:
        self._absences: _Absences = []
        self._series: dict[tuple[str, ...], Number] = {}

    def series(self, views: Sequence[tuple[str, DeviceView]]) -> dict[tuple[str, ...], Number]:
        """Distinct quantities by collector and reason; devices wholly absent aside.

        Devices of one kind share one mapping of what they leave out: it is counted once.
        """
        silent = {(backend, id(view.unreported)): view.unreported for backend, view in views}
        absences: _Absences = [(backend, view.reading.absent) for backend, view in views]
        absences += [(backend, unreported) for (backend, _), unreported in silent.items()]
        if absences != self._absences:
            self._absences, self._series = absences, _counted(absences)
        return self._series


def _counted(absences: _Absences) -> dict[tuple[str, ...], Number]:
    reasons: set[tuple[str, str, Absence]] = set()
    for backend, absent in absences:
        for series, reason in absent.items():
            if series != ("*",) and reason is not Absence.NOT_COLLECTED:
                reasons.add((backend, series[0], reason))
    totals = Counter((backend, reason.value) for backend, _, reason in reasons)
    return {("collector_unavailable_quantities", *key): n for key, n in sorted(totals.items())}
