"""What each place of a discovery gave last; a place that fails keeps it."""

import logging

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)


class TargetCache:
    """Targets by place (a file, a name, a URL), and what is wrong with a place now."""

    def __init__(self) -> None:
        self.complaints: dict[str, str] = {}
        self._targets: dict[str, list[Target]] = {}

    def update(self, place: str, targets: list[Target]) -> None:
        """A place has answered."""
        self._targets[place] = targets
        if self.complaints.pop(place, None) is not None:
            logger.info("a discovery works again place=%s", place)

    def refuse(self, place: str, error: AccelwatchError | str) -> None:
        """A place has failed; logged when it fails otherwise than before."""
        if self.complaints.get(place) != str(error):
            logger.error(
                "target discovery failed; keeping the previous targets place=%s: %s", place, error
            )
        self.complaints[place] = str(error)

    def retain(self, places: set[str]) -> None:
        """Forget all places but these."""
        for gone in (self._targets.keys() | self.complaints.keys()) - places:
            self._targets.pop(gone, None)
            self.complaints.pop(gone, None)

    def targets(self) -> list[Target]:
        """Everything known now."""
        return [target for targets in self._targets.values() for target in targets]
