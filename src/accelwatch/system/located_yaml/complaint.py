"""What is wrong with a configuration, gathered so that one run names every mistake."""

from collections.abc import Iterable

import msgspec

from accelwatch.base.errors import ConfigError


class Complaint(msgspec.Struct, frozen=True):
    """One mistake; `location` is `file:line`, a file, or the name of a variable or flag."""

    location: str
    key: str
    text: str

    def __str__(self) -> str:
        components = (self.location, self.key, self.text)
        return ": ".join(component for component in components if component)


def refuse(complaints: Iterable[Complaint]) -> None:
    """Raise a ConfigError with a line for each complaint; nothing when there is none."""
    lines = [str(complaint) for complaint in complaints]
    if lines:
        raise ConfigError("\n".join(lines))
