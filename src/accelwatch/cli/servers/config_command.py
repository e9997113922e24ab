"""`accelwatch config`: check and show the settings in force, print which file counts."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.base.exit_codes import FAILED, OK
from accelwatch.cli.options import Group, subcommand
from accelwatch.cli.output import complain, write_stdout
from accelwatch.cli.parameters import argument, option

if TYPE_CHECKING:
    from accelwatch.config.layers import Effective
    from accelwatch.config.model import Settings
    from accelwatch.fleet.targets.settings import Targets

config = Group("config", help="Check and show the agent's configuration, or check a hub's.")


def config_check(file: Path | None) -> int:
    """Check what an agent would run with: a file, the files it names, and the variables here.

    Raises ConfigError with every mistake.
    """
    from accelwatch.agent.settings_check import checked, read_settings
    from accelwatch.config.layers import find_file

    path = find_file(str(file) if file else None, os.environ)
    try:
        read = read_settings(path, os.environ)
        checked(read)
    except ConfigError as error:
        if path and any(f": {key}: unknown key" in str(error) for key in _OF_A_HUB):
            hint = f"if it is a hub's file: accelwatch config check --hub {path}"
            raise ConfigError(f"{error}\n{hint}") from error
        raise
    complain(_well(read))
    return OK


def _well(read: "Effective[Settings]") -> str:
    """What was found well, with the variables that have a say in it."""
    variables = sorted(set(read.sources.values()) & set(os.environ))
    named = ", ".join(variables)
    if read.file is not None:
        return f"{read.file}: ok" + (f", with {named}" if variables else "")
    if variables:
        return f"no configuration file; ok: the defaults with {named}"
    return "no configuration file; the defaults are in force"


# Keys that only a hub's file has.
_OF_A_HUB = ("targets", "scrape", "remedy")


def hub_config_check(file: Path | None) -> int:
    """Check a hub's file, the rules, actions and the web configuration it names, and how they fit.

    Raises ConfigError with every mistake, UsageError without a file.
    """
    from accelwatch.fleet.hub.fitting import misfits_of
    from accelwatch.fleet.hub.model import effective
    from accelwatch.system.located_yaml.complaint import refuse
    from accelwatch.web.protection.exposure import protection_of

    if file is None:
        raise UsageError("a hub has no default file; write: config check --hub hub.yaml")
    read = effective(file)
    try:
        protection_of(read.settings.web)
    except ConfigError as error:
        if not str(error).startswith(f"{_ADDRESS}: "):
            raise  # it names a file of its own
        raise ConfigError(f"{read.source_of(_ADDRESS)}: {error}") from error
    refuse(misfits_of(read.settings, read.sources))
    for missing in _missing(read.settings.targets):
        complain(
            f"{read.source_of('targets.files')}: targets.files: {missing} does not exist yet; "
            "the hub reads it as soon as it does"
        )
    complain(f"{file}: ok")
    return OK


_ADDRESS = "web.listen_address"


def _missing(targets: "Targets") -> Iterator[str]:
    """Files of targets that are not there; a pattern names those that match it later, too."""
    for file in targets.files:
        if not set(file) & set("*?[") and not Path(file).exists():
            yield file


def config_show(file: Path | None) -> int:
    """Print the settings in force with their sources. Raises ConfigError."""
    from accelwatch.agent.settings_check import read_settings
    from accelwatch.config.layers import find_file
    from accelwatch.config.show import shown

    path = find_file(str(file) if file else None, os.environ)
    write_stdout(shown(read_settings(path, os.environ)).encode())
    return OK


def config_path() -> int:
    """Print the path of the file that counts; exit code 1 when there is none."""
    from accelwatch.config.layers import SYSTEM_FILE, find_file

    path = find_file(None, os.environ)
    if path is None:
        complain(f"no configuration file; {SYSTEM_FILE} would be read")
        return FAILED
    write_stdout(f"{path.absolute()}\n".encode())
    return OK


_File = Annotated[Path | None, option("--config.file", metavar="FILE", help="Another file.")]


@subcommand(config, "check")
def _check(
    file: Annotated[Path | None, argument(help="Default: the file in use.")] = None,
    hub: Annotated[bool, option("--hub", help="FILE is a hub's configuration.")] = False,
) -> None:
    """Report every mistake in a file and in ACCELWATCH_* variables; exit code 2 if any."""
    raise click.exceptions.Exit(hub_config_check(file) if hub else config_check(file))


@subcommand(config, "show")
def _show(file: _File = None) -> None:
    """Print the effective settings, each with its source; secrets are hidden."""
    raise click.exceptions.Exit(config_show(file))


@subcommand(config, "path")
def _path() -> None:
    """Print the path of the configuration file in use."""
    raise click.exceptions.Exit(config_path())
