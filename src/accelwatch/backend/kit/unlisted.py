"""When a device that a command does not list counts as lost.

A table that is cut short ends like one of fewer devices: with status 0. One run alone proves no loss.
"""

# Answers in a row that must leave a device out.
RUNS = 3


class Unlisted:
    """Counts by device the answers in a row that do not list it."""

    def __init__(self) -> None:
        # By device: how many, and the newest of them.
        self._runs: dict[object, tuple[int, object]] = {}

    def note(self, device: object, answer: object) -> bool:
        """Count an answer that does not list a device, each answer once; whether it is lost now."""
        count, newest = self._runs.get(device, (0, None))
        if newest is not answer:
            count += 1
            self._runs[device] = count, answer
        return count >= RUNS

    def forget(self, device: object) -> None:
        """A device is listed."""
        self._runs.pop(device, None)
