"""The incidents on the time line of an archive: those in its span, and the next one from a moment."""

import bisect
from collections.abc import Iterable

from accelwatch.fleet.picture.timeline import Marker
from accelwatch.fleet.replay.incidents import in_order
from accelwatch.schema.display import duration


class IncidentMarkers:
    """Incidents that were open at any time of the archive, by when they opened."""

    def __init__(self, first: float, last: float, markers: Iterable[Marker]) -> None:
        """`first` and `last` moment of the archive, Unix seconds."""
        self._first, self._last = first, last
        self.markers = self._inside(markers)

    def replace(self, markers: Iterable[Marker]) -> bool:
        """These are the incidents that are known now; returns whether others were before."""
        before, self.markers = self.markers, self._inside(markers)
        return self.markers != before

    def nearest(self, time: float, step: int) -> Marker | str:
        """The next incident that opened after a moment, or with a negative step the one before.

        A text where there is none, in words.
        """
        opened = [marker.opened for marker in self.markers if marker.opened >= self._first]
        started = self.markers[len(self.markers) - len(opened) :]
        later, earlier = bisect.bisect_right(opened, time), bisect.bisect_left(opened, time) - 1
        at = later if step > 0 else earlier
        if 0 <= at < len(opened):
            return started[at]
        which = "later" if step > 0 else "earlier"
        return f"no {which} incident" if opened else "no incidents are known"

    def _inside(self, markers: Iterable[Marker]) -> list[Marker]:
        return in_order(
            marker
            for marker in markers
            if marker.opened <= self._last
            and (marker.closed is None or marker.closed >= self._first)
        )


def described(marker: Marker) -> str:
    """An incident in a line."""
    lasted = (
        "still open at the end"
        if marker.closed is None
        else duration(marker.closed - marker.opened)
    )
    return f"{marker.level}: {marker.rule}{f' on {marker.node}' if marker.node else ''}, {lasted}"
