"""Sinks as a configuration names them: plug-ins with their secrets read from files."""

from collections.abc import Iterator
from pathlib import Path

from accelwatch import plugins
from accelwatch.alert import Sink, SinkContext
from accelwatch.clock import Clock, SystemClock
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.config.secret import secret_key
from accelwatch.delivery.dead_man import ping_url
from accelwatch.delivery.routing import Mistake, mistakes_in
from accelwatch.errors import AccelwatchError, ConfigError
from accelwatch.located_yaml.nodes import read_file

_FROM_FILE = "_file"
_PATHS = frozenset({"ca_file"})
"""Options that name a file which the sink itself reads."""


def sinks_of(alerts: Alerts, clock: Clock) -> dict[str, Sink]:
    """The sinks by name. Raises ConfigError with the first mistake."""
    return {one.name: built(one, clock) for one in alerts.sinks}


def built(settings: SinkSettings, clock: Clock) -> Sink:
    """One sink; its connections begin with the first notice. Raises ConfigError, PluginError."""
    factory = plugins.load(plugins.ALERTS, settings.type)
    context = SinkContext(
        name=settings.name,
        options=resolved(settings.options),
        clock=clock,
        timeout_s=settings.timeout_s,
    )
    sink: Sink = factory(context)
    return sink


def resolved(options: dict[str, object]) -> dict[str, object]:
    """Options with the content of files in place of `*_file`; several lines are a list.

    Raises ConfigError, also for a secret that stands there itself.
    """
    values: dict[str, object] = {}
    for key, value in options.items():
        if secret_key(key):
            raise ConfigError(f"{key}: no secret belongs here; use {key}{_FROM_FILE}")
        if not key.endswith(_FROM_FILE) or key in _PATHS:
            values[key] = value
            continue
        name = key.removesuffix(_FROM_FILE)
        if name in options:
            raise ConfigError(f"{name}: there is {key} as well")
        values[name] = _content(key, value)
    return values


def _content(key: str, value: object) -> object:
    if not isinstance(value, str) or not Path(value).is_absolute():
        raise ConfigError(f"{key}: expected the absolute path of a file")
    try:
        text = read_file(Path(value)).decode()
    except (ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"{key}: {value} cannot be read as text: {error}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ConfigError(f"{key}: {value} is empty")
    return lines[0] if len(lines) == 1 else lines


def mistakes(alerts: Alerts) -> Iterator[Mistake]:
    """Everything that is wrong with the section, with its key below `alerts`."""
    yield from mistakes_in(alerts)
    if alerts.dead_man.url_file:
        try:
            ping_url(alerts.dead_man.url_file)
        except ConfigError as error:
            yield "dead_man.url_file", str(error).removeprefix("dead_man.url_file: ")
    for number, one in enumerate(alerts.sinks):
        key = f"sinks[{number}]"
        if complaint := plugins.unknown(plugins.ALERTS, [one.type]):
            yield f"{key}.type", complaint if one.type else "is missing"
            continue
        try:
            built(one, SystemClock())
        except AccelwatchError as error:
            yield f"{key}.options", str(error)
