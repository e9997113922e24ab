"""`accelwatch snapshot`, which is also `accelwatch` with options and without a command."""

from typing import Any

import click

from accelwatch.base.errors import UsageError
from accelwatch.cli.arguments import Arguments
from accelwatch.cli.options import made, parameters_of

HELP = "Print one table or document of all devices; the default on a pipe."


def run_snapshot(values: dict[str, Any]) -> None:
    """Read and print what the values of the options say; ends with its exit code."""
    from accelwatch.cli.node.snapshot import run

    raise click.exceptions.Exit(run(made(Arguments, values)))


def explicit_values(ctx: click.Context, values: dict[str, Any]) -> dict[str, Any]:
    """The values that stand on the command line."""
    return {
        name: value
        for name, value in values.items()
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }


@click.pass_context
def _snapshot(ctx: click.Context, /, **values: Any) -> None:
    """Options count before the command as well; one that stands on both sides counts behind it."""
    explicit = explicit_values(ctx, values)
    for name, before in (ctx.obj or {}).items():
        both = isinstance(before, tuple) and name in explicit
        values[name] = (*before, *explicit[name]) if both else explicit.get(name, before)
    run_snapshot(values)


snapshot_command = click.Command(
    "snapshot", params=parameters_of(Arguments), callback=_snapshot, help=HELP
)


def refuse_before(options: dict[str, Any], name: str, command: click.Command | None) -> None:
    """An option before a command is not read by it, and must not be dropped silently.

    Raises UsageError, which says what to write instead.
    """
    flags = {flag for parameter in command.params for flag in parameter.opts} if command else set()
    for option in snapshot_command.params:
        if option.name in options:
            flag = next(flag for flag in option.opts if flag.startswith("--"))
            hint = f"`accelwatch {name}` has no such option"
            if flag in flags:
                value = "" if isinstance(options[option.name], bool) else " ..."
                hint = f"write: accelwatch {name} {flag}{value}"
            raise UsageError(f"{flag} stands before {name!r}, where it is not read; {hint}")
