"""`accelwatch config`: check a file, show the settings in force, tell which file counts."""

import os
from pathlib import Path
from typing import Annotated

import typer

from accelwatch.cli.output import complain, write_stdout
from accelwatch.exit_codes import NOTHING_READ, OK

config = typer.Typer(
    name="config",
    help="Check and show the agent's configuration.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def config_check(file: Path | None) -> int:
    """Check a file, and the web configuration it names. Raises ConfigError with every mistake."""
    from accelwatch.config.layers import effective, find_file
    from accelwatch.web.exposure import checked

    path = find_file(str(file) if file else None, os.environ)
    if path is None:
        complain("no configuration file; the defaults are in force")
        return OK
    checked(effective(path, {}).settings)
    complain(f"{path}: ok")
    return OK


def config_show(file: Path | None) -> int:
    """Print the settings in force with their sources. Raises ConfigError."""
    from accelwatch.config.layers import effective, find_file
    from accelwatch.config.show import shown

    path = find_file(str(file) if file else None, os.environ)
    write_stdout(shown(effective(path, os.environ)).encode())
    return OK


def config_path() -> int:
    """Print the path of the file that counts; exit code 1 when there is none."""
    from accelwatch.config.layers import SYSTEM_FILE, find_file

    path = find_file(None, os.environ)
    if path is None:
        complain(f"no configuration file; {SYSTEM_FILE} would be read")
        return NOTHING_READ
    write_stdout(f"{path.absolute()}\n".encode())
    return OK


_File = Annotated[Path | None, typer.Option("--config.file", metavar="FILE", help="Another file.")]


@config.command("check")
def _check(
    file: Annotated[Path | None, typer.Argument(help="Default: the file that counts.")] = None,
) -> None:
    """Tell every mistake of a file with its line; exit code 2 if there is one."""
    raise typer.Exit(config_check(file))


@config.command("show")
def _show(file: _File = None) -> None:
    """Print the settings in force, each with its source; secrets are hidden."""
    raise typer.Exit(config_show(file))


@config.command("path")
def _path() -> None:
    """Print the path of the configuration file that counts."""
    raise typer.Exit(config_path())
