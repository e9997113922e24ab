"""The options of the replay backend, and the scenario that is shipped with it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from accelwatch.base.durations import seconds
from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.base.names.nearest import nearest

DEMO = "demo"


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to play and how."""

    # Path of a recording or a scenario; `demo`: the shipped one.
    file: str = ""
    # Seconds of the recording or scenario that pass in one second.
    speed: float = 1.0
    # Begin again after the end; otherwise the end stands still.
    loop: bool = True
    # Where to begin: seconds, or a duration such as `5m`.
    start: float | str = 0.0
    # Whether the host of a recording is played too.
    host: bool = True

    @property
    def path(self) -> Path:
        """The file to play."""
        return demo_file() if self.file == DEMO else Path(self.file).expanduser()

    @property
    def start_s(self) -> float:
        """Where to begin, in seconds. Raises ConfigError."""
        return duration_s(self.start)


def demo_file() -> Path:
    """Path of the shipped scenario: a training node with one lost device, and a few other vendors."""
    return Path(__file__).with_name("demo.yaml")


def duration_s(value: float | str) -> float:
    """Seconds from a number or a text such as `90s` or `5m`. Raises ConfigError."""
    if isinstance(value, str):
        try:
            return seconds(value)
        except UsageError as error:
            raise ConfigError(str(error)) from error
    return float(value)


def parse_options(options: Mapping[str, object]) -> Options:
    """Options as a mapping gives them. Raises ConfigError that names the key and what it should be."""
    names = list(Options.__struct_fields__)
    for name in options:
        if name not in names:
            close = nearest(name, names)
            hint = f"; did you mean {close}?" if close else f"; known: {', '.join(names)}"
            raise ConfigError(f"replay: unknown option {name!r}{hint}")
    try:
        parsed = msgspec.convert(dict(options), Options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"replay: {error}") from error
    if not 0 < parsed.speed <= 1_000_000:
        raise ConfigError(f"replay: speed is {parsed.speed:g}; it must be above 0")
    if parsed.start_s < 0:
        raise ConfigError("replay: start must not be negative")
    return parsed
