"""An option as data: what typer is told of it, for commands that stay and do without typer."""

from typing import NamedTuple


class Flag(NamedTuple):
    """Stands in an annotation where else a `typer.Option` would (`options.command`)."""

    flags: tuple[str, ...]
    """As they are written on the command line."""
    help: str
    metavar: str | None = None
    completion: str = ""
    """Names the list of words that the shell offers, as `Option.words`."""
