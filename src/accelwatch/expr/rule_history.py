"""What was kept of a node's devices, as far as rules look back."""

from accelwatch.expr.event_history import EventHistory
from accelwatch.expr.needs import Needs, WindowNeed
from accelwatch.expr.past import Past
from accelwatch.expr.vocabulary.kleene import Lookup, number
from accelwatch.expr.vocabulary.rule_names import of_host
from accelwatch.schema.metrics import Series

# The node itself, among the ids of its devices.
HOST = ""


class RuleHistory:
    """What a set of rules needs of the past of some devices; bounded by its windows."""

    def __init__(self, needs: Needs, interval_s: float) -> None:
        """`interval_s` is how often samples are taken."""
        self.interval_s = interval_s
        self.events = EventHistory(needs.events)
        self._windows: dict[Series, list[WindowNeed]] = {}
        for need in needs.windows:
            self._windows.setdefault(need.series, []).append(need)
        items = self._windows.items()
        # Series that have windows: those of the host, and those of devices.
        self._of = {
            whose: [(series, some) for series, some in items if of_host(series) is whose]
            for whose in (True, False)
        }
        self._pasts: dict[tuple[str, Series], Past] = {}

    def sample(self, at: float, device: str, lookup: Lookup) -> None:
        """The values of a device, or of `HOST`, at a moment (monotonic seconds)."""
        for series, windows in self._of[device == HOST]:
            value = number(lookup(series))
            if value is not None:
                past = self._pasts.get((device, series))
                if past is None:
                    past = self._pasts[device, series] = Past(windows)
                past.add(at, float(value), self.interval_s)

    def forget(self, device: str) -> None:
        """Another device stands there from now on, or none."""
        self.events.forget(device)
        for key in [entry for entry in self._pasts if entry[0] == device]:
            del self._pasts[key]

    def adopt(self, before: "RuleHistory") -> None:
        """Go on with what another has kept of series of which the same windows are needed."""
        same = {
            series
            for series, windows in self._windows.items()
            if set(windows) == set(before._windows.get(series, ()))
        }
        if self.interval_s == before.interval_s:
            self._pasts.update({key: past for key, past in before._pasts.items() if key[1] in same})

    def past(self, device: str, series: Series) -> Past | None:
        """What was kept of a series; None where there never was a value."""
        return self._pasts.get((HOST if of_host(series) else device, series))
