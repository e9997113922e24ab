"""An agent's settings as a whole: read, and every mistake at once that no single key shows."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from accelwatch.base.errors import ConfigError
from accelwatch.config import node_health
from accelwatch.config.alerts import Alerts
from accelwatch.config.layers import Effective, Flag, effective
from accelwatch.config.model import Collect, RuleSettings, Settings
from accelwatch.config.otlp import Otlp, mistakes
from accelwatch.node.collecting import unknown_backend
from accelwatch.system.files.file_rights import unsafe_for_state
from accelwatch.system.located_yaml.complaint import Complaint, refuse
from accelwatch.web.protection.exposure import check_exposure
from accelwatch.web.protection.web_config import Protection, load_protection

# A key, and what is wrong with it; without a key it says itself in which file.
Mistake = tuple[str, str]
_LOCATED = re.compile(r".+:\d+: ")


def read_settings(
    file: Path | None, environ: Mapping[str, str], flags: Mapping[str, Flag] | None = None
) -> Effective[Settings]:
    """The settings in force; paths among the options of backends start at the file's folder.

    Raises ConfigError that names every mistake of all sources.
    """
    read = effective(file, environ, flags)
    collect = read.settings.collect
    if file is None or not collect.options:
        return read
    from accelwatch.agent import backend_options

    options = backend_options.from_folder(collect.options, file.absolute().parent)
    collect = msgspec.structs.replace(collect, options=options)
    settings = msgspec.structs.replace(read.settings, collect=collect)
    return msgspec.structs.replace(read, settings=settings)


def checked(read: Effective[Settings]) -> Protection:
    """The protection of settings that fit together. Raises ConfigError with every mistake."""
    settings = read.settings
    problems = [
        *_of_backends(settings.collect),
        *_of_rules(settings.rules),
        *_of_alerts(settings.alerts),
    ]
    if settings.otlp != Otlp():
        problems += [(f"otlp.{key}", text) for key, text in mistakes(settings.otlp)]
    problems += [
        (f"node_health.{key}", text) for key, text in node_health.mistakes(settings.node_health)
    ]
    protection = Protection()
    try:
        if settings.web.config_file:
            protection = load_protection(Path(settings.web.config_file))
    except ConfigError as error:
        problems += _mistakes_in(error, "web.config_file")
    else:
        problems += _of_exposure(lambda: check_exposure(settings.web, protection))
    if settings.state_dir and (unsafe := unsafe_for_state(Path(settings.state_dir))):
        problems.append(("state_dir", unsafe))
    refuse(Complaint(read.source_of(key) if key else "", key, text) for key, text in problems)
    return protection


def _of_backends(collect: Collect) -> Iterator[Mistake]:
    for name in collect.backends:
        if missing := unknown_backend([name]):
            yield "collect.backends", missing
    if collect.options:
        from accelwatch.agent import backend_options

        for key, text in backend_options.mistakes(collect.options):
            yield f"collect.options.{key}", text


def _of_rules(rules: RuleSettings) -> Iterator[Mistake]:
    if rules.any:
        from accelwatch.alerting.rules.loading.configured import loaded_rules

        try:
            loaded_rules(rules)
        except ConfigError as error:
            yield from _mistakes_in(error, "rules")


def _of_alerts(alerts: Alerts) -> Iterator[Mistake]:
    if alerts != Alerts():
        from accelwatch.alerting.delivery import sinks

        for key, text in sinks.mistakes(alerts):
            yield f"alerts.{key}", text


def _of_exposure(check: Callable[[], None]) -> Iterator[Mistake]:
    try:
        check()
    except ConfigError as error:
        key, _, text = str(error).partition(": ")
        yield key, text


def _mistakes_in(error: ConfigError, key: str) -> Iterator[Mistake]:
    """The mistakes of a file that a key names; those with a line of their own need no other."""
    for line in str(error).splitlines():
        yield ("" if _LOCATED.match(line) else key), line
