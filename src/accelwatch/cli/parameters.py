"""Options and arguments of commands, declared in annotations.

`size: Annotated[int, option("--size")] = 3` is an option. They are data: no parser is loaded for them.
"""

from typing import NamedTuple

import msgspec


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """An option; its type and default are those of what is annotated."""

    # As they are written on the command line; `--size` for a field `size` where none is named.
    flags: tuple[str, ...]
    help: str = ""
    metavar: str | None = None
    min: int | None = None
    max: int | None = None
    hidden: bool = False
    # The list of `cli.completion` that the shell offers.
    completion: str = ""


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """A word, or several, that is no option."""

    help: str = ""
    metavar: str | None = None


class Setting(NamedTuple):
    """Marks an option that stands for a setting of the configuration, such as `web.config_file`."""

    dotted: str


def option(
    *flags: str,
    help: str = "",
    metavar: str | None = None,
    min: int | None = None,
    max: int | None = None,
    hidden: bool = False,
    completion: str = "",
) -> Option:
    """An option, with its flags as click's decorator has them: first."""
    return Option(
        flags=flags,
        help=help,
        metavar=metavar,
        min=min,
        max=max,
        hidden=hidden,
        completion=completion,
    )


def argument(*, help: str = "", metavar: str | None = None) -> Argument:
    """An argument."""
    return Argument(help=help, metavar=metavar)
