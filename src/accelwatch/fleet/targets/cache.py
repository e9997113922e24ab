"""What each place of a discovery gave last; a place that fails keeps it."""

import logging

from accelwatch.base.errors import AccelwatchError
from accelwatch.fleet.target import Target

logger = logging.getLogger(__name__)


class TargetCache:
    """Targets by place (a file, a name, a URL), and what is wrong with a place now."""

    def __init__(self) -> None:
        self.complaints: dict[str, str] = {}
        # By place why its answer, which is good, lacks some targets.
        self.notes: dict[str, str] = {}
        self._targets: dict[str, list[Target]] = {}

    def update(self, location: str, targets: list[Target]) -> None:
        """A place has answered."""
        self._targets[location] = targets
        if self.complaints.pop(location, None) is not None:
            logger.info("a discovery works again place=%s", location)

    def refuse(self, location: str, error: AccelwatchError | str) -> None:
        """A place has failed; logged when it fails otherwise than before."""
        if self.complaints.get(location) != str(error):
            logger.error(
                "target discovery failed; keeping the previous targets place=%s: %s",
                location,
                error,
            )
        self.complaints[location] = str(error)

    def note(self, location: str, text: str) -> None:
        """A place has answered, but some of what it names cannot be followed; logged when it changes."""
        if text and self.notes.get(location) != text:
            logger.warning("targets are lacking place=%s: %s", location, text)
        if text:
            self.notes[location] = text
        else:
            self.notes.pop(location, None)

    def retain(self, locations: set[str]) -> None:
        """Forget all places but these."""
        for unlisted in (self._targets.keys() | self.complaints.keys()) - locations:
            self._targets.pop(unlisted, None)
            self.complaints.pop(unlisted, None)

    def targets(self) -> list[Target]:
        """Everything known now."""
        return [target for targets in self._targets.values() for target in targets]
