"""An option of the one-shot path's table as typer wants it, for every command that shares it."""

from typing import Any

import typer

from accelwatch.cli.arguments import OPTIONS, Option
from accelwatch.cli.completion import completer


def declared(option: Option, *default: Any) -> Any:
    """What typer is told of an option; without a default, for `Annotated`."""
    return typer.Option(
        *default,
        *option.flags,
        help=option.help,
        metavar=option.metavar,
        autocompletion=completer(option.words) if option.words else None,
    )


def row(name: str) -> Any:
    """The one-shot path's option of this name, for `Annotated`."""
    return declared(next(option for option in OPTIONS if option.name == name))
