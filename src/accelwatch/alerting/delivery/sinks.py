"""Sinks as a configuration names them: plug-ins with their secrets read from files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from accelwatch.alerting.delivery.routing import Mistake, mistakes_in
from accelwatch.alerting.delivery.transport.dead_man import ping_url
from accelwatch.alerting.sink import Sink, SinkContext
from accelwatch.base.clock import Clock, SystemClock
from accelwatch.base.errors import AccelwatchError, ConfigError, OptionsError
from accelwatch.config.alerts import Alerts, SinkSettings
from accelwatch.plugins import entry_points as plugins
from accelwatch.plugins.options import secret_key
from accelwatch.system.located_yaml.nodes import read_file

Made = TypeVar("Made")

_FROM_FILE = "_file"
# Options that name a file which the sink itself reads.
_PATHS = frozenset({"ca_file"})


def sinks_of(alerts: Alerts, clock: Clock) -> dict[str, Sink]:
    """The sinks by name. Raises ConfigError with the first mistake."""
    return {sink.name: built(sink, clock) for sink in alerts.sinks}


def built(settings: SinkSettings, clock: Clock) -> Sink:
    """One sink; its connections begin with the first notice. Raises ConfigError, PluginError."""
    factory = plugins.load(plugins.ALERTS, settings.type)

    def make(options: dict[str, object]) -> Sink:
        context = SinkContext(
            name=settings.name, options=options, clock=clock, timeout_s=settings.timeout_s
        )
        sink: Sink = factory(context)
        return sink

    return made(make, settings.options)


def made(make: Callable[[dict[str, object]], Made], options: dict[str, object]) -> Made:
    """The plug-in from options in which the content of files replaces `*_file`.

    Raises OptionsError with every mistake, also for a secret written there itself.
    """
    values, files, wrong = _resolved(options)
    try:
        plugin = make(values)
    except OptionsError as error:
        # What is missing because its file cannot be read is no mistake of its own.
        reported = {files.get(key, key): text for key, text in error.mistakes.items()}
        more = {
            key: text
            for key, text in reported.items()
            if key not in wrong or text.startswith("unknown key")
        }
        raise OptionsError({**wrong, **more}) from error
    except ConfigError as error:
        raise (OptionsError(wrong) if wrong else error) from error
    if wrong:
        raise OptionsError(wrong)
    return plugin


def _resolved(
    options: dict[str, object],
) -> tuple[dict[str, object], dict[str, str], dict[str, str]]:
    """Options with the content of files, several lines as a list; the keys of files; mistakes."""
    values: dict[str, object] = {}
    files: dict[str, str] = {}
    wrong: dict[str, str] = {}
    for key, value in options.items():
        name = key.removesuffix(_FROM_FILE)
        if name == key or key in _PATHS:
            values[key] = value
            if secret_key(key):
                wrong[key] = f"no secret belongs here; use {key}{_FROM_FILE}"
        elif name in options and not secret_key(name):
            wrong[name] = f"there is {key} as well; leave one of them out"
        else:
            files[name] = key
            try:
                values[name] = _content(value)
            except ConfigError as error:
                wrong[key] = str(error)
    return values, files, wrong


def _content(value: object) -> object:
    if not isinstance(value, str) or not Path(value).is_absolute():
        raise ConfigError("expected the absolute path of a file")
    try:
        text = read_file(Path(value)).decode()
    except (ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"{value} cannot be read as text: {error}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise ConfigError(f"{value} is empty")
    return lines[0] if len(lines) == 1 else lines


def mistakes(alerts: Alerts) -> Iterator[Mistake]:
    """Everything that is wrong with the section, with its key below `alerts`."""
    yield from mistakes_in(alerts)
    if alerts.dead_man.url_file:
        try:
            ping_url(alerts.dead_man.url_file)
        except ConfigError as error:
            yield "dead_man.url_file", str(error).removeprefix("dead_man.url_file: ")
    for number, sink in enumerate(alerts.sinks):
        key = f"sinks[{number}]"
        if complaint := plugins.unknown(plugins.ALERTS, [sink.type]):
            yield f"{key}.type", complaint if sink.type else "is missing"
            continue
        try:
            built(sink, SystemClock())
        except AccelwatchError as error:
            for line in str(error).splitlines():
                yield f"{key}.options", line
