"""The last result of each location of a discovery; a location that fails keeps it."""

import logging

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)


class TargetCache:
    """Targets by location (a file, a name, a URL), and what is wrong with a location now."""

    def __init__(self) -> None:
        self.complaints: dict[str, str] = {}
        # By location why its answer, which is good, lacks some targets.
        self.notes: dict[str, str] = {}
        self._targets: dict[str, list[Target]] = {}

    def update(self, location: str, targets: list[Target]) -> None:
        """A location has answered."""
        self._targets[location] = targets
        if self.complaints.pop(location, None) is not None:
            logger.info("a discovery works again place=%s", location)

    def refuse(self, location: str, error: AccelwatchError | str) -> None:
        """A location has failed; logged when it fails otherwise than before."""
        if self.complaints.get(location) != str(error):
            logger.error(
                "target discovery failed; keeping the previous targets place=%s: %s",
                location,
                error,
            )
        self.complaints[location] = str(error)

    def note(self, location: str, text: str) -> None:
        """A location has answered, but some of its targets cannot be followed; logged on change."""
        if text and self.notes.get(location) != text:
            logger.warning("targets are lacking place=%s: %s", location, text)
        if text:
            self.notes[location] = text
        else:
            self.notes.pop(location, None)

    def retain(self, locations: set[str]) -> None:
        """Forget all locations but these."""
        for unlisted in (self._targets.keys() | self.complaints.keys()) - locations:
            self._targets.pop(unlisted, None)
            self.complaints.pop(unlisted, None)

    def targets(self) -> list[Target]:
        """Everything known now."""
        return [target for targets in self._targets.values() for target in targets]
