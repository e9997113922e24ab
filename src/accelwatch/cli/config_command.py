"""`accelwatch config`: check a file, show the settings in force, tell which file counts."""

import os
from pathlib import Path
from typing import Annotated

import typer

from accelwatch.cli.output import complain, write_stdout
from accelwatch.errors import ConfigError, UsageError
from accelwatch.exit_codes import FAILED, OK

config = typer.Typer(
    name="config",
    help="Check and show the agent's configuration, or check a hub's.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def config_check(file: Path | None) -> int:
    """Check a file, and the web configuration it names. Raises ConfigError with every mistake."""
    from accelwatch.agent.settings_check import checked, read_settings
    from accelwatch.config.layers import find_file

    path = find_file(str(file) if file else None, os.environ)
    if path is None:
        complain("no configuration file; the defaults are in force")
        return OK
    try:
        checked(read_settings(path, {}))
    except ConfigError as error:
        if any(f": {key}: unknown key" in str(error) for key in _OF_A_HUB):
            mend = f"if it is a hub's file: accelwatch config check --hub {path}"
            raise ConfigError(f"{error}\n{mend}") from error
        raise
    complain(f"{path}: ok")
    return OK


_OF_A_HUB = ("targets", "scrape", "remedy")
"""Keys that only a hub's file has."""


def hub_config_check(file: Path | None) -> int:
    """Check a hub's file, the rules, actions and the web configuration it names.

    Raises ConfigError with every mistake, UsageError without a file.
    """
    from accelwatch.fleet.hub.model import load_settings
    from accelwatch.web.exposure import protection_of

    if file is None:
        raise UsageError("a hub has no file of its own accord; write: config check --hub hub.yaml")
    protection_of(load_settings(file).web)
    complain(f"{file}: ok")
    return OK


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


_File = Annotated[Path | None, typer.Option("--config.file", metavar="FILE", help="Another file.")]


@config.command("check")
def _check(
    file: Annotated[Path | None, typer.Argument(help="Default: the file that counts.")] = None,
    hub: Annotated[bool, typer.Option("--hub", help="It is a hub's file.")] = False,
) -> None:
    """Tell every mistake of a file with its line; exit code 2 if there is one."""
    raise typer.Exit(hub_config_check(file) if hub else config_check(file))


@config.command("show")
def _show(file: _File = None) -> None:
    """Print the settings in force, each with its source; secrets are hidden."""
    raise typer.Exit(config_show(file))


@config.command("path")
def _path() -> None:
    """Print the path of the configuration file that counts."""
    raise typer.Exit(config_path())
